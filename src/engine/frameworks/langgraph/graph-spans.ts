import type { ToolMessage } from '@langchain/core/messages';
import { isRecord } from '../../encode.ts';
import type { OpenSpan } from '../../tracing/open-span.ts';
import type { RunTrace } from '../../tracing/tracer.ts';
import { noteAnswer, noteRequest } from './model-attributes.ts';
import { isMessage, messagesIn, messageType } from './shapes.ts';

type Metadata = Record<string, unknown> | undefined;

/** A run of LangChain's, and the span it is recorded on. */
interface Recorded {
  span: OpenSpan;
  /** Whether the span is its own, and not that of what it is a part of. */
  own: boolean;
  /** When a model began to answer, and whether it has. */
  askedAt?: number;
  answering?: boolean;
}

/** Turns the callbacks of one run into spans. LangChain's run ids say what is part of what, subgraphs included. */
export class GraphSpans {
  readonly #trace: RunTrace;
  readonly #runs = new Map<string, Recorded>();

  constructor(trace: RunTrace) {
    this.#trace = trace;
  }

  chainStart(
    chain: unknown,
    inputs: unknown,
    runId: string,
    parentRunId: string | undefined,
    tags: string[] | undefined,
    metadata: Metadata,
    name: string | undefined,
  ): void {
    const parent = this.#parent(parentRunId);
    // The graph as a whole is the run, which has its span. LangGraph's own plumbing is of no interest, and functions
    // without a name, such as those that choose the next node, tell nothing that the nodes do not.
    if (parentRunId === undefined || name === 'RunnableLambda' || tags?.includes('langsmith:hidden') === true) {
      this.#runs.set(runId, { span: parent, own: false });
      return;
    }
    const node = metadata?.langgraph_node;
    const span = this.#trace.start(name ?? nameOf(chain) ?? 'chain', 'CHAIN', parent);
    if (typeof node === 'string') span.set('graph.node.id', node);
    this.#runs.set(runId, { span, own: true });
    span.input(inputs, plainly);
  }

  chainEnd(outputs: unknown, runId: string): void {
    const run = this.#take(runId);
    if (run === undefined) return;
    if (run.own) run.span.output(outputs, plainly).end();
    else if (run.span === this.#trace.root) run.span.output(answerIn(outputs), plainly);
  }

  modelStart(
    asked: unknown,
    operation: 'chat' | 'text_completion',
    runId: string,
    parentRunId: string | undefined,
    extra: unknown,
    metadata: Metadata,
    runName: string | undefined,
  ): void {
    const model = typeof metadata?.ls_model_name === 'string' ? metadata.ls_model_name : undefined;
    const span = this.#trace.start(
      model === undefined ? (runName ?? operation) : `${operation} ${model}`,
      'LLM',
      this.#parent(parentRunId),
    );
    this.#runs.set(runId, { span, own: true, askedAt: performance.now() });
    noteRequest(span.set('gen_ai.operation.name', operation), extra, metadata);
    span.input(asked, plainly);
  }

  /** Hears of each token, of which only the first is of interest. */
  modelToken(runId: string): void {
    const run = this.#runs.get(runId);
    if (run === undefined || run.answering === true) return;
    run.answering = true;
    const seconds = (performance.now() - (run.askedAt ?? 0)) / 1_000;
    run.span.set('gen_ai.response.time_to_first_chunk', seconds).event('first_token');
  }

  modelEnd(output: { generations?: { message?: unknown }[][] } & object, runId: string): void {
    const run = this.#take(runId);
    if (run === undefined) return;
    noteAnswer(run.span, output);
    const first = output.generations?.[0]?.[0] as { message?: unknown; text?: unknown } | undefined;
    run.span.output(isMessage(first?.message) ? first?.message : first?.text, plainly).end();
  }

