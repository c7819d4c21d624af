import type { AIMessage, UsageMetadata } from '@langchain/core/messages';
import { isRecord } from '../../encode.ts';
import type { OpenSpan } from '../../tracing/open-span.ts';
import { isMessage } from './shapes.ts';

/** Settings of a call that have names of their own in OpenTelemetry's conventions. */
const REQUEST: Readonly<Record<string, string>> = {
  temperature: 'gen_ai.request.temperature',
  top_p: 'gen_ai.request.top_p',
  top_k: 'gen_ai.request.top_k',
  max_tokens: 'gen_ai.request.max_tokens',
  max_completion_tokens: 'gen_ai.request.max_tokens',
  frequency_penalty: 'gen_ai.request.frequency_penalty',
  presence_penalty: 'gen_ai.request.presence_penalty',
  seed: 'gen_ai.request.seed',
};

/** Notes which model is asked, and how, under OpenInference's names and OpenTelemetry's. */
export function noteRequest(span: OpenSpan, extra: unknown, metadata: Record<string, unknown> | undefined): void {
  const provider = text(metadata?.ls_provider);
  const model = text(metadata?.ls_model_name);
  span
    .set('llm.provider', provider)
    .set('llm.system', provider)
    .set('gen_ai.provider.name', provider)
    .set('gen_ai.system', provider)
    .set('llm.model_name', model)
    .set('gen_ai.request.model', model);
  const params = isRecord(extra) && isRecord(extra.invocation_params) ? extra.invocation_params : undefined;
  if (params === undefined) return;
  span.setValue('llm.invocation_parameters', params);
  for (const name in REQUEST) {
    const value = params[name];
    if (typeof value === 'number') span.set(REQUEST[name] as string, value);
  }
}

/** Notes what a model's answer says of itself: tokens, model, why it ended. */
export function noteAnswer(span: OpenSpan, output: object): void {
  const { generations, llmOutput } = output as { generations?: unknown[][]; llmOutput?: unknown };
  const generation = generations?.[0]?.[0] as { message?: unknown; generationInfo?: unknown } | undefined;
  const message = isMessage(generation?.message) ? (generation?.message as AIMessage) : undefined;
  const about: Record<string, unknown> = {
    ...(generation?.generationInfo ?? {}),
    ...(message?.response_metadata ?? {}),
  };
  const model = text(about.model_name) ?? text(about.model);
  span.set('llm.model_name', model).set('gen_ai.response.model', model);
  span.setText('gen_ai.response.id', text(about.id) ?? text(message?.id));
  const reason = text(about.finish_reason) ?? text(about.stop_reason) ?? text(about.finishReason);
  if (reason !== undefined) span.set('llm.finish_reason', reason).set('gen_ai.response.finish_reasons', [reason]);
  noteUsage(span, message?.usage_metadata ?? usageOf(llmOutput));
}

function noteUsage(span: OpenSpan, usage: UsageMetadata | undefined): void {
  if (usage === undefined) return;
  const { input_token_details: read, output_token_details: written } = usage;
  span
    .set('llm.token_count.prompt', count(usage.input_tokens))
    .set('gen_ai.usage.input_tokens', count(usage.input_tokens))
    .set('llm.token_count.completion', count(usage.output_tokens))
    .set('gen_ai.usage.output_tokens', count(usage.output_tokens))
    .set('llm.token_count.total', count(usage.total_tokens))
    .set('llm.token_count.prompt_details.cache_read', count(read?.cache_read))
    .set('gen_ai.usage.cache_read.input_tokens', count(read?.cache_read))
    .set('llm.token_count.prompt_details.cache_write', count(read?.cache_creation))
    .set('gen_ai.usage.cache_creation.input_tokens', count(read?.cache_creation))
    .set('llm.token_count.completion_details.reasoning', count(written?.reasoning))
    .set('gen_ai.usage.reasoning.output_tokens', count(written?.reasoning));
}

/** Tokens as older models tell them. */
function usageOf(llmOutput: unknown): UsageMetadata | undefined {
  const usage = isRecord(llmOutput) ? (llmOutput.tokenUsage ?? llmOutput.estimatedTokenUsage) : undefined;
  if (!isRecord(usage)) return undefined;
  const { promptTokens, completionTokens, totalTokens } = usage as Record<string, number>;
  return { input_tokens: promptTokens, output_tokens: completionTokens, total_tokens: totalTokens } as UsageMetadata;
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value.slice(0, 256) : undefined;
}
