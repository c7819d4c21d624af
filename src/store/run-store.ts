import type { Database } from './database.ts';
import { and, desc, eq, inArray, isNotNull, isNull, lt, sql } from './drizzle.ts';
import type { runs as runsTable } from './schema.sqlite.ts';

/** A row of the run table. Times are epoch milliseconds. */
export type RunRow = typeof runsTable.$inferSelect;

/** How a run stands. */
export type RunStatus = RunRow['status'];

/** How a run ended. */
export interface RunEnd {
  id: string;
  threadId: string;
  status: RunStatus;
  errorCode: string | null;
  now: number;
}

/** Remembers which runs there were, across restarts. */
export interface RunStore {
  /** Adds a run. One statement, so the same run cannot be added twice. @returns whether it was new. */
  add(run: Omit<RunRow, 'finishedAt' | 'errorCode'>): Promise<boolean>;
  /** Notes that a run that had to wait has begun. */
  begin(run: Pick<RunRow, 'id' | 'threadId' | 'startedAt' | 'generation'>): Promise<void>;
  /** Notes that a run has ended. */
  end(end: RunEnd): Promise<void>;
  /** Forgets a run that was refused. */
  remove(id: string, threadId: string): Promise<void>;
  /** The user's newest run of that id, on any of the user's threads or on `threadId`. */
  find(id: string, userId: string, threadId: string | undefined): Promise<RunRow | undefined>;
  /** A thread's runs, newest first. The caller checks whose thread it is. */
  list(threadId: string, limit: number): Promise<RunRow[]>;
  /** Ends the runs a stopped server left open, and marks their threads as cut short. @returns how many there were. */
  closeOpen(errorCode: string, now: number): Promise<number>;
  /** Forgets runs that ended before a time. */
  prune(before: number): Promise<void>;
}

/** Makes the run store of a database. */
export function createRunStore({ db, tables: { runs, threads } }: Database): RunStore {
  const { placeholder } = sql;
  const value = (name: string) => sql`${placeholder(name)}`;
  const same = and(eq(runs.id, placeholder('id')), eq(runs.threadId, placeholder('threadId')));
  // Prepared once: they run in every run of the agent.
  const add = db
    .insert(runs)
    .values({
      id: placeholder('id'),
      threadId: placeholder('threadId'),
      userId: placeholder('userId'),
      status: placeholder('status'),
      digest: placeholder('digest'),
      createdAt: placeholder('createdAt'),
      startedAt: placeholder('startedAt'),
      generation: placeholder('generation'),
    })
    .onConflictDoNothing()
    .returning({ id: runs.id })
    .prepare();
  const end = db
    .update(runs)
    .set({ status: value('status'), errorCode: value('errorCode'), finishedAt: value('now') })
    .where(same)
    .prepare();
  return {
    async add(run) {
      const rows = await add.execute(run);
      return rows.length > 0;
    },
    async begin({ id, threadId, startedAt, generation }) {
      await db
        .update(runs)
        .set({ status: 'running', startedAt, generation })
        .where(and(eq(runs.id, id), eq(runs.threadId, threadId)));
    },
    async end(run) {
      await end.execute({ ...run });
    },
    async remove(id, threadId) {
      await db.delete(runs).where(and(eq(runs.id, id), eq(runs.threadId, threadId)));
    },
    async find(id, userId, threadId) {
      const rows = await db
        .select()
        .from(runs)
        .where(
          and(
            eq(runs.id, id),
            eq(runs.userId, userId),
            threadId === undefined ? undefined : eq(runs.threadId, threadId),
          ),
        )
        .orderBy(desc(runs.createdAt))
        .limit(1);
      return rows[0];
    },
    async list(threadId, limit) {
      return await db
        .select()
        .from(runs)
        .where(eq(runs.threadId, threadId))
        .orderBy(desc(runs.createdAt), desc(runs.id))
        .limit(limit);
    },
    async closeOpen(errorCode, now) {
      const open = isNull(runs.finishedAt);
      const begun = db
        .select({ id: runs.threadId })
        .from(runs)
        .where(and(open, isNotNull(runs.startedAt)));
      // The threads first: should the server stop between the two, the runs are still open and it is done again.
      await db.update(threads).set({ cut: true }).where(inArray(threads.id, begun));
      const closed = await db
        .update(runs)
        .set({ status: 'interrupted', errorCode, finishedAt: now })
        .where(open)
        .returning({ id: runs.id });
      return closed.length;
    },
    async prune(before) {
      await db.delete(runs).where(lt(runs.finishedAt, before));
    },
  };
}
