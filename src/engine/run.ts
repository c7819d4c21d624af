import { type Agent, type RunContext, RunFailure, type RunOutcome } from './agent.ts';
import { type Emit, type Event, EventType, type RunAgentInput, speaksProtocolOne } from './events.ts';
import { createOrderGuard } from './order.ts';
import type { PromptLibrary } from './prompts/prompts.ts';
import { withRunScope } from './run-scope.ts';

/** How long a run that was told to stop may take to settle before its terminal event is sent without it. */
const ABORT_GRACE_MS = 1_000;

/** How a run ended, for the log, the trace and the run table. */
export interface RunResult {
  status: 'finished' | 'awaiting_input' | 'cancelled' | 'failed';
  /** Set when `status` is `failed` or `cancelled`. */
  failure?: RunFailure;
}

/** Where a run's events go. */
export interface RunOutput {
  /** Sees each event before it is encoded. Must not throw. */
  observe(event: Event): void;
  /** Takes each event together with its JSON text, encoded once for every reader. */
  deliver(event: Event, json: string): void;
  log: RunLog;
}

/** Hears what must not reach the client: broken order, and the exception behind a failed run. */
export interface RunLog {
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
}

/** Who runs the agent, and how to stop it. */
export interface RunCaller extends Omit<RunContext, 'signal'> {
  /** The prompts of the engine the run is on. */
  readonly prompts: Pick<PromptLibrary, 'get' | 'builtIn'>;
  /** Stops the run; abort it with a {@link RunFailure}. One that is aborted already refuses the run. */
  readonly controller: AbortController;
}

/**
 * Runs the agent once and is the only source of RUN_STARTED, RUN_FINISHED and RUN_ERROR: exactly one of the last two
 * ends every run. Never rejects.
 *
 * What the controller is aborted with becomes the RUN_ERROR; `CANCELLED` ends the run with the outcome `cancelled`
 * instead, for clients that know it. From then on nothing of the agent is passed on.
 */
export async function runAgent(
  agent: Pick<Agent, 'run'>,
  input: RunAgentInput,
  { controller, prompts, ...context }: RunCaller,
  out: RunOutput,
): Promise<RunResult> {
  const { threadId, runId } = input;
  const { signal } = controller;
  let over = false;
  const send = (event: Event, json: string): void => {
    over ||= event.type === EventType.RUN_FINISHED || event.type === EventType.RUN_ERROR;
    out.deliver(event, json);
  };
  const guard = createOrderGuard(
    (event) => {
      if (over) return;
      out.observe(event);
      let json: string;
      try {
        json = JSON.stringify(event);
      } catch (error) {
        const failure = new RunFailure('ENCODING_ERROR', 'An event of this run could not be encoded as JSON.', {
          cause: error,
        });
        return controller.abort(failure);
      }
      send(event, json);
    },
    (rule, event) => out.log.warn({ runId, threadId, rule, eventType: event.type }, 'the agent broke the event order'),
  );

  guard.emit({
    type: EventType.RUN_STARTED,
    threadId,
    runId,
    ...(input.protocolVersion !== undefined && { protocolVersion: input.protocolVersion }),
    ...(input.parentRunId !== undefined && { parentRunId: input.parentRunId }),
  });
  try {
    signal.throwIfAborted();
    // Not `signal.aborted`, which costs more than the rest of a token's way to the log.
    let stopped = false;
    const emit: Emit = (event) => {
      if (!stopped) guard.emit(event);
    };
    const promptsUsed = context.trace?.promptsUsed ?? [];
    promptsUsed.push(...prompts.builtIn);
    const scope = { input, userId: context.userId, emit, prompts, promptsUsed };
    const work = withRunScope(scope, () => agent.run(input, { ...context, signal }, emit));
    const outcome = await untilAborted(work, signal, () => {
      stopped = true;
    });
    signal.throwIfAborted();
    guard.emit({ type: EventType.RUN_FINISHED, threadId, runId, ...finish(input, outcome) });
    // It may be the event that cannot be encoded.
    signal.throwIfAborted();
    return { status: outcome.interrupts.length > 0 ? 'awaiting_input' : 'finished' };
  } catch (error) {
    const failure = asFailure(error, signal);
    const cancelled = failure.code === 'CANCELLED';
    if (cancelled && speaksProtocolOne(input)) {
      guard.emit({ type: EventType.RUN_FINISHED, threadId, runId, outcome: { type: 'cancelled' } });
      return { status: 'cancelled', failure };
    }
    if (failure.cause !== undefined) {
      out.log.error({ runId, threadId, code: failure.code, err: failure.cause }, 'a run failed');
    }
    // Past the guard: where RUN_FINISHED itself could not be encoded, the guard takes the run for ended.
    const event: Event = { type: EventType.RUN_ERROR, message: failure.message, code: failure.code };
    out.observe(event);
    send(event, JSON.stringify(event));
    return { status: cancelled ? 'cancelled' : 'failed', failure };
  }
}

function finish(
  input: RunAgentInput,
  outcome: RunOutcome,
): Omit<Extract<Event, { type: EventType.RUN_FINISHED }>, 'type' | 'threadId' | 'runId'> {
  const tail = {
    ...(outcome.result !== undefined && { result: outcome.result }),
    ...(outcome.usage.length > 0 && { usage: outcome.usage }),
  };
  if (outcome.interrupts.length > 0) {
    const forwarded = input.forwardedProps as { structuredInterrupts?: unknown } | null | undefined;
    // Clients before 1.0 stop resuming once they see this outcome; they have had the CUSTOM event.
    const structured = speaksProtocolOne(input) || forwarded?.structuredInterrupts === true;
    return structured ? { ...tail, outcome: { type: 'interrupt', interrupts: outcome.interrupts } } : tail;
  }
  const { pendingToolCallIds } = outcome;
  return {
    ...tail,
    outcome: { type: 'success', ...(pendingToolCallIds.length > 0 && { pendingToolCallIds }) },
  };
}

/** Waits for the run, but after an abort only a moment: an agent that ignores its signal must not hold the stream. */
async function untilAborted<T>(work: Promise<T>, signal: AbortSignal, stop: () => void): Promise<T> {
  let onAbort: (() => void) | undefined;
  let grace: NodeJS.Timeout | undefined;
  const abandoned = new Promise<never>((_, reject) => {
    onAbort = () => {
      stop();
      grace = setTimeout(() => reject(signal.reason), ABORT_GRACE_MS);
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
  work.catch(() => undefined);
  try {
    return await Promise.race([work, abandoned]);
  } finally {
    clearTimeout(grace);
    if (onAbort !== undefined) signal.removeEventListener('abort', onAbort);
  }
}

function asFailure(error: unknown, signal: AbortSignal): RunFailure {
  // Whatever the framework throws after an abort, the abort's own reason is the truth.
  if (signal.aborted && signal.reason instanceof RunFailure) return signal.reason;
  if (error instanceof RunFailure) return error;
  return new RunFailure('FRAMEWORK_ERROR', 'The agent could not complete this run.', { cause: error ?? 'unknown' });
}
