import { SqliteSaver } from '@langchain/langgraph-checkpoint-sqlite';
import { z } from 'zod';
import { openSqlite, sqlitePath } from '../../sqlite-driver.ts';
import { defineMemory } from './define.ts';

/** Conversations in an SQLite file; they outlive the process. */
export const sqlite = defineMemory({
  config: z.object({
    type: z.literal('sqlite'),
    db_url: z.string().startsWith('sqlite:///', 'must start with sqlite:///'),
  }),
  async open({ db_url }, root) {
    const path = sqlitePath(db_url, root);
    const db = await openSqlite(path);
    return { checkpointer: new SqliteSaver(db), id: `sqlite:${path}`, close: () => void db.close() };
  },
});
