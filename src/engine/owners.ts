import { type Event, EventType } from './events.ts';

/** Knows which sub-agent opened what during one run. */
export interface Owners {
  /**
   * The event as the client's verifier takes it: one that names another sub-agent than the opener of its message or
   * tool call loses that name, which is always allowed (ag-ui contract, section 8, rule 10).
   */
  settle(event: Event): Event;
}

/** Makes the record of a run in which nothing has been opened. */
export function createOwners(): Owners {
  const owners = new Map<string, string | undefined>();
  const untagged = (event: Event): Event => {
    const { subagentRunId: _other, ...rest } = event as Event & { subagentRunId?: string };
    return rest as Event;
  };
  const disagrees = (key: string, tag: string | undefined): boolean =>
    tag !== undefined && owners.has(key) && owners.get(key) !== tag;
  const continuing = (event: Event & { subagentRunId?: string }, key: string): Event =>
    disagrees(key, event.subagentRunId) ? untagged(event) : event;
  const opening = (event: Event & { subagentRunId?: string }, key: string): Event => {
    const settled = continuing(event, key) as Event & { subagentRunId?: string };
    if (!owners.has(key)) owners.set(key, settled.subagentRunId);
    return settled;
  };

  return {
    settle(event) {
      // Nearly every event continues something and names nobody.
      if (event.type === EventType.TEXT_MESSAGE_CONTENT && event.subagentRunId === undefined) return event;
      switch (event.type) {
        case EventType.TEXT_MESSAGE_START:
          return opening(event, `message ${event.messageId}`);
        case EventType.TEXT_MESSAGE_CONTENT:
        case EventType.TEXT_MESSAGE_END:
          return continuing(event, `message ${event.messageId}`);
        case EventType.TOOL_CALL_START: {
          const call = `call ${event.toolCallId}`;
          const parent = event.parentMessageId === undefined ? undefined : `message ${event.parentMessageId}`;
          const inherits = parent !== undefined && owners.has(parent);
          if (disagrees(call, event.subagentRunId) || (inherits && disagrees(parent, event.subagentRunId))) {
            return this.settle(untagged(event));
          }
          const owner = event.subagentRunId ?? (inherits ? owners.get(parent) : undefined);
          if (inherits && owners.has(call) && owners.get(call) !== owner) {
            const { parentMessageId: _other, ...rest } = event;
            return this.settle(rest);
          }
          if (!owners.has(call)) owners.set(call, owner);
          return event;
        }
        case EventType.TOOL_CALL_ARGS:
        case EventType.TOOL_CALL_END:
          return continuing(event, `call ${event.toolCallId}`);
        case EventType.TOOL_CALL_RESULT:
          owners.set(`message ${event.messageId}`, event.subagentRunId);
          return event;
        case EventType.REASONING_START:
        case EventType.REASONING_MESSAGE_START:
          return opening(event, `reasoning ${event.messageId}`);
        case EventType.REASONING_MESSAGE_CONTENT:
        case EventType.REASONING_MESSAGE_END:
        case EventType.REASONING_END:
          return continuing(event, `reasoning ${event.messageId}`);
        case EventType.REASONING_ENCRYPTED_VALUE: {
          const kinds = event.subtype === 'tool-call' ? ['call'] : ['message', 'reasoning'];
          const key = kinds.map((kind) => `${kind} ${event.entityId}`).find((name) => owners.has(name));
          return key === undefined ? event : continuing(event, key);
        }
        case EventType.ACTIVITY_SNAPSHOT: {
          const key = `activity ${event.messageId}`;
          if (!owners.has(key) || event.replace !== false) owners.set(key, event.subagentRunId);
          return event;
        }
        case EventType.ACTIVITY_DELTA:
          return continuing(event, `activity ${event.messageId}`);
        case EventType.MESSAGES_SNAPSHOT:
          for (const message of event.messages) {
            const kind = message.role === 'reasoning' || message.role === 'activity' ? message.role : 'message';
            owners.set(`${kind} ${message.id}`, message.subagentRunId);
            const calls = message.role === 'assistant' ? (message.toolCalls ?? []) : [];
            for (const call of calls) owners.set(`call ${call.id}`, message.subagentRunId);
          }
          return event;
        default:
          return event;
      }
    },
  };
}
