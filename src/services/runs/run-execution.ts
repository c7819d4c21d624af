import { type Agent, RunFailure, type ThreadPosition } from '../../engine/agent.ts';
import type { EngineHolder } from '../../engine/holder.ts';
import { type RunCaller, type RunLog, type RunResult, runAgent } from '../../engine/run.ts';
import type { RunTrace, TracedRun } from '../../engine/tracing/tracer.ts';
import type { RunStore } from '../../store/run-store.ts';
import type { Observers } from '../observers.ts';
import type { LiveRun } from './live-run.ts';
import type { Threads } from './threads.ts';

/** Takes a run through its life, from asking the agent to storing how it ended. */
export interface RunExecution {
  /** Runs the agent. @returns how it ended, once that is stored. Never rejects. */
  run(run: LiveRun): Promise<RunResult>;
  /**
   * Ends a run without asking the agent, for the reason its controller was aborted with.
   *
   * @param known whether it had been let in: one that was is part of its thread's story, one that was not may be sent
   *   again.
   */
  refuse(run: LiveRun, known: boolean): Promise<RunResult>;
}

/** What runs are executed with. */
export interface RunExecutionOptions {
  holder: EngineHolder;
  threads: Threads;
  store: RunStore;
  observers: Observers;
  log: RunLog & { info(details: object, message: string): void };
  /** Longest a run may take; 0 for no limit. */
  timeoutSeconds: number;
}

/** What of an engine a run is made of. */
type Asked = { agent: Pick<Agent, 'run'>; prompts: RunCaller['prompts'] };

/** Stands in for the engine where a run ends before any agent is asked. */
const NOBODY: Asked = {
  agent: { run: () => Promise.reject(new Error('a refused run asks no agent')) },
  prompts: { get: () => undefined, builtIn: [] },
};

/** Makes the execution of runs. */
export function createRunExecution(options: RunExecutionOptions): RunExecution {
  const { holder, threads, store, observers, log, timeoutSeconds } = options;

  const ask = async (run: LiveRun, { agent, prompts }: Asked, trace?: RunTrace): Promise<RunResult> => {
    const { input, position, controller } = run;
    const stop = (): void =>
      controller.abort(new RunFailure('EXECUTION_TIMEOUT', `The run was stopped after ${timeoutSeconds} seconds.`));
    const timer = timeoutSeconds === 0 ? undefined : setTimeout(stop, timeoutSeconds * 1000);
    const result = await runAgent(
      agent,
      input,
      {
        userId: run.userId || null,
        thread: position,
        controller,
        prompts,
        attach: (thread) => run.attach(thread),
        trace,
      },
      {
        observe: (event) => observers.notify(event, input),
        deliver: (event, json) => run.deliver(event, json),
        log,
      },
    );
    clearTimeout(timer);
    trace?.close(result);
    return result;
  };

  /** Catches up on a run that had to wait: what ran before it has moved the thread. */
  const resume = async (run: LiveRun, agent: Agent, generation: number): Promise<void> => {
    const { input, runId, threadId } = run;
    run.position = await threads.claim(input, run.userId || null, agent);
    await store.begin({ id: runId, threadId, startedAt: Date.now(), generation });
  };

  /** Where a run leaves its thread. */
  const positionAfter = async ({ thread, position, undo }: LiveRun, result: RunResult): Promise<ThreadPosition> => {
    // An agent that never came to read the thread has changed nothing.
    if (thread === undefined) return position;
    const stopped = result.status === 'cancelled' || result.status === 'failed';
    return undo && stopped ? { ...position, head: await thread.undo() } : { ...position, cut: stopped };
  };

  const attempt = async ({ runId, threadId }: LiveRun, work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (err) {
      log.error({ err, runId, threadId }, 'the end of a run could not be stored');
    }
  };

  return {
    async run(run) {
      const { runId, threadId, controller } = run;
      const startedAt = performance.now();
      const lease = holder.acquire((reason) => controller.abort(reason));
      const agent = lease?.engine.agent;
      if (agent === undefined) controller.abort(new RunFailure('SHUTTING_DOWN', 'The server is shutting down.'));
      else if (run.waited) {
        await resume(run, agent, lease?.generation ?? 0).catch((cause: unknown) => {
          controller.abort(new RunFailure('FRAMEWORK_ERROR', 'The run could not be started.', { cause }));
        });
      }
      const trace = lease?.engine.tracer?.begin({ ...tracedRun(run), generation: lease.generation });
      const result = await ask(run, lease?.engine ?? NOBODY, trace);
      const { status, failure } = result;
      if (agent !== undefined) {
        await attempt(run, async () => {
          await threads.ended(threadId, agent, await positionAfter(run, result), failure !== undefined);
        });
      }
      await attempt(run, () => store.end(endOf(run, result)));
      lease?.release();
      const ms = Math.round(performance.now() - startedAt);
      log.info({ runId, threadId, generation: lease?.generation, status, code: failure?.code, ms }, 'run ended');
      return result;
    },
    async refuse(run, known) {
      const { runId, threadId } = run;
      const result = await ask(run, NOBODY);
      await attempt(run, () => (known ? store.end(endOf(run, result)) : store.remove(runId, threadId)));
      return result;
    },
  };
}

/** A run as its trace tells of it. */
export function tracedRun({ input, userId, upstream, checks, controller }: LiveRun): Omit<TracedRun, 'generation'> {
  return { input, userId: userId || null, upstream, checks, signal: controller.signal };
}

function endOf({ runId: id, threadId }: LiveRun, { status, failure }: RunResult) {
  return { id, threadId, status, errorCode: failure?.code ?? null, now: Date.now() };
}
