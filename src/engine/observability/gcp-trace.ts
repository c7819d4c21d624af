import { z } from 'zod';
import { defineExporter, text, withPath } from './define.ts';
import { googleEndpoint } from './google-endpoint.ts';
import { createOtlpEncoder, isRoot } from './otlp-encoder.ts';

const SCOPE = 'https://www.googleapis.com/auth/trace.append';

/** Google Cloud Trace, by the OTLP endpoint of its Telemetry API. `ignoreUrls` is kept: spans here have no URLs. */
export const gcpTrace = defineExporter({
  provider: 'GCP_TRACE',
  config: {
    gcpProjectId: text(),
    region: text(),
    traceName: text(),
    samplingRate: z.number().min(0).max(1).default(1),
    flushInterval: z.int().min(0).max(3_600).default(5),
    ignoreUrls: text(),
    endpoint: googleEndpoint(),
  },
  async open({ gcpProjectId, region, traceName, samplingRate, flushInterval, endpoint }, ports) {
    const { createGoogleAuth } = await import('./google-auth.ts');
    const auth = createGoogleAuth(SCOPE, ports.google);
    let encode: Awaited<ReturnType<typeof createOtlpEncoder>> | undefined;
    const encoder = async (signal: AbortSignal) => {
      const project = gcpProjectId || (await auth.project(signal));
      return createOtlpEncoder(ports, {
        resource: { 'gcp.project_id': project, ...(region !== '' && { 'cloud.region': region }) },
        name: (span) => (traceName !== '' && isRoot(span) ? traceName : span.name),
      });
    };
    return {
      url: withPath(endpoint || 'https://telemetry.googleapis.com', '/v1/traces'),
      contentType: 'application/x-protobuf',
      headers: (signal) => auth.headers(signal),
      renew: auth.renew,
      async encode(spans, signal) {
        encode ??= await encoder(signal);
        return encode(spans);
      },
      flushMs: flushInterval * 1_000,
      samples: (traceId) => isSampled(traceId, samplingRate),
    };
  },
});

/** Whether a trace is among the share that is sent: told by its id, so that all its spans are. */
function isSampled(traceId: string, rate: number): boolean {
  return Number.parseInt(traceId.slice(-13), 16) < rate * 16 ** 13;
}
