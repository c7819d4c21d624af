import { openSqlite } from '../sqlite-driver.ts';
import type { Database } from './database.ts';
import { drizzle } from './drizzle.ts';
import { migrateSqlite } from './migrate-sqlite.ts';
import * as tables from './schema.sqlite.ts';

/**
 * Opens the service's SQLite database, made if need be, and brings its tables up to date.
 *
 * @param path absolute path, or `:memory:`.
 * @throws the driver's error when the file cannot be opened or is no database; DatabaseProblem when it is too new.
 */
export async function openSqliteDatabase(path: string): Promise<Database> {
  const client = await openSqlite(path);
  try {
    await migrateSqlite(client, path);
    const db = drizzle({ client });
    return {
      db,
      tables,
      commit: async (writes) => {
        db.transaction(
          (transaction) => {
            for (const write of writes(transaction)) write.run();
          },
          { behavior: 'immediate' },
        );
      },
      size: async () => {
        const pages = (pragma: string): number => Number(client.pragma(pragma, { simple: true }));
        const pageSize = pages('page_size');
        return { bytes: pages('page_count') * pageSize, reusableBytes: pages('freelist_count') * pageSize };
      },
      close: async () => void client.close(),
    };
  } catch (error) {
    client.close();
    throw error;
  }
}
