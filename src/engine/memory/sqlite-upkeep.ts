import { setImmediate as nextTurn } from 'node:timers/promises';
import type Database from 'better-sqlite3';
import type { MemoryUpkeep } from './define.ts';
import { type CheckpointName, surplus } from './surplus.ts';

/** How long deleting may hold up everything else at a time, in milliseconds. */
const TURN_MS = 5;

/** Keeps a file of the published SQLite checkpointer within bounds, a few milliseconds at a time. */
export function sqliteUpkeep(db: Database.Database): MemoryUpkeep {
  // Of an index alone: the tables' rows are large.
  const list = db.prepare<[string], CheckpointName>(
    'SELECT checkpoint_ns AS ns, checkpoint_id AS id FROM checkpoints WHERE thread_id = ?',
  );
  const one = 'thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?';
  const deleteWrites = db.prepare(`DELETE FROM writes WHERE ${one}`);
  const deleteCheckpoint = db.prepare(`DELETE FROM checkpoints WHERE ${one}`);
  const deleteOne = db.transaction((threadId: string, { ns, id }: CheckpointName) => {
    deleteWrites.run(threadId, ns, id);
    deleteCheckpoint.run(threadId, ns, id);
  });
  const deleteRest = db.transaction((threadId: string) => {
    db.prepare('DELETE FROM writes WHERE thread_id = ?').run(threadId);
    db.prepare('DELETE FROM checkpoints WHERE thread_id = ?').run(threadId);
  });

  /** Deletes checkpoints one after another, and lets everything else have a turn in between. */
  const deleteAll = async (threadId: string, names: readonly CheckpointName[]): Promise<void> => {
    let until = performance.now() + TURN_MS;
    for (const name of names) {
      deleteOne.immediate(threadId, name);
      if (performance.now() < until) continue;
      await nextTurn();
      until = performance.now() + TURN_MS;
    }
  };

  return {
    async size() {
      const pages = (pragma: string): number => Number(db.pragma(pragma, { simple: true }));
      const counts = db
        .prepare<[], { threads: number; checkpoints: number }>(
          'SELECT count(DISTINCT thread_id) AS threads, count(*) AS checkpoints FROM checkpoints',
        )
        .get() ?? { threads: 0, checkpoints: 0 };
      const pageSize = pages('page_size');
      return { bytes: pages('page_count') * pageSize, reusableBytes: pages('freelist_count') * pageSize, ...counts };
    },
    async deleteThread(threadId) {
      await deleteAll(threadId, list.all(threadId));
      deleteRest.immediate(threadId);
    },
    async prune(threadId, keep, over) {
      const doomed = surplus(list.all(threadId), keep, over);
      await deleteAll(threadId, doomed);
      return doomed.length;
    },
  };
}
