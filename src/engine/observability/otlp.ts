import { z } from 'zod';
import { address, defineExporter, withPath } from './define.ts';
import { createOtlpEncoder } from './otlp-encoder.ts';

/** Any collector that speaks OTLP over HTTP. */
export const otlp = defineExporter({
  provider: 'OTLP',
  config: {
    endpoint: address('http://localhost:4318'),
    headers: z
      .record(z.string().regex(/^[\w!#$%&'*+.^`|~-]+$/, 'must be a header name'), z.string().max(8_000))
      .default({})
      .meta({ secret: 'named' }),
  },
  async open({ endpoint, headers }, ports) {
    return {
      url: withPath(endpoint || 'http://localhost:4318', '/v1/traces'),
      contentType: 'application/x-protobuf',
      headers: () => headers,
      encode: await createOtlpEncoder(ports),
    };
  },
});
