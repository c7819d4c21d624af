import { type AuditEntry, auditWrite } from './audit-store.ts';
import type { Database, Write } from './database.ts';
import { eq, lte, ne } from './drizzle.ts';
import type { adminSessions, adminUsers } from './schema.sqlite.ts';

/** The admin's password. Times are epoch milliseconds. */
export type AdminRow = typeof adminUsers.$inferSelect;

/** A login. */
export type SessionRow = typeof adminSessions.$inferSelect;

/** There is one admin. */
const ADMIN = 'singleton';

/** Keeps the admin's password and logins. */
export interface AdminStore {
  admin(): Promise<AdminRow | undefined>;
  /** Sets the first password. One there is already stays. */
  seed(passwordHash: string, now: number): Promise<void>;
  /** Replaces the password, and ends every session but `keep`, all or nothing. */
  changePassword(passwordHash: string, keep: string | undefined, audit: AuditEntry): Promise<void>;
  addSession(session: Omit<SessionRow, 'userId'>, audit: AuditEntry): Promise<void>;
  session(id: string): Promise<SessionRow | undefined>;
  removeSession(id: string): Promise<void>;
  /** Forgets sessions that have expired. */
  pruneSessions(now: number): Promise<void>;
}

/** Makes the admin store of a database. */
export function createAdminStore({ db, tables, commit }: Database): AdminStore {
  const { adminUsers: users, adminSessions: sessions } = tables;
  return {
    async admin() {
      const rows = await db.select().from(users).where(eq(users.id, ADMIN));
      return rows[0];
    },
    async seed(passwordHash, now) {
      await db
        .insert(users)
        .values({ id: ADMIN, passwordHash, createdAt: now, updatedAt: now, rotatedAt: null })
        .onConflictDoNothing();
    },
    async changePassword(passwordHash, keep, audit) {
      const now = audit.at;
      await commit((transaction) => [
        transaction
          .update(users)
          .set({ passwordHash, updatedAt: now, rotatedAt: now })
          .where(eq(users.id, ADMIN)) as Write,
        transaction.delete(sessions).where(keep === undefined ? undefined : ne(sessions.id, keep)) as Write,
        auditWrite(transaction, tables, audit),
      ]);
    },
    async addSession(session, audit) {
      await commit((transaction) => [
        transaction.insert(sessions).values({ ...session, userId: ADMIN }) as Write,
        auditWrite(transaction, tables, audit),
      ]);
    },
    async session(id) {
      const rows = await db.select().from(sessions).where(eq(sessions.id, id));
      return rows[0];
    },
    async removeSession(id) {
      await db.delete(sessions).where(eq(sessions.id, id));
    },
    async pruneSessions(now) {
      await db.delete(sessions).where(lte(sessions.expiresAt, now));
    },
  };
}
