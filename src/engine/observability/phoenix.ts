import { address, defineExporter, key, text, withPath } from './define.ts';
import { createOtlpEncoder } from './otlp-encoder.ts';

/** Arize Phoenix, which reads OpenInference's names as they are. */
export const phoenix = defineExporter({
  provider: 'PHOENIX',
  config: {
    collectorEndpoint: address('https://collector.phoenix.com'),
    projectName: text(),
    // Phoenix with accounts asks for it; the contract knows no such member, so it is only there when given.
    apiKey: key().optional(),
  },
  async open({ collectorEndpoint, projectName, apiKey }, ports) {
    const headers: Record<string, string> = apiKey ? { authorization: `Bearer ${apiKey}` } : {};
    return {
      url: withPath(collectorEndpoint || 'https://collector.phoenix.com', '/v1/traces'),
      contentType: 'application/x-protobuf',
      headers: () => headers,
      encode: await createOtlpEncoder(
        ports,
        projectName === '' ? {} : { resource: { 'openinference.project.name': projectName } },
      ),
    };
  },
});
