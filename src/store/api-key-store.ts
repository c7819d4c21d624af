import { type AuditEntry, auditWrite } from './audit-store.ts';
import type { Database, Write } from './database.ts';
import { asc, eq } from './drizzle.ts';
import type { apiKeys } from './schema.sqlite.ts';

/** A key as it is kept: never the key itself. Times are epoch milliseconds. */
export type ApiKeyRow = typeof apiKeys.$inferSelect;

/** Keeps the keys of programs. */
export interface ApiKeyStore {
  /** Oldest first. */
  list(): Promise<ApiKeyRow[]>;
  find(id: string): Promise<ApiKeyRow | undefined>;
  findByHash(hash: string): Promise<ApiKeyRow | undefined>;
  add(row: ApiKeyRow, audit: AuditEntry): Promise<void>;
  remove(id: string, audit: AuditEntry): Promise<void>;
  used(id: string, now: number): Promise<void>;
}

/** Makes the key store of a database. */
export function createApiKeyStore({ db, tables, commit }: Database): ApiKeyStore {
  const { apiKeys: keys } = tables;
  return {
    async list() {
      return await db.select().from(keys).orderBy(asc(keys.createdAt), asc(keys.id));
    },
    async find(id) {
      const rows = await db.select().from(keys).where(eq(keys.id, id));
      return rows[0];
    },
    async findByHash(hash) {
      const rows = await db.select().from(keys).where(eq(keys.hash, hash));
      return rows[0];
    },
    async add(row, audit) {
      await commit((transaction) => [
        transaction.insert(keys).values(row) as Write,
        auditWrite(transaction, tables, audit),
      ]);
    },
    async remove(id, audit) {
      await commit((transaction) => [
        transaction.delete(keys).where(eq(keys.id, id)) as Write,
        auditWrite(transaction, tables, audit),
      ]);
    },
    async used(id, now) {
      await db.update(keys).set({ lastUsedAt: now }).where(eq(keys.id, id));
    },
  };
}
