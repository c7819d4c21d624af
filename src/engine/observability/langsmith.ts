import type { AttributeValue, SpanKind, SpanRecord } from '../tracing/span.ts';
import { address, defineExporter, secret, text, withPath } from './define.ts';
import { createOtlpEncoder, isRoot } from './otlp-encoder.ts';

/** What LangSmith calls the kinds of spans. */
const RUN_TYPES: Record<SpanKind, string> = {
  AGENT: 'chain',
  CHAIN: 'chain',
  LLM: 'llm',
  TOOL: 'tool',
  RETRIEVER: 'retriever',
  GUARDRAIL: 'chain',
};

/** Where LangSmith is unless it is hosted elsewhere. */
export const LANGSMITH_HOST = 'https://api.smith.langchain.com';

/** LangSmith, by its OTLP endpoint. */
export const langsmith = defineExporter({
  provider: 'LANGSMITH',
  config: { apiKey: secret(), projectName: text(), endpoint: address(), runName: text() },
  async open({ apiKey, projectName, endpoint, runName }, ports) {
    const headers = { 'x-api-key': apiKey, ...(projectName !== '' && { 'Langsmith-Project': projectName }) };
    return {
      url: withPath(endpoint || LANGSMITH_HOST, '/otel/v1/traces'),
      contentType: 'application/x-protobuf',
      headers: () => headers,
      encode: await createOtlpEncoder(ports, { attributes: (span) => dressed(span, runName) }),
    };
  },
});

function dressed(span: SpanRecord, runName: string): Record<string, AttributeValue> {
  const thread = span.attributes['session.id'];
  return {
    'langsmith.span.kind': RUN_TYPES[span.kind],
    // By this LangSmith puts the runs of a conversation together.
    ...(thread !== undefined && { 'langsmith.metadata.thread_id': thread }),
    ...(runName !== '' && isRoot(span) && { 'langsmith.trace.name': runName }),
  };
}
