import type { SpanKind } from './span.ts';

const WHO: Record<SpanKind, string> = {
  AGENT: 'The agent',
  CHAIN: 'This step',
  LLM: 'The model call',
  TOOL: 'The tool',
  RETRIEVER: 'The retriever',
  GUARDRAIL: 'The guardrail',
};

/**
 * What may be told of an exception: its kind and a status code, and nothing of its text, which may hold anything.
 *
 * @returns `error.type` and a sentence.
 */
export function failureOf(kind: SpanKind, error: unknown): { type: string; message: string } {
  const { name, status, statusCode } = (error ?? {}) as { name?: unknown; status?: unknown; statusCode?: unknown };
  const type = typeof name === 'string' && /^[A-Za-z_][\w.]{0,63}$/.test(name) ? name : 'Error';
  const code = [status, statusCode].find((given) => typeof given === 'number' && given >= 100 && given <= 599);
  return { type, message: `${WHO[kind]} failed (${type}${code === undefined ? '' : `, status ${code}`}).` };
}
