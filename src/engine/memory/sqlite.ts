import { SqliteSaver } from '@langchain/langgraph-checkpoint-sqlite';
import type Database from 'better-sqlite3';
import { z } from 'zod';
import { openSqlite, sqlitePath } from '../../sqlite-driver.ts';
import { defineMemory } from './define.ts';
import { sqliteUpkeep } from './sqlite-upkeep.ts';

/** Most statements kept; the saver has a handful, but one of its queries varies with what is asked. */
const STATEMENTS = 64;

/**
 * Prepares each SQL text once: the saver prepares anew for every checkpoint, which costs more than running it. It only
 * runs statements to their end, and the connection is its alone, so one statement can serve every call.
 */
function keepStatements(db: Database.Database): void {
  const prepare = db.prepare.bind(db) as (sql: string) => Database.Statement;
  const kept = new Map<string, Database.Statement>();
  db.prepare = ((sql: string) => {
    const statement = kept.get(sql) ?? prepare(sql);
    if (kept.size < STATEMENTS) kept.set(sql, statement);
    return statement;
  }) as typeof db.prepare;
}

/** The published saver, whose tables can be made before the first run. */
class ReadySaver extends SqliteSaver {
  constructor(db: Database.Database) {
    super(db);
    this.setup();
  }
}

/** URL of an SQLite file. */
export const SqliteUrl = z.string().startsWith('sqlite:///', 'must start with sqlite:///');

/** Conversations in an SQLite file; they outlive the process. */
export const sqlite = defineMemory({
  config: z.object({ type: z.literal('sqlite'), db_url: SqliteUrl }),
  async open({ db_url }, root) {
    const path = sqlitePath(db_url, root);
    const db = await openSqlite(path);
    try {
      keepStatements(db);
      const checkpointer = new ReadySaver(db);
      return { checkpointer, id: `sqlite:${path}`, upkeep: sqliteUpkeep(db), close: () => void db.close() };
    } catch (error) {
      db.close();
      throw error;
    }
  },
});