  toolStart(
    tool: unknown,
    input: string,
    runId: string,
    parentRunId: string | undefined,
    metadata: Metadata,
    runName: string | undefined,
    toolCallId: string | undefined,
  ): void {
    const name = runName ?? nameOf(tool) ?? 'tool';
    const span = this.#trace.start(name, 'TOOL', this.#parent(parentRunId));
    this.#runs.set(runId, { span, own: true });
    const args = parsed(input);
    span
      .set('tool.name', name)
      .set('gen_ai.operation.name', 'execute_tool')
      .set('gen_ai.tool.name', name)
      .set('gen_ai.tool.type', 'function')
      .setValue('tool.parameters', args)
      .setText('gen_ai.tool.call.id', toolCallId)
      .input(args);
    // Told by whoever makes tools of MCP servers.
    if (typeof metadata?.mcpServer === 'string') span.setText('service.mcp_server', metadata.mcpServer);
  }

  toolEnd(output: unknown, runId: string): void {
    const run = this.#take(runId);
    if (run === undefined) return;
    const message = messageType(output) === 'tool' ? (output as ToolMessage) : undefined;
    run.span.output(message === undefined ? output : message.content, plainly);
    if (message?.status === 'error') run.span.fail('tool_error', 'The tool answered with an error.');
    else run.span.end();
  }

  retrieverStart(
    retriever: unknown,
    query: string,
    runId: string,
    parentRunId: string | undefined,
    name: string | undefined,
  ): void {
    const span = this.#trace.start(name ?? nameOf(retriever) ?? 'retriever', 'RETRIEVER', this.#parent(parentRunId));
    this.#runs.set(runId, { span, own: true });
    span.set('gen_ai.operation.name', 'retrieval').input(query);
  }

  retrieverEnd(documents: unknown, runId: string): void {
    this.#take(runId)?.span.output(documents, plainly).end();
  }

  /** Takes what ended a run of any kind. */
  failed(runId: string, error: unknown): void {
    const run = this.#take(runId);
    if (run?.own === true) this.#trace.endWith(run.span, error);
  }

  #parent(parentRunId: string | undefined): OpenSpan {
    return (parentRunId === undefined ? undefined : this.#runs.get(parentRunId)?.span) ?? this.#trace.root;
  }

  #take(runId: string): Recorded | undefined {
    const run = this.#runs.get(runId);
    this.#runs.delete(runId);
    return run;
  }
}

/** What is told of a message, of whichever kind. */
interface AnyMessage {
  id?: string | null;
  name?: string;
  content: unknown;
  tool_calls?: unknown[];
  tool_call_id?: string;
}

/** Messages as people know them; everything else as it is. */
function plainly(value: object): unknown {
  const role = messageType(value);
  if (role === undefined) return value;
  const { id, name, content, tool_calls: calls, tool_call_id: callId } = value as AnyMessage;
  return {
    role: ROLES[role] ?? role,
    content,
    ...(calls !== undefined && calls.length > 0 && { tool_calls: calls }),
    ...(callId !== undefined && { tool_call_id: callId }),
    ...(name !== undefined && { name }),
    ...(id && { id }),
  };
}

const ROLES: Record<string, string> = { human: 'user', ai: 'assistant' };

/** What a whole run came to: the last message, where it is a conversation. */
function answerIn(outputs: unknown): unknown {
  const last = messagesIn(outputs).at(-1);
  return last === undefined
    ? outputs
    : messageType(last) === 'ai' && typeof last.content === 'string' && last.content !== ''
      ? last.content
      : last;
}

/** The name of a serialized thing: its own, or else its class's. */
function nameOf(serialized: unknown): string | undefined {
  if (!isRecord(serialized)) return undefined;
  if (typeof serialized.name === 'string') return serialized.name;
  const last: unknown = Array.isArray(serialized.id) ? serialized.id.at(-1) : undefined;
  return typeof last === 'string' ? last : undefined;
}

/** A tool's arguments, which come as text, as what they are, so that secrets are known by their names. */
function parsed(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
