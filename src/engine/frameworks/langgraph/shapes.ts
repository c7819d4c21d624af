import type { BaseMessage } from '@langchain/core/messages';
import type { CompiledStateGraph, StateSnapshot } from '@langchain/langgraph';
import { isRecord } from '../../encode.ts';

/*
 * The agent's folder may hold another copy of LangGraph than ours, so nothing here asks `instanceof`:
 * things are known by what they can do.
 */

/** A compiled graph of whichever copy of LangGraph. */
// biome-ignore lint/suspicious/noExplicitAny: the graph's own state types are the author's and unknown here
export type CompiledGraph = CompiledStateGraph<any, any, any, any, any, any>;

/** An uncompiled graph. */
export interface GraphBuilder {
  compile(options: { checkpointer?: unknown; store?: unknown; name?: string }): CompiledGraph;
}

/** Current state of a thread, as the graph reports it. */
export type ThreadState = StateSnapshot;

/** Whether `value` is a compiled graph. */
export function isCompiledGraph(value: unknown): value is CompiledGraph {
  if (typeof value !== 'object' || value === null) return false;
  const graph = value as Partial<CompiledGraph>;
  return typeof graph.stream === 'function' && typeof graph.getState === 'function' && isRecord(graph.channels);
}

/** Whether `value` is a graph that still has to be compiled. */
export function isGraphBuilder(value: unknown): value is GraphBuilder {
  if (typeof value !== 'object' || value === null) return false;
  const builder = value as { compile?: unknown; addNode?: unknown };
  return typeof builder.compile === 'function' && typeof builder.addNode === 'function';
}

/** Whether `value` wraps a compiled graph the way `createAgent` of langchain does. */
export function isAgentWrapper(value: unknown): value is { graph: CompiledGraph } {
  return typeof value === 'object' && value !== null && 'graph' in value && isCompiledGraph(value.graph);
}

/** Kind of a chat message, or undefined when `value` is none. */
export function messageType(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const message = value as { getType?: unknown; _getType?: unknown };
  if (typeof message.getType === 'function') return String(message.getType());
  if (typeof message._getType === 'function') return String(message._getType());
  return undefined;
}

/** Whether `value` is a chat message of whichever copy of LangChain. */
export function isMessage(value: unknown): value is BaseMessage {
  return messageType(value) !== undefined;
}

/** Gives a message an id the way LangGraph does it, so that the state and the stream speak of the same one. */
export function setMessageId(message: BaseMessage, id: string): void {
  message.id = id;
  const kwargs = (message as { lc_kwargs?: Record<string, unknown> }).lc_kwargs;
  if (kwargs !== undefined) kwargs.id = id;
}

/** Whether `value` is a LangGraph command. */
export function isCommand(value: unknown): value is { update?: unknown } {
  return isRecord(value) && value.lg_name === 'Command';
}

/** The messages in a value that may be a message, a list of things, or an object with `messages`. */
export function messagesIn(value: unknown): BaseMessage[] {
  if (isMessage(value)) return [value];
  if (Array.isArray(value)) return value.filter(isMessage);
  if (!isRecord(value)) return [];
  if (isCommand(value)) return messagesIn(value.update);
  return 'messages' in value ? messagesIn(value.messages) : [];
}
