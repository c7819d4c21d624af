import { type AssistantMessage, type BaseEvent, EventType, type Message, type ToolMessage } from '@ag-ui/client';
import type { OpenEntities } from './open-entities.ts';

/**
 * Makes the beginning of a stream that starts anew fit after what was forwarded of the same run: what is open is ended,
 * what was missed is told by the snapshots, and what is still open begins again.
 *
 * @param prefix the stream from its RUN_STARTED to the last event before its live tail.
 */
export function reconcile(prefix: readonly BaseEvent[], open: OpenEntities): BaseEvent[] {
  const told = prefix.filter(({ type }) => type === EventType.SUBAGENT_STARTED);
  const staying = new Set(told.map(({ subagentRunId }) => subagentRunId));
  const messages = prefix.find(({ type }) => type === EventType.MESSAGES_SNAPSHOT)?.messages as Message[] | undefined;
  const rest = prefix.flatMap((event) => continued(event, messages, open));
  return [...open.closers(staying), ...missedResults(messages ?? [], open), ...rest];
}

/**
 * Results that came while nobody listened. The snapshot holds them as messages, but the client counts the calls that
 * wait for an answer by the events.
 */
function missedResults(messages: Message[], open: OpenEntities): BaseEvent[] {
  return messages
    .filter((message): message is ToolMessage => message.role === 'tool' && open.isUnanswered(message.toolCallId))
    .map(({ id, toolCallId, content, subagentRunId }) => ({
      type: EventType.TOOL_CALL_RESULT,
      messageId: id,
      toolCallId,
      content,
      role: 'tool',
      ...(subagentRunId !== undefined && { subagentRunId }),
    }));
}

/** An event of the prefix as it goes on from what the client holds; none where it says nothing new. */
function continued(event: BaseEvent, messages: Message[] | undefined, open: OpenEntities): BaseEvent[] {
  const { type, messageId, toolCallId, subagentRunId } = event;
  switch (type) {
    case EventType.RUN_STARTED:
      return [];
    case EventType.SUBAGENT_STARTED:
      return open.knowsSubagent(subagentRunId) ? [] : [event];
    case EventType.SUBAGENT_FINISHED:
    case EventType.SUBAGENT_ERROR:
      return open.hasEndedSubagent(subagentRunId) ? [] : [event];
    case EventType.TEXT_MESSAGE_CONTENT:
      return remainder(event, messages === undefined ? open.told('text', messageId) : [contentOf(messages, messageId)]);
    case EventType.REASONING_MESSAGE_CONTENT: {
      // The client keeps the reasoning it has unless the snapshot brings any.
      const kept = messages?.some(({ role }) => role === 'reasoning') !== true;
      return remainder(event, kept ? open.told('reasoning', messageId) : [contentOf(messages ?? [], messageId)]);
    }
    case EventType.TOOL_CALL_ARGS:
      return remainder(event, messages === undefined ? open.told('call', toolCallId) : [argsOf(messages, toolCallId)]);
    default:
      return [event];
  }
}

function contentOf(messages: Message[], messageId: unknown): string {
  const content = messages.find(({ id }) => id === messageId)?.content;
  return typeof content === 'string' ? content : '';
}

function argsOf(messages: Message[], toolCallId: unknown): string {
  const calls = messages.flatMap((message) => (message as AssistantMessage).toolCalls ?? []);
  return calls.find(({ id }) => id === toolCallId)?.function.arguments ?? '';
}

/** The part of a text so far that comes after what the client holds already. */
function remainder(event: BaseEvent, held: string[]): BaseEvent[] {
  const text = String(event.delta);
  const known = held.find((part) => text.startsWith(part)) ?? '';
  return text === known ? [] : [{ ...event, delta: text.slice(known.length) }];
}
