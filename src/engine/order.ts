import { type Emit, type Event, EventType } from './events.ts';
import { createOwners } from './owners.ts';

/** The order checker of one run: everything the client sees passes {@link OrderGuard.emit}. */
export interface OrderGuard {
  /** Passes `event` on if the client's rules allow it, mends what can be mended, and drops the rest. */
  emit: Emit;
  /** Whether text, a tool call or reasoning is being streamed right now. */
  readonly streaming: boolean;
}

/**
 * Holds a run's events to the order rules a client enforces (ag-ui contract, section 8), so that a careless agent
 * costs a log line and never a stream.
 *
 * @param deliver takes the events in order.
 * @param onViolation hears of each event that had to be mended or dropped.
 */
export function createOrderGuard(deliver: Emit, onViolation: (rule: string, event: Event) => void): OrderGuard {
  const texts = new Set<string>();
  const toolCalls = new Set<string>();
  const reasoningSpans = new Set<string>();
  const reasoningMessages = new Set<string>();
  const subagents = new Set<string>();
  // A step is named once at a time; a second start of the same name (a fan-out) only deepens it.
  const steps = new Map<string, { stepName: string; subagentRunId: string | undefined; depth: number }>();
  const owners = createOwners();
  const seenSubagents = new Set<string>();
  let phase: 'idle' | 'running' | 'ended' = 'idle';

  const open = (set: Set<string>, id: string, event: Event): void => {
    if (set.has(id)) return onViolation('already open', event);
    set.add(id);
    deliver(event);
  };
  const within = (set: Set<string>, id: string, event: Event): void => {
    if (!set.has(id)) return onViolation('not open', event);
    deliver(event);
  };
  const close = (set: Set<string>, id: string, event: Event): void => {
    if (!set.delete(id)) return onViolation('not open', event);
    deliver(event);
  };

  const emit: Emit = (sent) => {
    if (phase !== 'running' && sent.type !== EventType.RUN_STARTED && sent.type !== EventType.RUN_ERROR) {
      return onViolation(phase === 'ended' ? 'run has ended' : 'run has not started', sent);
    }
    const event = owners.settle(sent);
    if (event !== sent) onViolation('belongs to another sub-agent', sent);
    switch (event.type) {
      case EventType.TEXT_MESSAGE_CONTENT:
        // Clients before 1.0 reject an empty delta, and it says nothing.
        if (event.delta === '') return;
        if (!texts.has(event.messageId)) {
          onViolation('not open', event);
          const { messageId, subagentRunId } = event;
          emit({ type: EventType.TEXT_MESSAGE_START, messageId, role: 'assistant', ...owner(subagentRunId) });
        }
        return within(texts, event.messageId, event);
      case EventType.TEXT_MESSAGE_START:
        return open(texts, event.messageId, event);
      case EventType.TEXT_MESSAGE_END:
        return close(texts, event.messageId, event);
      case EventType.TOOL_CALL_START:
        return open(toolCalls, event.toolCallId, event);
      case EventType.TOOL_CALL_ARGS:
        return event.delta === '' ? undefined : within(toolCalls, event.toolCallId, event);
      case EventType.TOOL_CALL_END:
        return close(toolCalls, event.toolCallId, event);
      case EventType.REASONING_START:
        return open(reasoningSpans, event.messageId, event);
      case EventType.REASONING_END:
        if (reasoningMessages.has(event.messageId)) {
          emit({ type: EventType.REASONING_MESSAGE_END, messageId: event.messageId });
        }
        return close(reasoningSpans, event.messageId, event);
      case EventType.REASONING_MESSAGE_START:
        return open(reasoningMessages, event.messageId, event);
      case EventType.REASONING_MESSAGE_CONTENT:
        return event.delta === '' ? undefined : within(reasoningMessages, event.messageId, event);
      case EventType.REASONING_MESSAGE_END:
        return close(reasoningMessages, event.messageId, event);
      case EventType.STEP_STARTED: {
        const key = stepKey(event);
        const step = steps.get(key);
        if (step !== undefined) {
          step.depth += 1;
          return;
        }
        steps.set(key, { stepName: event.stepName, subagentRunId: event.subagentRunId, depth: 1 });
        return deliver(event);
      }
      case EventType.STEP_FINISHED: {
        const key = stepKey(event);
        const step = steps.get(key);
        if (step === undefined) return onViolation('not open', event);
        step.depth -= 1;
        if (step.depth > 0) return;
        steps.delete(key);
        return deliver(event);
      }
      case EventType.SUBAGENT_STARTED: {
        if (seenSubagents.has(event.subagentRunId)) return onViolation('already started', event);
        const { parentSubagentRunId: parent, ...orphan } = event;
        const known = parent === undefined || seenSubagents.has(parent);
        if (!known) onViolation('parent not started', event);
        seenSubagents.add(event.subagentRunId);
        subagents.add(event.subagentRunId);
        return deliver(known ? event : orphan);
      }
      case EventType.SUBAGENT_FINISHED:
      case EventType.SUBAGENT_ERROR:
        if (!subagents.delete(event.subagentRunId)) return onViolation('not open', event);
        return deliver(event);
      case EventType.TEXT_MESSAGE_CHUNK:
      case EventType.TOOL_CALL_CHUNK:
      case EventType.REASONING_MESSAGE_CHUNK:
        return onViolation('chunk events are not sent', event);
      case EventType.RUN_STARTED:
        if (phase !== 'idle') return onViolation('run has already started', event);
        phase = 'running';
        return deliver(event);
      case EventType.RUN_FINISHED:
        closeOpen();
        phase = 'ended';
        return deliver(event);
      case EventType.RUN_ERROR:
        if (phase === 'ended') return onViolation('run has ended', event);
        phase = 'ended';
        return deliver(event);
      default:
        return deliver(event);
    }
  };

  // Ends whatever is still open: tool calls, text, reasoning, steps from the innermost, sub-agents.
  const closeOpen = (): void => {
    for (const toolCallId of toolCalls) deliver({ type: EventType.TOOL_CALL_END, toolCallId });
    for (const messageId of texts) deliver({ type: EventType.TEXT_MESSAGE_END, messageId });
    for (const messageId of reasoningMessages) deliver({ type: EventType.REASONING_MESSAGE_END, messageId });
    for (const messageId of reasoningSpans) deliver({ type: EventType.REASONING_END, messageId });
    for (const { stepName, subagentRunId } of [...steps.values()].reverse()) {
      deliver({ type: EventType.STEP_FINISHED, stepName, ...owner(subagentRunId) });
    }
    for (const subagentRunId of [...subagents].reverse()) {
      deliver({ type: EventType.SUBAGENT_FINISHED, subagentRunId });
    }
    for (const set of [toolCalls, texts, reasoningMessages, reasoningSpans, subagents, steps]) set.clear();
  };

  return {
    emit,
    get streaming() {
      return texts.size + toolCalls.size + reasoningSpans.size > 0;
    },
  };
}

function owner(subagentRunId: string | undefined): { subagentRunId?: string } {
  return subagentRunId === undefined ? {} : { subagentRunId };
}

function stepKey({ stepName, subagentRunId }: { stepName: string; subagentRunId?: string }): string {
  return JSON.stringify([stepName, subagentRunId]);
}
