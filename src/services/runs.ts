import { RunFailure } from '../engine/agent.ts';
import type { Event, RunAgentInput } from '../engine/events.ts';
import type { EngineHolder } from '../engine/holder.ts';
import { type RunLog, type RunResult, runAgent } from '../engine/run.ts';
import { problem } from '../problems.ts';
import type { Observers } from './observers.ts';
import type { Threads } from './threads.ts';

/** Takes a run's events as they happen. Must not throw. */
export type RunReader = (event: Event, json: string) => void;

/** A run under way. It belongs to the server: a reader that leaves does not stop it. */
export interface Run {
  /** How the run ended. Never rejects. */
  readonly done: Promise<RunResult>;
  /** Stops telling the reader; the run goes on. */
  detach(): void;
}

/** Starts runs and knows which are under way. */
export interface Runs {
  /**
   * Starts a run and shows it to `reader` from its first event.
   *
   * @throws Problem `agent_not_ready` without an agent, `not_found` when the thread is another user's.
   */
  start(input: RunAgentInput, userId: string | null, reader: RunReader): Promise<Run>;
}

/**
 * Makes the run service.
 *
 * @param options.timeoutMs longest a run may take; 0 for no limit.
 * @param options.notReady why there is no agent, to be shown to the caller.
 */
export function createRuns(options: {
  holder: EngineHolder;
  threads: Threads;
  observers: Observers;
  log: RunLog & { info(details: object, message: string): void };
  timeoutMs: number;
  notReady: () => string;
}): Runs {
  const { holder, threads, observers, log } = options;
  // A thread's checkpoints are a chain; two runs that append to it at once would tear it.
  const busy = new Set<string>();

  return {
    async start(input, userId, reader) {
      const { threadId, runId } = input;
      const controller = new AbortController();
      const lease = holder.acquire((reason) => controller.abort(reason));
      if (lease === undefined) throw problem('agent_not_ready', { message: options.notReady() });
      const { agent } = lease.engine;
      try {
        await threads.claim(input, userId, agent);
      } catch (error) {
        lease.release();
        throw error;
      }
      const refused = busy.has(threadId);
      if (refused) {
        controller.abort(new RunFailure('THREAD_BUSY', 'Another run is under way on this thread; wait for it to end.'));
      } else busy.add(threadId);
      const timer =
        options.timeoutMs === 0 || refused
          ? undefined
          : setTimeout(() => {
              const seconds = options.timeoutMs / 1000;
              controller.abort(new RunFailure('EXECUTION_TIMEOUT', `The run was stopped after ${seconds} seconds.`));
            }, options.timeoutMs);
      let attached = true;
      const startedAt = performance.now();

      const done = runAgent(
        agent,
        input,
        { userId, controller },
        {
          observe: (event) => observers.notify(event, input),
          deliver: (event, json) => {
            if (attached) reader(event, json);
          },
          log,
        },
      ).then(async (result) => {
        clearTimeout(timer);
        if (!refused) {
          await threads
            .ended(threadId, agent, result.status === 'failed')
            .catch((err: unknown) => log.error({ err, threadId }, 'the thread index failed'));
          busy.delete(threadId);
        }
        lease.release();
        const { status, failure } = result;
        const ms = Math.round(performance.now() - startedAt);
        log.info({ runId, threadId, generation: lease.generation, status, code: failure?.code, ms }, 'run ended');
        return result;
      });
      return {
        done,
        detach() {
          attached = false;
        },
      };
    },
  };
}
