import type { AttributeValue, SpanRecord } from '../tracing/span.ts';
import { address, defineExporter, secret, text, withPath } from './define.ts';
import { createOtlpEncoder } from './otlp-encoder.ts';

/** Langfuse, by its OTLP endpoint. Its current ingestion takes user, session and trace name from every span. */
export const langfuse = defineExporter({
  provider: 'LANGFUSE',
  config: {
    host: address('https://cloud.langfuse.com'),
    publicKey: text(),
    secretKey: secret(),
    runName: text(),
  },
  async open({ host, publicKey, secretKey, runName }, ports) {
    const credentials = Buffer.from(`${publicKey}:${secretKey}`).toString('base64');
    const headers = { authorization: `Basic ${credentials}`, 'x-langfuse-ingestion-version': '4' };
    return {
      url: withPath(host || 'https://cloud.langfuse.com', '/api/public/otel/v1/traces'),
      contentType: 'application/x-protobuf',
      headers: () => headers,
      encode: await createOtlpEncoder(ports, { attributes: (span) => dressed(span, runName || ports.serviceName) }),
    };
  },
});

function dressed(span: SpanRecord, traceName: string): Record<string, AttributeValue> {
  const begun = span.events.find(({ name }) => name === 'first_token');
  return {
    'langfuse.trace.name': traceName,
    'langfuse.observation.type': span.kind === 'LLM' ? 'generation' : span.kind.toLowerCase(),
    // Langfuse reads this one as JSON.
    ...(begun !== undefined && {
      'langfuse.observation.completion_start_time': JSON.stringify(new Date(begun.at).toISOString()),
    }),
  };
}
