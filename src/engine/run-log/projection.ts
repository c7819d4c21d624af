import { type Event, EventType, type Message } from '../events.ts';
import { createConversation, mergeMessages } from './conversation.ts';

/** What the events of a run so far amount to, for somebody who joins it late. */
export interface Projection {
  /** Takes the run's next event. */
  apply(event: Event): void;
  /**
   * The events that bring a newcomer to where the run is: RUN_STARTED, snapshots, a START for everything still open
   * with its text so far, and the terminal event if the run is over.
   *
   * @param base what the conversation and the state are apart from this run's events; without it there are only the
   *   snapshots the run itself has sent.
   */
  catchUp(base: { messages: Message[]; state: Record<string, unknown> } | undefined): Event[];
  /** A copy that goes its own way. */
  clone(): Projection;
}

/** Makes the projection of a run that has told nothing yet. */
export function createProjection(): Projection {
  return projection({
    started: undefined,
    terminal: undefined,
    conversation: { snapshot: undefined, told: [] },
    open: [],
    state: [],
    activities: [],
    subagents: [],
  });
}

interface Facts {
  started: Event | undefined;
  terminal: Event | undefined;
  conversation: { snapshot: Message[] | undefined; told: Message[] };
  /** The START events of all that is open, in order. */
  open: { key: string; start: Event }[];
  /** The last STATE_SNAPSHOT and the deltas since. */
  state: Event[];
  activities: Event[];
  /** Starts and ends of sub-agents: later ones may name earlier ones as their parents. */
  subagents: Event[];
}

function projection(facts: Facts): Projection {
  const conversation = createConversation(facts.conversation);
  const open = (key: string, start: Event): void => void facts.open.push({ key, start });
  const close = (key: string): void => {
    facts.open = facts.open.filter((entry) => entry.key !== key);
  };

  return {
    apply(event) {
      conversation.apply(event);
      switch (event.type) {
        case EventType.RUN_STARTED:
          facts.started = event;
          break;
        case EventType.RUN_FINISHED:
        case EventType.RUN_ERROR:
          facts.terminal = event;
          break;
        case EventType.STATE_SNAPSHOT:
          facts.state = [event];
          break;
        case EventType.STATE_DELTA:
          facts.state.push(event);
          break;
        case EventType.ACTIVITY_SNAPSHOT:
          if (event.replace !== false) {
            facts.activities = facts.activities.filter(
              (known) => (known as { messageId?: string }).messageId !== event.messageId,
            );
          }
          facts.activities.push(event);
          break;
        case EventType.ACTIVITY_DELTA:
          facts.activities.push(event);
          break;
        case EventType.SUBAGENT_STARTED:
        case EventType.SUBAGENT_FINISHED:
        case EventType.SUBAGENT_ERROR:
          facts.subagents.push(event);
          break;
        case EventType.STEP_STARTED:
          open(stepKey(event), event);
          break;
        case EventType.STEP_FINISHED:
          close(stepKey(event));
          break;
        case EventType.TEXT_MESSAGE_START:
          open(`text ${event.messageId}`, event);
          break;
        case EventType.TEXT_MESSAGE_END:
          close(`text ${event.messageId}`);
          break;
        case EventType.TOOL_CALL_START:
          open(`call ${event.toolCallId}`, event);
          break;
        case EventType.TOOL_CALL_END:
          close(`call ${event.toolCallId}`);
          break;
        case EventType.REASONING_START:
          open(`span ${event.messageId}`, event);
          break;
        case EventType.REASONING_END:
          close(`span ${event.messageId}`);
          break;
        case EventType.REASONING_MESSAGE_START:
          open(`reasoning ${event.messageId}`, event);
          break;
        case EventType.REASONING_MESSAGE_END:
          close(`reasoning ${event.messageId}`);
          break;
      }
    },
    catchUp(base) {
      const events: Event[] = [];
      if (facts.started !== undefined) events.push(facts.started);
      events.push(...facts.subagents);
      const openKeys = new Set(facts.open.map(({ key }) => key));
      const { messages, texts } = mergeMessages(base?.messages ?? [], conversation.facts, openKeys);
      if (base !== undefined || conversation.facts.snapshot !== undefined) {
        events.push({ type: EventType.MESSAGES_SNAPSHOT, messages });
      }
      if (facts.state[0]?.type === EventType.STATE_SNAPSHOT) events.push(...facts.state);
      else if (base !== undefined) {
        events.push({ type: EventType.STATE_SNAPSHOT, snapshot: base.state }, ...facts.state);
      }
      events.push(...facts.activities);
      // A run that failed may have left things open; nothing more will come for them, but they were begun.
      for (const { key, start } of facts.open) events.push(start, ...textSoFar(start, texts.get(key)));
      if (facts.terminal !== undefined) events.push(facts.terminal);
      return events;
    },
    clone: () => projection(structuredClone(facts)),
  };
}

/** What has been said of an open message or call, as one event. */
function textSoFar(start: Event, text: string | undefined): Event[] {
  if (text === undefined || text === '') return [];
  const { subagentRunId } = start as { subagentRunId?: string };
  const owner = subagentRunId === undefined ? {} : { subagentRunId };
  switch (start.type) {
    case EventType.TEXT_MESSAGE_START:
      return [{ type: EventType.TEXT_MESSAGE_CONTENT, messageId: start.messageId, delta: text, ...owner }];
    case EventType.REASONING_MESSAGE_START:
      return [{ type: EventType.REASONING_MESSAGE_CONTENT, messageId: start.messageId, delta: text, ...owner }];
    case EventType.TOOL_CALL_START:
      return [{ type: EventType.TOOL_CALL_ARGS, toolCallId: start.toolCallId, delta: text, ...owner }];
    default:
      return [];
  }
}

function stepKey({ stepName, subagentRunId }: { stepName: string; subagentRunId?: string }): string {
  return `step ${JSON.stringify([stepName, subagentRunId])}`;
}
