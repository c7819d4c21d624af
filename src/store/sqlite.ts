import { join } from 'node:path';
import { packageRoot } from '../package-info.ts';
import { openSqlite } from '../sqlite-driver.ts';
import type { Database } from './database.ts';
import { drizzle, migrate } from './drizzle.ts';
import * as tables from './schema.sqlite.ts';

/**
 * Opens the service's SQLite database, made if need be, and brings its tables up to date.
 *
 * @param path absolute path, or `:memory:`.
 * @throws the driver's error when the file cannot be opened or is no database.
 */
export async function openSqliteDatabase(path: string): Promise<Database> {
  const client = await openSqlite(path);
  try {
    const db = drizzle({ client });
    migrate(db, { migrationsFolder: join(packageRoot, 'drizzle/sqlite') });
    return { db, tables, close: async () => void client.close() };
  } catch (error) {
    client.close();
    throw error;
  }
}
