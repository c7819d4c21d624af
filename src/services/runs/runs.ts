import { RunFailure } from '../../engine/agent.ts';
import type { RunAgentInput } from '../../engine/events.ts';
import type { GuardrailCheck } from '../../engine/guardrails/index.ts';
import type { Upstream } from '../../engine/tracing/trace-context.ts';
import type { Env } from '../../env.ts';
import { problem } from '../../problems.ts';
import { createAdmission } from './admission.ts';
import { LiveRun, type Reading, type RunReader } from './live-run.ts';
import type { Recall } from './recall.ts';
import { digestOf } from './run-digest.ts';
import { createRunExecution, type RunExecutionOptions, tracedRun } from './run-execution.ts';
import { createShelf } from './shelf.ts';
import type { ThreadHolds } from './thread-holds.ts';
import { answerTheSame, policyOf } from './thread-policy.ts';
import { ownerKey } from './threads.ts';
import { userTexts } from './user-texts.ts';

/** Starts runs, knows those in memory, and stops them. A run belongs to the server: a reader that leaves does not end it. */
export interface Runs {
  /**
   * Starts a run and shows it to `reader` from its first event. A run of the same thread and id is not run twice: the
   * reader is shown the one there is.
   *
   * @param upstream the caller's own trace, of which the run becomes a part.
   * @throws Problem `agent_not_ready`, `too_many_runs`, `guardrail_rejected`, `validation_failed` for an unknown policy, `run_id_taken` when
   *   that one was asked something else, and `not_found` when the thread is another user's.
   */
  start(input: RunAgentInput, userId: string | null, reader: RunReader, upstream?: Upstream): Promise<Reading>;
  /** The run in memory, if it is. The caller checks whose it is. */
  live(threadId: string, runId: string): LiveRun | undefined;
  /** The run that has the thread. */
  active(threadId: string): LiveRun | undefined;
  /** Shows `read` a run in memory. The run may be cancelled when the reader's connection is lost. */
  watch(run: LiveRun, read: () => Reading): Reading;
  /** Forgets the finished runs of a thread that are still in memory. */
  forget(threadId: string): void;
  /** Stops a run. @returns once it has ended. */
  cancel(run: LiveRun): Promise<void>;
  /** Refuses the runs that wait, and lets no more in. Those under way go on; `ended` resolves when all are over. */
  close(): { ended: Promise<void> };
}

/** What the run service works with. */
export interface RunsOptions extends Omit<RunExecutionOptions, 'timeoutSeconds'> {
  env: Env;
  /** Why there is no agent, to be shown to the caller. */
  notReady: () => string;
  /** Shows a run that is no longer in memory. */
  recall: Recall;
  holds: ThreadHolds;
  /** Hears of each run that the agent was asked for, once its end is stored. */
  ran: (threadId: string) => void;
}

