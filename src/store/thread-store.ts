import type { Database } from './database.ts';
import { and, desc, eq, isNotNull, sql } from './drizzle.ts';

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
}

/** Remembers which threads there are and whose they are. */
export interface ThreadStore {
  /**
   * Notes that `userId` runs the thread; the first to do so owns it from then on. One statement, so two users who
   * meet on a new thread cannot both get it.
   *
   * @returns whether the thread is the user's.
   */
  claim(thread: { id: string; userId: string; storeId: string; title: string | null; now: number }): Promise<boolean>;
  /** Moves the thread's last update to `now` (epoch milliseconds); `untitle` takes it out of the list. */
  touch(id: string, now: number, untitle: boolean): Promise<void>;
  /** The thread if it is the user's. */
  find(id: string, userId: string): Promise<ThreadRow | undefined>;
  /** The user's threads that `storeId` holds and that have a user message, newest first. */
  list(userId: string, storeId: string, limit: number): Promise<ThreadRow[]>;
}

/** Makes the thread store of a database. */
export function createThreadStore({ db, tables: { threads } }: Database): ThreadStore {
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
    .returning({ id: threads.id })
    .prepare();
  const touch = db
    .update(threads)
    .set({ updatedAt: sql`${placeholder('now')}` })
    .where(eq(threads.id, placeholder('id')))
    .prepare();
  return {
    async claim(thread) {
      const rows = await claim.execute(thread);
      return rows.length > 0;
    },
    async touch(id, now, untitle) {
      await touch.execute({ id, now });
      if (untitle) await db.update(threads).set({ title: null }).where(eq(threads.id, id));
    },
    async find(id, userId) {
      const rows = await db
        .select()
        .from(threads)
        .where(and(eq(threads.id, id), eq(threads.userId, userId)));
      return rows[0];
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
