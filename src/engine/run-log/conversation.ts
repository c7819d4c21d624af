import type { AssistantMessage, ReasoningMessage, ToolCall } from '@ag-ui/core';
import { type Event, EventType, type Message } from '../events.ts';

/** The conversation as a run's events have told it. */
export interface ConversationFacts {
  /** The run's last MESSAGES_SNAPSHOT. */
  snapshot: Message[] | undefined;
  /** Messages told one by one since then, in the order they began. */
  told: Message[];
}

/** Builds messages out of events the way the published client does (ag-ui contract, sections 3 and 8). */
export function createConversation(facts: ConversationFacts): { facts: ConversationFacts; apply(event: Event): void } {
  const byId = (id: string): Message | undefined => facts.told.find((message) => message.id === id);
  const callOf = (id: string): ToolCall | undefined =>
    facts.told.flatMap((message) => (message as AssistantMessage).toolCalls ?? []).find((call) => call.id === id);
  const begin = (message: Message): void => {
    if (byId(message.id) === undefined) facts.told.push(message);
  };
  const append = (id: string, delta: string): void => {
    const message = byId(id) as { content?: string } | undefined;
    if (message !== undefined) message.content = `${message.content ?? ''}${delta}`;
  };

  return {
    facts,
    apply(event) {
      switch (event.type) {
        case EventType.MESSAGES_SNAPSHOT:
          facts.snapshot = event.messages;
          facts.told = [];
          break;
        case EventType.TEXT_MESSAGE_START: {
          const { messageId: id, role = 'assistant', name, subagentRunId } = event;
          begin({ id, role, content: '', ...defined({ name, subagentRunId }) } as Message);
          break;
        }
        case EventType.REASONING_MESSAGE_START:
          begin({
            id: event.messageId,
            role: 'reasoning',
            content: '',
            ...defined({ subagentRunId: event.subagentRunId }),
          });
          break;
        case EventType.TEXT_MESSAGE_CONTENT:
        case EventType.REASONING_MESSAGE_CONTENT:
          append(event.messageId, event.delta);
          break;
        case EventType.TOOL_CALL_START: {
          const id = event.parentMessageId ?? event.toolCallId;
          begin({ id, role: 'assistant', ...defined({ subagentRunId: event.subagentRunId }) });
          const parent = byId(id) as AssistantMessage;
          parent.toolCalls ??= [];
          if (!parent.toolCalls.some((call) => call.id === event.toolCallId)) {
            const { toolCallId, toolCallName: name } = event;
            parent.toolCalls.push({ id: toolCallId, type: 'function', function: { name, arguments: '' } });
          }
          break;
        }
        case EventType.TOOL_CALL_ARGS: {
          const call = callOf(event.toolCallId);
          if (call !== undefined) call.function.arguments += event.delta;
          break;
        }
        case EventType.TOOL_CALL_RESULT: {
          const { messageId: id, toolCallId, content, subagentRunId } = event;
          begin({ id, role: 'tool', toolCallId, content, ...defined({ subagentRunId }) } as Message);
          break;
        }
        case EventType.REASONING_ENCRYPTED_VALUE: {
          const { entityId, encryptedValue, subtype } = event;
          const entity = subtype === 'tool-call' ? callOf(entityId) : (byId(entityId) as ReasoningMessage | undefined);
          if (entity !== undefined) entity.encryptedValue = encryptedValue;
          break;
        }
      }
    },
  };
}

/**
 * The whole conversation: what the run told on top of what there was. Where something is still open, its message holds
 * its place without it, for its START and text follow as events.
 *
 * @param base the conversation apart from the run's events.
 * @param open keys of what is open: `text`, `reasoning` or `call` and an id.
 * @returns the messages, and by key the text so far of what is open.
 */
export function mergeMessages(
  base: readonly Message[],
  { snapshot, told }: ConversationFacts,
  open: ReadonlySet<string>,
): { messages: Message[]; texts: Map<string, string> } {
  const texts = new Map<string, string>();
  const withoutOpen = (message: Message): Message => {
    const textKey = `${message.role === 'reasoning' ? 'reasoning' : 'text'} ${message.id}`;
    const { toolCalls = [] } = message as AssistantMessage;
    const openCalls = toolCalls.filter((call) => open.has(`call ${call.id}`));
    for (const call of openCalls) texts.set(`call ${call.id}`, call.function.arguments);
    const textOpen = open.has(textKey);
    if (textOpen) texts.set(textKey, String(message.content ?? ''));
    return {
      ...message,
      ...(textOpen && { content: '' }),
      ...(openCalls.length > 0 && { toolCalls: toolCalls.filter((call) => !openCalls.includes(call)) }),
    } as Message;
  };
  const isOpen = (message: Message): boolean =>
    open.has(`text ${message.id}`) ||
    open.has(`reasoning ${message.id}`) ||
    ((message as AssistantMessage).toolCalls ?? []).some((call) => open.has(`call ${call.id}`));

  const merged = [...(snapshot ?? base)];
  const known = new Set(merged.map(({ id }) => id));
  for (const message of told) {
    if (!known.has(message.id)) merged.splice(placeFor(message, merged), 0, message);
    // The agent knows a message as a whole; while it is being told, its events know it better.
    else if (isOpen(message)) merged[merged.findIndex(({ id }) => id === message.id)] = message;
    known.add(message.id);
  }
  return { messages: merged.map(withoutOpen), texts };
}

/** Where a message goes: a tool's result behind the call and its other results, anything else at the end. */
function placeFor(message: Message, messages: readonly Message[]): number {
  if (message.role !== 'tool') return messages.length;
  const caller = messages.findIndex((known) =>
    (known as AssistantMessage).toolCalls?.some((call) => call.id === message.toolCallId),
  );
  if (caller < 0) return messages.length;
  let place = caller + 1;
  while (messages[place]?.role === 'tool') place += 1;
  return place;
}

function defined<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
}
