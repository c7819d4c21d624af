import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type Database from 'better-sqlite3';
import { packageRoot } from '../package-info.ts';
import { drizzle, migrate } from './drizzle.ts';

const FOLDER = join(packageRoot, 'drizzle/sqlite');

/** Why a database cannot be used by this version, in words for its operator. */
export class DatabaseProblem extends Error {
  override name = 'DatabaseProblem';
}

/**
 * Brings a database up to date. One that holds something is copied first, to `<path>.before-<migration>`.
 *
 * @throws DatabaseProblem when a later version has used it: what that one has stored might be lost.
 */
export async function migrateSqlite(client: Database.Database, path: string): Promise<void> {
  const known = readMigrations();
  const last = lastApplied(client);
  const newest = known.at(-1)?.when ?? 0;
  if (last > newest) {
    throw new DatabaseProblem(
      'The database was used by a later version of this server. Start that version, or restore the copy it made before it changed the database.',
    );
  }
  const [next] = known.filter(({ when }) => when > last);
  if (next === undefined) return;
  if (last > 0 && path !== ':memory:') await client.backup(`${path}.before-${next.tag}`);
  migrate(drizzle({ client }), { migrationsFolder: FOLDER });
}

function readMigrations(): { when: number; tag: string }[] {
  const journal = JSON.parse(readFileSync(join(FOLDER, 'meta/_journal.json'), 'utf8')) as {
    entries: { when: number; tag: string }[];
  };
  return journal.entries;
}

/** When the newest migration of the database was written, in epoch milliseconds; 0 for a database without any. */
function lastApplied(client: Database.Database): number {
  const table = client.prepare("select 1 from sqlite_master where name = '__drizzle_migrations'").get();
  if (table === undefined) return 0;
  const row = client.prepare('select max(created_at) as last from __drizzle_migrations').get() as {
    last: number | null;
  };
  return Number(row.last ?? 0);
}
