import { existsSync, mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type Database from 'better-sqlite3';

/** Reads the file path out of `sqlite:///relative`, `sqlite:////absolute` or `sqlite:///:memory:`; a relative one counts from `root`. */
export function sqlitePath(url: string, root: string): string {
  const path = url.replace(/^sqlite:\/\/\/?/, '');
  return path === ':memory:' ? path : resolve(root, path);
}

/**
 * Loads the driver. No one version of it runs on every supported Node: 13.x needs Node-API 10 (Node 22.14 and later) and
 * crashes without it, 12.x is built for one Node's headers and crashes on current 24. So both are installed and this
 * picks.
 */
export async function loadSqliteDriver(): Promise<new (path: string, options?: Database.Options) => Database.Database> {
  const hasNodeApi10 = Number(process.versions.napi) >= 10;
  const driver = (await import(hasNodeApi10 ? 'better-sqlite3-13' : 'better-sqlite3')) as {
    default: new (path: string, options?: Database.Options) => Database.Database;
  };
  return driver.default;
}

/**
 * Opens an SQLite file, making its folder if need be.
 *
 * @throws the driver's error when the file cannot be opened.
 */
export async function openSqlite(path: string): Promise<Database.Database> {
  const Driver = await loadSqliteDriver();
  if (path !== ':memory:') makeFolder(dirname(path));
  const db = new Driver(path);
  // WAL lets readers go on beside the writer; with it NORMAL loses nothing at a process crash or kill.
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = NORMAL');
  // The driver waits without letting anything else run, streams included; another program's write is over sooner.
  db.pragma('busy_timeout = 1000');
  db.pragma('foreign_keys = ON');
  return db;
}

/** Makes a folder and those above it. One after another: where none can be made, Node's own way does not return. */
function makeFolder(path: string): void {
  if (existsSync(path)) return;
  makeFolder(dirname(path));
  try {
    mkdirSync(path);
  } catch (error) {
    // Another process may have been quicker.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
