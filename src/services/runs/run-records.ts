import { z } from 'zod';
import { problem } from '../../problems.ts';
import type { RunRow, RunStore } from '../../store/run-store.ts';
import type { ThreadStore } from '../../store/thread-store.ts';
import type { Reading, RunReader } from './live-run.ts';
import type { Recall } from './recall.ts';
import type { Runs } from './runs.ts';
import { ownerKey } from './threads.ts';

const RUN_STATUS = ['queued', 'running', 'finished', 'awaiting_input', 'cancelled', 'failed', 'interrupted'] as const;

/** A run as its owner sees it. */
export const RunRecord = z
  .object({
    runId: z.string(),
    threadId: z.string(),
    status: z
      .enum(RUN_STATUS satisfies readonly RunRow['status'][])
      .describe('`awaiting_input`: ended with a question. `interrupted`: lost when the server stopped.'),
    createdAt: z.iso.datetime(),
    startedAt: z.iso.datetime().nullable(),
    finishedAt: z.iso.datetime().nullable(),
    errorCode: z.string().nullable().describe('Code of the RUN_ERROR it ended with.'),
    generation: z.int().nullable().describe('Which agent ran it: counts up with each reload since the server started.'),
  })
  .meta({
    id: 'RunRecord',
    examples: [
      {
        runId: 'run-1',
        threadId: 'th-1',
        status: 'finished',
        createdAt: '2026-01-01T00:00:00.000Z',
        startedAt: '2026-01-01T00:00:00.000Z',
        finishedAt: '2026-01-01T00:00:01.500Z',
        errorCode: null,
        generation: 1,
      },
    ],
  });
export type RunRecord = z.infer<typeof RunRecord>;

/** Names a run. Run ids are unique within a thread only, so one may be named with it; without, the newest is meant. */
export interface RunName {
  runId: string;
  threadId: string | undefined;
}

/** Runs and threads as their owner may see, follow and stop them. Whatever is not the caller's does not exist: `not_found`. */
export interface RunRecords {
  get(name: RunName, userId: string | null): Promise<RunRecord>;
  list(threadId: string, limit: number, userId: string | null): Promise<RunRecord[]>;
  /** Shows `reader` the events of a run after number `after`, then what happens. */
  follow(name: RunName, after: number, userId: string | null, reader: RunReader): Promise<Reading>;
  /** Shows `reader` how a thread stands, then what its running run does. */
  connect(threadId: string, userId: string | null, reader: RunReader): Promise<Reading>;
  /** Stops a run. @returns how it ended. */
  cancel(name: RunName, userId: string | null): Promise<RunRecord>;
}

/** Makes the owner's view of runs. */
export function createRunRecords(options: {
  runs: Runs;
  store: RunStore;
  threads: ThreadStore;
  recall: Recall;
}): RunRecords {
  const { runs, store, threads, recall } = options;
  const find = async ({ runId, threadId }: RunName, userId: string | null): Promise<RunRow> => {
    const row = await store.find(runId, ownerKey(userId), threadId);
    if (row === undefined) throw problem('not_found');
    return row;
  };
  const ownThread = async (threadId: string, userId: string | null) => {
    const thread = await threads.find(threadId, ownerKey(userId));
    if (thread === undefined) throw problem('not_found');
    return thread;
  };
  return {
    async get(name, userId) {
      return toRecord(await find(name, userId));
    },
    async list(threadId, limit, userId) {
      await ownThread(threadId, userId);
      return (await store.list(threadId, limit)).map(toRecord);
    },
    async follow(name, after, userId, reader) {
      const row = await find(name, userId);
      const live = runs.live(row.threadId, row.id);
      return live === undefined ? recall.run(row, reader) : runs.watch(live, () => live.follow(reader, after));
    },
    async connect(threadId, userId, reader) {
      const thread = await ownThread(threadId, userId);
      const [last] = await store.list(threadId, 1);
      const active = runs.active(threadId);
      if (active !== undefined) return runs.watch(active, () => active.join(reader));
      return recall.thread(thread, last?.id, reader);
    },
    async cancel(name, userId) {
      const row = await find(name, userId);
      const live = runs.live(row.threadId, row.id);
      if (live === undefined || live.over) return toRecord(row);
      await runs.cancel(live);
      return toRecord(await find(name, userId));
    },
  };
}

function toRecord(row: RunRow): RunRecord {
  const time = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());
  const { id: runId, threadId, status, errorCode, generation } = row;
  return {
    runId,
    threadId,
    status,
    createdAt: new Date(row.createdAt).toISOString(),
    startedAt: time(row.startedAt),
    finishedAt: time(row.finishedAt),
    errorCode,
    generation,
  };
}
