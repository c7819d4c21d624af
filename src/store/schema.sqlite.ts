import { index, integer, sqliteTable, text } from './drizzle.ts';

/** Index of conversation threads. What was said is kept by the agent's checkpointer; this knows whose it is. */
export const threads = sqliteTable(
  'threads',
  {
    id: text('id').primaryKey(),
    /** The user who first ran the thread; empty for an anonymous one. */
    userId: text('user_id').notNull(),
    /** The memory that holds the conversation, as the agent names it. */
    storeId: text('store_id').notNull(),
    /** Beginning of the first user text, at most 120 characters. */
    title: text('title'),
    /** Epoch milliseconds. */
    createdAt: integer('created_at').notNull(),
    updatedAt: integer('updated_at').notNull(),
  },
  (table) => [index('threads_by_user').on(table.userId, table.storeId, table.updatedAt)],
);
