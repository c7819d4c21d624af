import { setTimeout as pause } from 'node:timers/promises';
import type { AgentHistory } from '../engine/agent.ts';
import { forgets } from '../engine/memory/in-process.ts';
import { Problem } from '../problems.ts';
import type { ThreadRow, ThreadStore } from '../store/thread-store.ts';
import type { ThreadHolds } from './runs/thread-holds.ts';
import type { WithEngine } from './with-engine.ts';

const DAY_MS = 86_400_000;
/** When the first round over all threads begins after the start, and how long until the next. */
const FIRST_ROUND_MS = 1_000;
const ROUND_MS = DAY_MS;
/** When one that failed is begun anew: the agent may not be ready yet, or its memory away. */
const RETRY_MS = 5_000;
/** How long after a run its thread is looked at. */
const AFTER_RUN_MS = 500;
/** Threads that are looked at in one piece of work, and the pause between two of a round. */
const THREADS_AT_ONCE = 20;
const BETWEEN_MS = 100;
/** Most threads that wait to be looked at, or whose runs are counted; the daily round finds the rest. */
const MOST_WAITING = 10_000;

/** What one round over all threads, or what was done since, has deleted. */
export interface Pruned {
  /** Epoch milliseconds at which something was done last. */
  at: number;
  checkpoints: number;
  threads: number;
}

/** Keeps conversations from growing without end, in the background and in small pieces. */
export interface Retention {
  /** What the last round over all threads has deleted; undefined before the end of the first. */
  readonly round: Pruned | undefined;
  /** What has been deleted after runs since the server started. */
  readonly afterRuns: Pruned | undefined;
  /** Notes that a run of the thread has ended. */
  ran(threadId: string): void;
  /** Stops; resolves when the piece of work under way is done. */
  close(): Promise<void>;
}

/** What the retention works with. */
export interface RetentionOptions {
  withEngine: WithEngine;
  threads: ThreadStore;
  holds: ThreadHolds;
  /** Checkpoints that remain of each thread; 0 for all. */
  keep: number;
  /** Days after which an idle thread goes; 0 for never. */
  ttlDays: number;
  log: { warn(details: object, message: string): void; info(details: object, message: string): void };
}

