import { dirname } from 'node:path';
import { DatabaseProblem } from '../store/migrate-sqlite.ts';

/** Something the caller can mend: what is wrong and what to do, a line each. Shown without a stack. */
export class Fault extends Error {
  override name = 'Fault';
  readonly lines: string[];

  constructor(lines: string[], options?: ErrorOptions) {
    super(lines.join('\n'), options);
    this.lines = lines;
  }
}

/** Why the server cannot listen, or the error itself when it is none of the usual ones. */
export function listenFault(error: unknown, host: string, port: number): unknown {
  switch (codeOf(error)) {
    case 'EADDRINUSE':
      return new Fault(
        [`Port ${port} on ${host} is in use by another program. Stop it, or choose another: --port or SERVICE_PORT.`],
        { cause: error },
      );
    case 'EACCES':
      return new Fault(
        [`Port ${port} needs more rights than this user has. Choose one above 1023: --port or SERVICE_PORT.`],
        {
          cause: error,
        },
      );
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
    case 'EINVAL':
      return new Fault(
        [`This machine has no address ${host}. Use 127.0.0.1, or an address that it has: --host or SERVICE_HOST.`],
        { cause: error },
      );
    default:
      return error;
  }
}

/** Why the server's database cannot be used, or the error itself when it is none of the usual ones. */
export function databaseFault(error: unknown, path: string): unknown {
  if (error instanceof DatabaseProblem)
    return new Fault([`The database ${path} cannot be used.`, error.message], { cause: error });
  const code = codeOf(error);
  if (code.startsWith('SQLITE_NOTADB') || code.startsWith('SQLITE_CORRUPT')) {
    return new Fault(
      [
        `The database ${path} is damaged, or is no SQLite file.`,
        'Put a backup in its place, or move it away: the server then makes a new one. DATABASE_URL names the file.',
      ],
      { cause: error },
    );
  }
  if (code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED')) {
    return new Fault([`The database ${path} is locked by another program. Stop it, or set another DATABASE_URL.`], {
      cause: error,
    });
  }
  if (code === 'SQLITE_FULL' || code === 'ENOSPC') {
    return new Fault([`There is no room left for the database ${path}. Free some, or set another DATABASE_URL.`], {
      cause: error,
    });
  }
  // The folder: not to be made (EACCES, EROFS, ENOTDIR, EEXIST), not to be written, or not a folder at all.
  if (/^(?:SQLITE_(?:CANTOPEN|READONLY|IOERR|PERM|AUTH)|EACCES|EPERM|EROFS|ENOTDIR|EEXIST)/.test(code)) {
    return new Fault(
      [
        `The database ${path} cannot be opened or written.`,
        `Give this user the right to write to ${dirname(path)}, or name another file in DATABASE_URL.`,
      ],
      { cause: error },
    );
  }
  return error;
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
