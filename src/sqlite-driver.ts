import { mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type Database from 'better-sqlite3';

/** Reads the file path out of `sqlite:///relative`, `sqlite:////absolute` or `sqlite:///:memory:`; a relative one counts from `root`. */
export function sqlitePath(url: string, root: string): string {
  const path = url.replace(/^sqlite:\/\/\/?/, '');
  return path === ':memory:' ? path : resolve(root, path);
}

/**
 * Opens an SQLite file, making its folder if need be.
 *
 * No one version of the driver runs on every supported Node: 13.x needs Node-API 10 (Node 22.14 and later) and crashes
 * without it, 12.x is built for one Node's headers and crashes on current 24. So both are installed and this picks.
 *
 * @throws the driver's error when the file cannot be opened.
 */
export async function openSqlite(path: string): Promise<Database.Database> {
  const hasNodeApi10 = Number(process.versions.napi) >= 10;
  const driver = (await import(hasNodeApi10 ? 'better-sqlite3-13' : 'better-sqlite3')) as {
    default: new (path: string) => Database.Database;
  };
  if (path !== ':memory:') mkdirSync(dirname(path), { recursive: true });
  const db = new driver.default(path);
  // WAL lets readers go on beside the writer; with it NORMAL loses nothing at a process crash or kill.
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = NORMAL');
  db.pragma('busy_timeout = 5000');
  db.pragma('foreign_keys = ON');
  return db;
}
