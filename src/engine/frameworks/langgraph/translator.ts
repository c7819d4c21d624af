import { randomUUID } from 'node:crypto';
import type { AIMessage, BaseMessage, ToolMessage } from '@langchain/core/messages';
import { asText, encodeAnything, isRecord } from '../../encode.ts';
import { type Emit, EventType, type TokenUsage } from '../../events.ts';
import { customEvent } from './custom-events.ts';
import { toolContent } from './messages.ts';
import { ModelStream, type StreamWishes, type ToldCalls } from './model-stream.ts';
import { isCommand, isMessage, messagesIn, messageType, setMessageId } from './shapes.ts';
import { createUsageMeter } from './usage.ts';

type Metadata = Record<string, unknown> | undefined;

interface ModelRun {
  stream: ModelStream;
  provider: string | undefined;
  model: string | undefined;
}

const NOTHING_HIDDEN: StreamWishes = { messages: true, toolCalls: true, predictState: [] };

/**
 * A LangChain callback handler that turns what a graph does into AG-UI events (ag-ui contract, section 11).
 *
 * Tokens are taken here and not from `streamMode: 'messages'`: the same tokens cost half as much this way
 * (docs/performance.md). It is a plain object with the handler's methods, so any copy of LangChain takes it.
 */
export class Translator {
  readonly name = 'agent-engine-server';
  /** Events keep their order only when LangChain waits for each call. */
  readonly awaitHandlers = true;
  /** Makes models stream although the node only asked for the answer. */
  readonly lc_prefer_streaming = true;
  readonly ignoreRetriever: boolean = true;

  readonly #emit: Emit;
  readonly #raw: Emit | undefined;
  readonly #models = new Map<string, ModelRun>();
  readonly #nodes = new Map<string, string>();
  readonly #tools = new Map<string, { name: string; input: string; toolCallId: string | undefined }>();
  readonly #told: ToldCalls = { started: new Set(), muted: new Set(), predicting: new Set() };
  readonly #known = new Set<string>();
  readonly #results = new Set<string>();
  readonly #usage = createUsageMeter();

  /** @param includeRaw also sends each framework event as RAW. */
  constructor(emit: Emit, includeRaw: boolean) {
    this.#emit = emit;
    this.#raw = includeRaw ? emit : undefined;
  }

  /** Tokens used so far. */
  get usage(): TokenUsage[] {
    return this.#usage.total();
  }

  /** Whether a tool call whose arguments predict state has not ended yet. */
  get predicting(): boolean {
    return this.#told.predicting.size > 0;
  }

  /** Whether a model is being streamed right now. */
  get streaming(): boolean {
    return this.#models.size > 0;
  }

  /** Notes messages the client knows already: they and their tool calls are not told again. */
  know(messages: readonly BaseMessage[]): void {
    for (const message of messages) {
      if (message.id !== undefined && message.id !== null) this.#known.add(message.id);
      for (const call of (message as AIMessage).tool_calls ?? []) if (call.id) this.#told.started.add(call.id);
      if (messageType(message) === 'tool') this.#results.add((message as ToolMessage).tool_call_id);
    }
  }