/** Starts the retention of one server. */
export function createRetention(options: RetentionOptions): Retention {
  const { withEngine, threads, holds, keep, ttlDays, log } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  // A thread is looked at once it may have outgrown its bound by a twentieth.
  const runsBetween = Math.max(1, Math.floor(keep / 20));
  const counts = new Map<string, number>();
  const waiting = new Set<string>();
  const work = new Set<Promise<void>>();
  let recent: NodeJS.Timeout | undefined;
  let rounds: NodeJS.Timeout | undefined;
  let round: Pruned | undefined;
  let afterRuns: Pruned | undefined;

  /** Deletes old checkpoints of a thread nothing is going on with. @returns how many. */
  const prune = async (row: ThreadRow, { storeId, upkeep }: AgentHistory): Promise<number> => {
    if (keep === 0 || upkeep === undefined || row.storeId !== storeId) return 0;
    let all = 0;
    for (;;) {
      // Given back in between, so that a run need not wait for all of it.
      const release = holds.hold(row.id);
      if (release === undefined) return all;
      try {
        const now = await threads.get(row.id);
        const deleted = now === undefined ? 0 : await upkeep.prune(row.id, now, keep);
        all += deleted;
        if (deleted === 0 || signal.aborted) return all;
      } finally {
        release();
      }
    }
  };

  /** Deletes a thread that has been idle for too long. @returns whether it is gone. */
  const expire = async ({ id }: ThreadRow, history: AgentHistory | undefined): Promise<boolean> => {
    const release = holds.hold(id);
    if (release === undefined) return false;
    try {
      const row = await threads.get(id);
      if (row === undefined || !isExpired(row)) return false;
      if (history !== undefined && row.storeId === history.storeId) {
        // A question that waits for its answer may wait for long.
        if ((await history.show(id, row, () => undefined)).length > 0) return false;
        await history.forget(id);
      } else if (!forgets(row.storeId)) {
        // Its conversation lies in a memory that is not in use, and must not become somebody else's.
        return false;
      }
      await threads.remove(id);
      return true;
    } finally {
      release();
    }
  };
  const isExpired = ({ updatedAt }: ThreadRow): boolean => ttlDays > 0 && updatedAt < Date.now() - ttlDays * DAY_MS;

  /** Looks at some threads and notes what was done. */
  const tidy = (rows: readonly ThreadRow[], note: Pruned): Promise<void> =>
    withEngine(async ({ agent: { history } }) => {
      for (const row of rows) {
        if (signal.aborted) return;
        if (isExpired(row)) note.threads += (await expire(row, history)) ? 1 : 0;
        else if (history !== undefined) note.checkpoints += await prune(row, history);
      }
      note.at = Date.now();
    });

  const goRound = async (): Promise<void> => {
    const note: Pruned = { at: Date.now(), checkpoints: 0, threads: 0 };
    let after = '';
    for (;;) {
      const rows = await threads.page(after, THREADS_AT_ONCE);
      const last = rows.at(-1);
      if (last === undefined) break;
      await tidy(rows, note);
      after = last.id;
      await pause(BETWEEN_MS, undefined, { signal, ref: false });
    }
    round = note;
    if (note.checkpoints + note.threads > 0) log.info({ ...note }, 'old parts of conversations were deleted');
  };

  const lookAtRecent = async (): Promise<void> => {
    const ids = [...waiting].slice(0, THREADS_AT_ONCE);
    for (const id of ids) waiting.delete(id);
    const rows = (await Promise.all(ids.map((id) => threads.get(id)))).filter((row) => row !== undefined);
    afterRuns ??= { at: Date.now(), checkpoints: 0, threads: 0 };
    await tidy(rows, afterRuns);
  };

  /** Does a piece of work later, and `then` what follows from how it went. */
  const later = (delayMs: number, piece: () => Promise<void>, then: (failed: boolean) => void): NodeJS.Timeout => {
    const run = async (): Promise<void> => {
      let failed = false;
      try {
        await piece();
      } catch (err) {
        failed = true;
        const notReady = err instanceof Problem && err.code === 'agent_not_ready';
        if (!signal.aborted && !notReady) log.warn({ err }, 'old parts of conversations could not be deleted yet');
      }
      if (!signal.aborted) then(failed);
    };
    const timer = setTimeout(() => {
      const running = run().finally(() => work.delete(running));
      work.add(running);
    }, delayMs);
    timer.unref();
    return timer;
  };

  const watchRecent = (): void => {
    if (recent !== undefined || waiting.size === 0) return;
    recent = later(AFTER_RUN_MS, lookAtRecent, () => {
      recent = undefined;
      watchRecent();
    });
  };

  const schedule = (delayMs: number): void => {
    rounds = later(delayMs, goRound, (failed) => schedule(failed ? RETRY_MS : ROUND_MS));
  };
  if (keep > 0 || ttlDays > 0) schedule(FIRST_ROUND_MS);

  return {
    get round() {
      return round;
    },
    get afterRuns() {
      return afterRuns;
    },
    ran(threadId) {
      if (keep === 0 || signal.aborted) return;
      const runs = (counts.get(threadId) ?? 0) + 1;
      counts.delete(threadId);
      if (runs < runsBetween) {
        counts.set(threadId, runs);
        const [oldest] = counts.keys();
        if (counts.size > MOST_WAITING && oldest !== undefined) counts.delete(oldest);
        return;
      }
      if (waiting.size < MOST_WAITING) waiting.add(threadId);
      watchRecent();
    },
    async close() {
      stopping.abort();
      clearTimeout(recent);
      clearTimeout(rounds);
      await Promise.all(work);
    },
  };
}
