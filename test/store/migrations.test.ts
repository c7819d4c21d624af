import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { openSqlite } from '../../src/sqlite-driver.ts';
import { drizzle, migrate } from '../../src/store/drizzle.ts';
import { DatabaseProblem } from '../../src/store/migrate-sqlite.ts';
import { openSqliteDatabase } from '../../src/store/sqlite.ts';
import { createThreadStore } from '../../src/store/thread-store.ts';
import { tempFolder } from '../support/app.ts';

const MIGRATIONS = fileURLToPath(new URL('../../drizzle/sqlite', import.meta.url));

/** A database as the first release left it, with a thread in it. */
async function firstRelease(): Promise<string> {
  const root = tempFolder();
  const folder = join(root, 'migrations');
  cpSync(MIGRATIONS, folder, { recursive: true });
  const journalFile = join(folder, 'meta/_journal.json');
  const journal = JSON.parse(readFileSync(journalFile, 'utf8')) as { entries: unknown[] };
  writeFileSync(journalFile, JSON.stringify({ ...journal, entries: journal.entries.slice(0, 1) }));
  const path = join(root, 'service.db');
  const client = await openSqlite(path);
  migrate(drizzle({ client }), { migrationsFolder: folder });
  client.exec("insert into threads values ('t1', '', 's', 'hello', 1, 1)");
  client.close();
  rmSync(folder, { recursive: true });
  return path;
}

test('an older database is copied before it is changed, and nothing in it is lost', async () => {
  const path = await firstRelease();
  const database = await openSqliteDatabase(path);
  const found = await createThreadStore(database).find('t1', '');
  expect(found).toMatchObject({ title: 'hello', head: null, cut: false });
  await database.close();
  const copy = `${path}.before-0001_runs`;
  const client = await openSqlite(copy);
  expect(client.prepare('select id from threads').all()).toEqual([{ id: 't1' }]);
  expect(client.prepare("select name from sqlite_master where name = 'runs'").all()).toEqual([]);
  client.close();
});

test('a database that is up to date, or new, is not copied', async () => {
  const root = tempFolder();
  for (let start = 0; start < 2; start += 1) await (await openSqliteDatabase(join(root, 'service.db'))).close();
  expect(readdirSync(root).filter((name) => name.includes('before'))).toEqual([]);
});

test('a database that a later version has used is refused and left as it is', async () => {
  const path = join(tempFolder(), 'service.db');
  await (await openSqliteDatabase(path)).close();
  const client = await openSqlite(path);
  client.exec("insert into __drizzle_migrations (hash, created_at) values ('later', 9999999999999)");
  client.close();
  await expect(openSqliteDatabase(path)).rejects.toThrow(DatabaseProblem);
  await expect(openSqliteDatabase(path)).rejects.toThrow(/later version/);
  expect(existsSync(path)).toBe(true);
});