  /** Tells of messages that reached the state without having been streamed: a node made them, or a model that cannot stream. */
  tell(messages: readonly BaseMessage[]): void {
    for (const message of messages) {
      const type = messageType(message);
      if (type === 'tool') {
        const tool = message as ToolMessage;
        if (!this.#results.has(tool.tool_call_id)) this.#tellResult(tool, tool.name);
      } else if (type === 'ai' && !(message.id && this.#known.has(message.id))) {
        if (!message.id) setMessageId(message, randomUUID());
        new ModelStream(message.id ?? '', NOTHING_HIDDEN, this.#told, this.#emit).end(message as AIMessage);
      }
      if (message.id) this.#known.add(message.id);
    }
  }

  /** Tells of a result that was made up for a call of an earlier run, so that the client puts it behind the call. */
  tellRepair({ id, tool_call_id: toolCallId, content }: ToolMessage): void {
    const result = { toolCallId, messageId: id ?? '', role: 'tool' as const, content: content as string };
    this.#emit({ type: EventType.TOOL_CALL_RESULT, ...result });
  }

  /** Takes a custom event, dispatched or written to the stream by the author. */
  custom(name: string, value: unknown): void {
    customEvent(name, value, this.#emit);
  }

  handleChatModelStart(
    _model: unknown,
    _messages: unknown,
    runId: string,
    _parentRunId?: string,
    _extra?: unknown,
    tags?: string[],
    metadata?: Metadata,
  ): void {
    this.#rawEvent('on_chat_model_start', { runId, metadata });
    const wishes = streamWishes(tags, metadata);
    this.#models.set(runId, {
      stream: new ModelStream(runId, wishes, this.#told, this.#emit),
      provider: stringOr(metadata?.ls_provider),
      model: stringOr(metadata?.ls_model_name),
    });
  }

  handleLLMStart(
    model: unknown,
    prompts: unknown,
    runId: string,
    parentRunId?: string,
    extra?: unknown,
    tags?: string[],
    metadata?: Metadata,
  ): void {
    this.handleChatModelStart(model, prompts, runId, parentRunId, extra, tags, metadata);
  }

  handleLLMNewToken(
    token: string,
    index: { completion: number } | undefined,
    runId: string,
    _parentRunId?: string,
    _tags?: string[],
    fields?: { chunk?: { message?: unknown } },
  ): void {
    const stream = this.#models.get(runId)?.stream;
    // Of several alternative completions only the first becomes the message.
    if (stream === undefined || (index !== undefined && index.completion > 0)) return;
    const message = fields?.chunk?.message;
    if (this.#raw) this.#rawEvent('on_chat_model_stream', { runId, chunk: message ?? token });
    if (isMessage(message)) stream.chunk(message);
    else stream.text(token);
  }

  handleLLMEnd(output: { generations?: { message?: unknown }[][] }, runId: string): void {
    const run = this.#models.get(runId);
    if (run === undefined) return;
    this.#models.delete(runId);
    const found = output.generations?.[0]?.[0]?.message;
    const message = isMessage(found) ? (found as AIMessage) : undefined;
    this.#rawEvent('on_chat_model_end', { runId, message });
    run.stream.end(message);
    if (message !== undefined) this.#usage.add(run.provider, run.model, message);
    if (run.stream.messageId !== undefined) this.#known.add(run.stream.messageId);
  }

  handleLLMError(_error: unknown, runId: string): void {
    this.#models.get(runId)?.stream.close();
    this.#models.delete(runId);
  }

  handleChainStart(
    _chain: unknown,
    _inputs: unknown,
    runId: string,
    _parentRunId?: string,
    tags?: string[],
    metadata?: Metadata,
    _type?: string,
    name?: string,
  ): void {
    // A node's own run carries the node's name; the runs inside it carry others.
    if (name === undefined || name !== metadata?.langgraph_node || tags?.includes('langsmith:hidden')) return;
    this.#rawEvent('on_node_start', { runId, name });
    this.#nodes.set(runId, name);
    this.#emit({ type: EventType.STEP_STARTED, stepName: name });
  }

  handleChainEnd(outputs: unknown, runId: string): void {
    if (!this.#nodes.has(runId)) return;
    this.#rawEvent('on_node_end', { runId, outputs });
    this.tell(messagesIn(outputs));
    this.#endNode(runId);
  }

  handleChainError(_error: unknown, runId: string): void {
    this.#endNode(runId);
  }

  handleToolStart(
    tool: unknown,
    input: string,
    runId: string,
    _parentRunId?: string,
    _tags?: string[],
    _metadata?: Metadata,
    runName?: string,
    toolCallId?: string,
  ): void {
    this.#rawEvent('on_tool_start', { runId, name: runName, input });
    const name = runName ?? (isRecord(tool) ? stringOr(tool.name) : undefined) ?? 'tool';
    this.#tools.set(runId, { name, input, toolCallId });
  }

  handleToolEnd(output: unknown, runId: string): void {
    const tool = this.#tools.get(runId);
    this.#tools.delete(runId);
    this.#rawEvent('on_tool_end', { runId, output });
    const messages = messagesIn(output).filter((message) => messageType(message) === 'tool') as ToolMessage[];
    for (const message of messages) this.#tellResult(message, tool?.name, tool?.input);
    if (messages.length > 0 || isCommand(output) || tool === undefined) return;
    const toolCallId = tool.toolCallId ?? runId;
    this.#result(toolCallId, tool.name, tool.input, randomUUID(), asText(output));
  }

  handleToolError(_error: unknown, runId: string): void {
    // The graph decides what a tool's error means; its tool message, if any, comes with the node's output.
    this.#tools.delete(runId);
  }

  handleCustomEvent(name: string, data: unknown): void {
    this.#rawEvent('on_custom_event', { name, data });
    this.custom(name, data);
  }

  #tellResult(message: ToolMessage, name: string | undefined, input?: string): void {
    if (!message.id) setMessageId(message, randomUUID());
    this.#known.add(message.id ?? '');
    this.#result(message.tool_call_id, message.name ?? name ?? 'tool', input, message.id ?? '', toolContent(message));
  }

  #result(
    toolCallId: string,
    name: string,
    input: string | undefined,
    messageId: string,
    content: string | object[],
  ): void {
    if (this.#results.has(toolCallId)) return;
    this.#results.add(toolCallId);
    this.#told.predicting.delete(toolCallId);
    if (this.#told.muted.has(toolCallId)) return;
    if (!this.#told.started.has(toolCallId)) {
      this.#told.started.add(toolCallId);
      this.#emit({ type: EventType.TOOL_CALL_START, toolCallId, toolCallName: name });
      this.#emit({ type: EventType.TOOL_CALL_ARGS, toolCallId, delta: input ?? '' });
      this.#emit({ type: EventType.TOOL_CALL_END, toolCallId });
    }
    this.#emit({ type: EventType.TOOL_CALL_RESULT, toolCallId, messageId, role: 'tool', content: content as string });
  }

  #endNode(runId: string): void {
    const stepName = this.#nodes.get(runId);
    if (stepName === undefined) return;
    this.#nodes.delete(runId);
    this.#emit({ type: EventType.STEP_FINISHED, stepName });
  }

  #rawEvent(event: string, data: object): void {
    this.#raw?.({
      type: EventType.RAW,
      source: 'langgraph',
      event: { event, data: JSON.parse(encodeAnything(data)) as unknown },
    });
  }
}

function streamWishes(tags: string[] | undefined, metadata: Metadata): StreamWishes {
  const muted = tags?.some((tag) => tag === 'nostream' || tag === 'langsmith:nostream') === true;
  const predicted = metadata?.predict_state ?? metadata?.['predict-state'];
  if (
    !muted &&
    metadata?.['emit-messages'] === undefined &&
    metadata?.['emit-tool-calls'] === undefined &&
    !predicted
  ) {
    return NOTHING_HIDDEN;
  }
  const rules = Array.isArray(predicted) ? predicted : [predicted];
  return {
    messages: !muted && metadata?.['emit-messages'] !== false,
    toolCalls: !muted && metadata?.['emit-tool-calls'] !== false,
    predictState: rules.filter((rule): rule is { tool: string } => isRecord(rule) && typeof rule.tool === 'string'),
  };
}

function stringOr(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
