import { type BaseEvent, EventType } from '@ag-ui/client';

/** What a run has begun and not ended yet, as told by the events that were forwarded. */
export class OpenEntities {
  readonly #calls = new Map<unknown, BaseEvent>();
  readonly #texts = new Map<unknown, BaseEvent>();
  readonly #reasonings = new Map<unknown, BaseEvent>();
  readonly #spans = new Map<unknown, BaseEvent>();
  readonly #steps = new Map<string, BaseEvent>();
  readonly #subagents = new Map<unknown, BaseEvent>();
  readonly #knownSubagents = new Set<unknown>();
  readonly #unanswered = new Set<unknown>();
  /** By kind and id, the text of messages and the arguments of calls: all, and of that what came since the last START. */
  readonly #told = new Map<string, { all: string; latest: string }>();

  /** Takes notice of an event that is forwarded. */
  note(event: BaseEvent): void {
    const { messageId, toolCallId, subagentRunId } = event;
    switch (event.type) {
      case EventType.TOOL_CALL_START:
        this.#unanswered.add(toolCallId);
        this.#calls.set(toolCallId, event);
        this.#begin(`call ${toolCallId}`);
        break;
      case EventType.TOOL_CALL_ARGS:
        this.#append(`call ${toolCallId}`, event.delta);
        break;
      case EventType.TOOL_CALL_END:
        this.#calls.delete(toolCallId);
        break;
      case EventType.TOOL_CALL_RESULT:
        this.#unanswered.delete(toolCallId);
        break;
      case EventType.TEXT_MESSAGE_START:
        this.#texts.set(messageId, event);
        this.#begin(`text ${messageId}`);
        break;
      case EventType.TEXT_MESSAGE_CONTENT:
        this.#append(`text ${messageId}`, event.delta);
        break;
      case EventType.TEXT_MESSAGE_END:
        this.#texts.delete(messageId);
        break;
      case EventType.REASONING_START:
        this.#spans.set(messageId, event);
        break;
      case EventType.REASONING_END:
        this.#spans.delete(messageId);
        break;
      case EventType.REASONING_MESSAGE_START:
        this.#reasonings.set(messageId, event);
        this.#begin(`reasoning ${messageId}`);
        break;
      case EventType.REASONING_MESSAGE_CONTENT:
        this.#append(`reasoning ${messageId}`, event.delta);
        break;
      case EventType.REASONING_MESSAGE_END:
        this.#reasonings.delete(messageId);
        break;
      case EventType.STEP_STARTED:
        this.#steps.set(stepKey(event), event);
        break;
      case EventType.STEP_FINISHED:
        this.#steps.delete(stepKey(event));
        break;
      case EventType.SUBAGENT_STARTED:
        this.#subagents.set(subagentRunId, event);
        this.#knownSubagents.add(subagentRunId);
        break;
      case EventType.SUBAGENT_FINISHED:
      case EventType.SUBAGENT_ERROR:
        this.#subagents.delete(subagentRunId);
        break;
    }
  }

  /** Events that end all that is open, innermost first, but for the sub-agents in `staying`. */
  closers(staying: ReadonlySet<unknown>): BaseEvent[] {
    const end = (type: EventType, key: string, open: Map<unknown, BaseEvent>): BaseEvent[] =>
      [...open.values()].reverse().map((event) => ({
        type,
        [key]: event[key],
        ...(event.subagentRunId !== undefined && { subagentRunId: event.subagentRunId }),
      }));
    return [
      ...end(EventType.TOOL_CALL_END, 'toolCallId', this.#calls),
      ...end(EventType.TEXT_MESSAGE_END, 'messageId', this.#texts),
      ...end(EventType.REASONING_MESSAGE_END, 'messageId', this.#reasonings),
      ...end(EventType.REASONING_END, 'messageId', this.#spans),
      ...end(EventType.STEP_FINISHED, 'stepName', this.#steps),
      ...end(EventType.SUBAGENT_FINISHED, 'subagentRunId', this.#subagents).filter(
        ({ subagentRunId }) => !staying.has(subagentRunId),
      ),
    ];
  }

  /** Whether a tool call of this run has no result yet. */
  isUnanswered(toolCallId: unknown): boolean {
    return this.#unanswered.has(toolCallId);
  }

  /** Whether a sub-agent has started in this run. */
  knowsSubagent(subagentRunId: unknown): boolean {
    return this.#knownSubagents.has(subagentRunId);
  }

  /** Whether a sub-agent has started and ended in this run. */
  hasEndedSubagent(subagentRunId: unknown): boolean {
    return this.#knownSubagents.has(subagentRunId) && !this.#subagents.has(subagentRunId);
  }

  /** What was told of a text, reasoning or call so far: all of it, and what came since it last began. */
  told(kind: 'text' | 'reasoning' | 'call', id: unknown): string[] {
    const text = this.#told.get(`${kind} ${id}`);
    return text === undefined ? [] : [text.all, text.latest];
  }

  #begin(key: string): void {
    this.#told.set(key, { all: this.#told.get(key)?.all ?? '', latest: '' });
  }

  #append(key: string, delta: unknown): void {
    const text = this.#told.get(key);
    if (text === undefined) return;
    text.all += delta;
    text.latest += delta;
  }
}

/** A step's name is only its own within one agent. */
function stepKey({ subagentRunId, stepName }: BaseEvent): string {
  return JSON.stringify([subagentRunId ?? null, stepName]);
}
