import type { Database } from './database.ts';
import { and, desc, eq, gt, isNotNull, sql } from './drizzle.ts';

/** A row of the thread index. */
export interface ThreadRow {
  id: string;
  /** Empty for an anonymous owner. */
  userId: string;
  storeId: string;
  title: string | null;
  /** Epoch milliseconds. */
  createdAt: number;
  updatedAt: number;
  /** Opaque to all but the agent; null when its memory goes on at the end. */
  head: string | null;
  /** Whether the last run was cut short. */
  cut: boolean;
}

/** What a run leaves of its thread. */
export interface ThreadEnd {
  id: string;
  /** Epoch milliseconds. */
  now: number;
  head: string | null;
  cut: boolean;
}

/** Remembers which threads there are and whose they are. */
export interface ThreadStore {
  /**
   * Notes that `userId` runs the thread; the first to do so owns it from then on. One statement, so two users who
   * meet on a new thread cannot both get it.
   *
   * @returns where the thread stands if it is the user's.
   */
  claim(thread: {
    id: string;
    userId: string;
    storeId: string;
    title: string | null;
    now: number;
  }): Promise<Pick<ThreadRow, 'head' | 'cut'> | undefined>;
  /** Notes how a run has left its thread. */
  end(end: ThreadEnd): Promise<void>;
  /** Takes a thread out of the list. */
  untitle(id: string): Promise<void>;
  /** The thread if it is the user's. */
  find(id: string, userId: string): Promise<ThreadRow | undefined>;
  /** The thread, whosever it is. */
  get(id: string): Promise<ThreadRow | undefined>;
  /** Threads of every user in the order of their ids, from the one after `after` on. */
  page(after: string, limit: number): Promise<ThreadRow[]>;
  /** Forgets a thread and its runs. */
  remove(id: string): Promise<void>;
  /** The user's threads that `storeId` holds and that have a user message, newest first. */
  list(userId: string, storeId: string, limit: number): Promise<ThreadRow[]>;
}

/** Makes the thread store of a database. */
export function createThreadStore({ db, tables: { threads, runs }, commit }: Database): ThreadStore {
  const { placeholder } = sql;
  // Prepared once: these run twice in every run of the agent, and building their SQL costs more than running it.
  const claim = db
    .insert(threads)
    .values({
      id: placeholder('id'),
      userId: placeholder('userId'),
      storeId: placeholder('storeId'),
      title: placeholder('title'),
      createdAt: placeholder('now'),
      updatedAt: placeholder('now'),
    })
    .onConflictDoUpdate({
      target: threads.id,
      set: {
        storeId: sql`excluded.store_id`,
        updatedAt: sql`excluded.updated_at`,
        title: sql`coalesce(${threads.title}, excluded.title)`,
      },
      setWhere: eq(threads.userId, sql`excluded.user_id`),
    })
    .returning({ head: threads.head, cut: threads.cut })
    .prepare();
  const end = db
    .update(threads)
    .set({
      updatedAt: sql`${placeholder('now')}`,
      head: sql`${placeholder('head')}`,
      cut: sql`${sql.param(placeholder('cut'), threads.cut)}`,
    })
    .where(eq(threads.id, placeholder('id')))
    .prepare();
  return {
    async claim(thread) {
      const rows = await claim.execute(thread);
      return rows[0];
    },
    async end(thread) {
      await end.execute({ ...thread });
    },
    async untitle(id) {
      await db.update(threads).set({ title: null }).where(eq(threads.id, id));
    },
    async find(id, userId) {
      const rows = await db
        .select()
        .from(threads)
        .where(and(eq(threads.id, id), eq(threads.userId, userId)));
      return rows[0];
    },
    async get(id) {
      const rows = await db.select().from(threads).where(eq(threads.id, id));
      return rows[0];
    },
    async page(after, limit) {
      return await db.select().from(threads).where(gt(threads.id, after)).orderBy(threads.id).limit(limit);
    },
    async remove(id) {
      await commit((writes) => [
        writes.delete(runs).where(eq(runs.threadId, id)),
        writes.delete(threads).where(eq(threads.id, id)),
      ]);
    },
    async list(userId, storeId, limit) {
      return await db
        .select()
        .from(threads)
        .where(and(eq(threads.userId, userId), eq(threads.storeId, storeId), isNotNull(threads.title)))
        .orderBy(desc(threads.updatedAt), desc(threads.id))
        .limit(limit);
    },
  };
}
