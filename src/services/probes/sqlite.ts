import { constants } from 'node:fs';
import { access, open, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { ConnectionFailure } from '../../outbound/failure.ts';
import { loadSqliteDriver, sqlitePath } from '../../sqlite-driver.ts';

type Driver = Awaited<ReturnType<typeof loadSqliteDriver>>;

/** Attempts on a database that another process has locked, and what lies between them. */
const ATTEMPTS = 20;
const BETWEEN_MS = 100;

/**
 * Queries an SQLite database, or sees whether it could be made. Makes and leaves nothing.
 *
 * @throws ConnectionFailure when it could not be used.
 */
export async function checkSqlite(url: string, root: string, signal: AbortSignal): Promise<void> {
  const path = sqlitePath(url, root);
  if (path === ':memory:') return;
  const found = await stat(path).catch(missing);
  if (found === undefined) return await checkFolder(dirname(path));
  // Opening a pipe or a device would block the process.
  if (!found.isFile()) throw new ConnectionFailure('The database is not a file');
  await access(path, constants.R_OK | constants.W_OK).catch(() => {
    throw new ConnectionFailure('The database file may not be read and written');
  });
  const readonly = !(await isWalAtRest(path));
  const driver = await loadSqliteDriver();
  for (let attempt = 1; ; attempt += 1) {
    try {
      return query(driver, path, readonly);
    } catch (error) {
      const code = String((error as { code?: unknown }).code);
      if (!code.startsWith('SQLITE_BUSY')) throw new ConnectionFailure(tellCode(code));
      if (attempt === ATTEMPTS) throw new ConnectionFailure('The database is locked by another process');
      // The driver would wait too, but block the process.
      await pause(BETWEEN_MS, undefined, { signal });
    }
  }
}

function query(driver: Driver, path: string, readonly: boolean): void {
  const db = new driver(path, { readonly, fileMustExist: true, timeout: 0 });
  try {
    db.prepare('SELECT 1 FROM sqlite_master LIMIT 1').get();
  } finally {
    db.close();
  }
}

/**
 * Whether a database in WAL mode is open nowhere. A reader would then leave two files beside it, which only a
 * connection that may write takes away when it closes.
 */
async function isWalAtRest(path: string): Promise<boolean> {
  if ((await stat(`${path}-wal`).catch(missing)) !== undefined) return false;
  const file = await open(path, 'r');
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(20), 0, 20, 0);
    // Byte 18 of the header is the version a writer must speak: 2 is WAL.
    return bytesRead === 20 && buffer[18] === 2;
  } finally {
    await file.close();
  }
}

/** Whether a file could be made in a folder, which may have to be made itself. */
async function checkFolder(folder: string): Promise<void> {
  const found = await stat(folder).catch(missing);
  if (found === undefined && dirname(folder) !== folder) return await checkFolder(dirname(folder));
  if (found?.isDirectory() !== true) throw new ConnectionFailure('The folder of the database cannot be made');
  await access(folder, constants.W_OK | constants.X_OK).catch(() => {
    throw new ConnectionFailure('The folder of the database may not be written to');
  });
}

function missing(error: NodeJS.ErrnoException): undefined {
  if (error.code === 'ENOENT') return undefined;
  if (error.code === 'ENOTDIR') throw new ConnectionFailure('The folder of the database is not a folder');
  throw new ConnectionFailure(`The database file cannot be reached (${error.code})`);
}

function tellCode(code: string): string {
  if (code === 'SQLITE_NOTADB') return 'The file is not an SQLite database';
  if (code.startsWith('SQLITE_CORRUPT')) return 'The SQLite database is damaged';
  if (code.startsWith('SQLITE_CANTOPEN')) return 'The database file cannot be opened';
  return `The database cannot be read (${/^[A-Z_]+$/.test(code) ? code : 'no SQLite error'})`;
}
