import { auditEntry } from '../services/access/audit.ts';
import { ownMark } from '../services/access/caller.ts';
import { sqlitePath } from '../sqlite-driver.ts';
import { createAdminStore } from '../store/admin-store.ts';
import { openSqliteDatabase } from '../store/sqlite.ts';
import { databaseFault } from './fault.ts';
import { hashPassword } from './hash-password.ts';
import { readSettings } from './settings.ts';

/**
 * Sets the administrator's password and ends every login. Whoever may write the database may do so.
 *
 * @returns what was done.
 * @throws EnvProblem or Fault for what the caller can mend.
 */
export async function resetPassword(given: string | undefined): Promise<string> {
  const { env } = readSettings({});
  const path = sqlitePath(env.DATABASE_URL, process.cwd());
  const passwordHash = await hashPassword(given);
  const database = await openSqliteDatabase(path).catch((error: unknown) => {
    throw databaseFault(error, path);
  });
  try {
    const store = createAdminStore(database);
    const now = Date.now();
    await store.seed(passwordHash, now);
    await store.changePassword(
      passwordHash,
      undefined,
      auditEntry(ownMark('reset-password', 'command line'), now, 'ok'),
    );
  } finally {
    await database.close();
  }
  return 'The password is set, and every login has ended.';
}
