import type { AttributeValue, SpanRecord } from '../tracing/span.ts';
import { defineExporter, text, withPath } from './define.ts';
import { googleEndpoint } from './google-endpoint.ts';

const SCOPE = 'https://www.googleapis.com/auth/logging.write';

/** Google takes no entry of more than 256 KB; with this much of each text one stays below. */
const TEXT_LENGTH = 32_768;

/** Google Cloud Logging: one entry for each span. `transport` is kept: entries always go in the background. */
export const gcpLogging = defineExporter({
  provider: 'GCP_LOGGING',
  config: {
    gcpProjectId: text(),
    region: text(),
    logName: text(),
    resourceType: text(),
    severity: text('INFO'),
    transport: text('BackgroundThread'),
    endpoint: googleEndpoint(),
  },
  async open({ gcpProjectId, region, logName, resourceType, severity, endpoint }, ports) {
    const { createGoogleAuth } = await import('./google-auth.ts');
    const auth = createGoogleAuth(SCOPE, ports.google);
    return {
      url: withPath(endpoint || 'https://logging.googleapis.com', '/v2/entries:write'),
      contentType: 'application/json',
      headers: (signal) => auth.headers(signal),
      renew: auth.renew,
      async encode(spans, signal) {
        const project = gcpProjectId || (await auth.project(signal));
        const labels = { project_id: project, ...(region !== '' && { location: region }) };
        return JSON.stringify({
          logName: `projects/${project}/logs/${encodeURIComponent(logName || 'agent-engine')}`,
          resource: { type: resourceType || 'global', labels },
          labels: { service: ports.serviceName, version: ports.serviceVersion },
          partialSuccess: true,
          ...(spans.length === 0
            ? { dryRun: true, entries: [{ severity: 'DEBUG', textPayload: 'Connection check.' }] }
            : { entries: spans.map((span) => entryOf(span, project, severity || 'INFO')) }),
        });
      },
    };
  },
});

function entryOf(span: SpanRecord, project: string, severity: string): object {
  const { traceId, spanId, parentSpanId, name, kind, startedAt, endedAt, status, statusMessage } = span;
  const latencyMs = Math.round((endedAt - startedAt) * 1_000) / 1_000;
  return {
    // The same one sent again is stored once.
    insertId: spanId,
    timestamp: new Date(endedAt).toISOString(),
    severity: status === 'error' ? 'ERROR' : severity.toUpperCase(),
    trace: `projects/${project}/traces/${traceId}`,
    spanId,
    traceSampled: true,
    jsonPayload: {
      message: statusMessage === undefined ? `${kind} ${name}` : `${kind} ${name}: ${statusMessage}`,
      name,
      kind,
      status,
      startedAt: new Date(startedAt).toISOString(),
      latencyMs,
      ...(parentSpanId !== undefined && { parentSpanId }),
      attributes: Object.fromEntries(Object.entries(span.attributes).map(([key, value]) => [key, short(value)])),
      events: span.events.map((event) => ({ ...event, at: new Date(event.at).toISOString() })),
    },
  };
}

function short(value: AttributeValue): AttributeValue {
  return typeof value === 'string' && value.length > TEXT_LENGTH ? `${value.slice(0, TEXT_LENGTH)}… [cut]` : value;
}