/** Makes the run service. */
export function createRuns(options: RunsOptions): Runs {
  const { env, holder, threads, store, recall, holds } = options;
  const execution = createRunExecution({ ...options, timeoutSeconds: env.SERVICE_RUN_TIMEOUT_SECONDS });
  const runs = new Map<string, LiveRun>();
  const open = new Set<LiveRun>();
  const forget = (run: LiveRun): void => {
    const key = keyOf(run.threadId, run.runId);
    // A thread that was deleted may have had a run of that id before.
    if (runs.get(key) === run) runs.delete(key);
  };
  const shelf = createShelf<LiveRun>({
    maxBytes: env.SERVICE_RUN_LOGS_TOTAL_BYTES,
    keepMs: env.SERVICE_RUN_RETENTION_SECONDS * 1000,
    drop: forget,
  });
  const admission = createAdmission<LiveRun>({
    maxRunning: env.SERVICE_MAX_CONCURRENT_RUNS,
    maxQueued: env.SERVICE_MAX_QUEUED_RUNS,
    maxWaiting: env.SERVICE_THREAD_QUEUE_MAX,
    begin: (run) => void execute(run),
  });
  let closing = false;
  const gone = (run: LiveRun): void => {
    if (open.delete(run)) holds.leave(run.threadId);
  };

  const execute = async (run: LiveRun): Promise<void> => {
    run.begun = true;
    const startedAt = performance.now();
    const result = await execution.run(run);
    gone(run);
    options.ran(run.threadId);
    run.settle(result);
    admission.leave(run, run.threadId, performance.now() - startedAt);
    shelf.add(run, run.bytes);
  };

  const refuse = async (run: LiveRun, known: boolean): Promise<void> => {
    run.begun = true;
    const result = await execution.refuse(run, known);
    gone(run);
    run.settle(result);
    if (known) shelf.add(run, run.bytes);
    else forget(run);
  };

  const stop = (run: LiveRun, failure: RunFailure): void => {
    if (run.over || run.controller.signal.aborted) return;
    run.controller.abort(failure);
    // One that is still being prepared is refused when it would enter.
    if (run.begun || !run.entered) return;
    admission.leave(run, run.threadId);
    void refuse(run, true);
  };

  /** Finds the run its place. Nothing here waits, so of several that come at once each meets what the one before left. */
  const enter = (run: LiveRun, policy: Env['SERVICE_THREAD_POLICY']): void => {
    const { threadId } = run;
    const { signal } = run.controller;
    run.entered = true;
    const turnAway = (failure: RunFailure, known = false): void => {
      admission.release();
      run.controller.abort(failure);
      void refuse(run, known);
    };
    if (closing && !signal.aborted) run.controller.abort(shuttingDown());
    if (signal.aborted) return turnAway(signal.reason as RunFailure, true);
    const active = admission.active(threadId);
    const takesOver = policy === 'interrupt' || policy === 'rollback';
    if (active !== undefined && takesOver) {
      // An answer that is being acted on stays so: the same one again must not act again.
      if (answerTheSame(run.input, active.input)) {
        return turnAway(
          new RunFailure('INTERRUPT_UNKNOWN', 'Another run is acting on an answer to this interrupt already.'),
        );
      }
      active.undo ||= policy === 'rollback';
      // Those that came the same way and have not begun give way too.
      for (const other of admission.waiting(threadId).filter(({ takeover }) => takeover)) stop(other, cancelled());
      run.takeover = true;
    }
    const place = takesOver ? 'first' : policy === 'enqueue' ? 'last' : 'reject';
    const entered = admission.enter(run, threadId, place);
    if (entered === 'waiting') run.waited = true;
    if (entered === 'busy') {
      const advice = policy === 'enqueue' ? 'Too many runs wait on this thread already.' : 'Wait for it to end.';
      return turnAway(new RunFailure('THREAD_BUSY', `Another run is under way on this thread. ${advice}`));
    }
    if (active !== undefined && takesOver) stop(active, cancelled());
  };

  const watch: Runs['watch'] = (run, read) => {
    const { done, detach } = read();
    return {
      done,
      detach(lost) {
        detach(lost);
        if (lost && run.readers === 0 && env.SERVICE_ON_DISCONNECT === 'cancel') stop(run, cancelled());
      },
    };
  };

  return {
    watch,
    live: (threadId, runId) => runs.get(keyOf(threadId, runId)),
    active: (threadId) => admission.active(threadId),
    async start(input, userId, reader, upstream) {
      const owner = ownerKey(userId);
      const key = keyOf(input.threadId, input.runId);
      const known = runs.get(key);
      if (known !== undefined) {
        if (known.userId !== owner) throw problem('not_found');
        if (known.digest !== digestOf(input)) throw problem('run_id_taken');
        const row = await known.admitted.promise;
        if (row !== undefined) return recall.run(row, reader);
        return watch(known, () => known.follow(reader));
      }
      const policy = policyOf(input) ?? env.SERVICE_THREAD_POLICY;
      if (closing) throw problem('shutting_down');
      const { current } = holder;
      if (current === undefined) throw problem('agent_not_ready', { message: options.notReady() });
      if (!admission.reserve()) throw problem('too_many_runs', { retryAfter: admission.retryAfter });
      const run = new LiveRun(input, owner, env.SERVICE_RUN_LOG_MAX_BYTES, upstream);
      runs.set(key, run);
      open.add(run);
      holds.enter(run.threadId);
      const giveUp = (): void => {
        forget(run);
        admission.release();
        gone(run);
        run.settle({ status: 'failed' });
      };
      let free = false;
      try {
        const { inputGuardrails, tracer } = current.engine;
        const note = tracer && ((check: GuardrailCheck): void => void run.checks.push(check));
        const rejected = await inputGuardrails?.reject(userTexts(input), note);
        if (rejected !== undefined) {
          tracer?.refused({ ...tracedRun(run), generation: current.generation });
          throw problem('guardrail_rejected', { message: rejected });
        }
        await holds.free(run.threadId);
        run.position = await threads.claim(input, userId, current.engine.agent);
        const now = Date.now();
        free = admission.isFree(run.threadId);
        const added = await store.add({
          id: run.runId,
          threadId: run.threadId,
          userId: owner,
          digest: run.digest,
          status: free ? 'running' : 'queued',
          createdAt: now,
          startedAt: free ? now : null,
          generation: free ? current.generation : null,
        });
        if (!added) {
          const row = await store.find(run.runId, owner, run.threadId);
          if (row === undefined) throw problem('not_found');
          if (row.digest !== run.digest) throw problem('run_id_taken');
          giveUp();
          run.admitted.resolve(row);
          return recall.run(row, reader);
        }
      } catch (error) {
        giveUp();
        run.admitted.reject(error);
        throw error;
      }
      run.waited = !free;
      const reading = watch(run, () => run.follow(reader));
      enter(run, policy);
      run.admitted.resolve(undefined);
      return reading;
    },
    forget(threadId) {
      for (const run of runs.values()) if (run.threadId === threadId && run.over) forget(run);
    },
    async cancel(run) {
      stop(run, cancelled());
      await run.ended;
    },
    close() {
      closing = true;
      for (const run of open) if (!run.begun) stop(run, shuttingDown());
      const ended = Promise.all([...open].map((run) => run.ended)).then(() => shelf.clear());
      return { ended };
    },
  };
}

function keyOf(threadId: string, runId: string): string {
  return JSON.stringify([threadId, runId]);
}

function shuttingDown(): RunFailure {
  return new RunFailure('SHUTTING_DOWN', 'The server is shutting down.');
}

function cancelled(): RunFailure {
  return new RunFailure('CANCELLED', 'The run was cancelled.');
}
