import { type AuditEntry, auditWrite } from './audit-store.ts';
import type { Database, Write } from './database.ts';
import { and, desc, eq, lt } from './drizzle.ts';
import type { configRecords, revisions as revisionTable, runtimeState } from './schema.sqlite.ts';

/** A stored part of the configuration. `data` is JSON text with its secrets encrypted. */
export type ConfigRow = typeof configRecords.$inferSelect;

/** A write of the configuration, with the whole configuration after it. */
export type RevisionRow = typeof revisionTable.$inferSelect;

/** A revision without what it holds. */
export type RevisionHead = Omit<RevisionRow, 'config'>;

/** How the last reload went. */
export type RuntimeRow = Omit<typeof runtimeState.$inferSelect, 'id'>;

/** What a write changes, row by row. */
export interface ConfigChange {
  put: ConfigRow[];
  remove: Pick<ConfigRow, 'resource' | 'id'>[];
  revision: RevisionRow;
  /** What the audit log says of it. */
  audit: AuditEntry;
}

/** Keeps the configuration and its history. */
export interface ConfigStore {
  /** All rows, oldest first. */
  rows(): Promise<ConfigRow[]>;
  /** Number of the newest revision; 0 for none. */
  newest(): Promise<number>;
  /** Writes a change and its revision, all or nothing. @throws the driver's error. */
  write(change: ConfigChange): Promise<void>;
  /** Revisions with numbers below `before`, newest first. */
  revisions(limit: number, before: number | undefined): Promise<RevisionHead[]>;
  revision(number: number): Promise<RevisionRow | undefined>;
  runtime(): Promise<RuntimeRow | undefined>;
  setRuntime(row: RuntimeRow): Promise<void>;
}

/** Makes the configuration store of a database. */
export function createConfigStore({ db, tables, commit }: Database): ConfigStore {
  const { configRecords: records, revisions, runtimeState } = tables;
  const head = {
    number: revisions.number,
    createdAt: revisions.createdAt,
    actor: revisions.actor,
    resource: revisions.resource,
    action: revisions.action,
  };
  return {
    async rows() {
      return await db.select().from(records).orderBy(records.createdAt, records.id);
    },
    async newest() {
      const [row] = await db
        .select({ number: revisions.number })
        .from(revisions)
        .orderBy(desc(revisions.number))
        .limit(1);
      return row?.number ?? 0;
    },
    async write({ put, remove, revision, audit }) {
      await commit((transaction) => [
        transaction.insert(revisions).values(revision) as Write,
        auditWrite(transaction, tables, audit),
        // Before the others: a slug that becomes free may be taken again in the same write.
        ...remove.map(
          ({ resource, id }) =>
            transaction.delete(records).where(and(eq(records.resource, resource), eq(records.id, id))) as Write,
        ),
        ...put.map(({ resource, id, ...row }) => {
          const target = [records.resource, records.id];
          return transaction
            .insert(records)
            .values({ resource, id, ...row })
            .onConflictDoUpdate({ target, set: row }) as Write;
        }),
      ]);
    },
    async revisions(limit, before) {
      return await db
        .select(head)
        .from(revisions)
        .where(before === undefined ? undefined : lt(revisions.number, before))
        .orderBy(desc(revisions.number))
        .limit(limit);
    },
    async revision(number) {
      const rows = await db.select().from(revisions).where(eq(revisions.number, number));
      return rows[0];
    },
    async runtime() {
      const rows = await db.select().from(runtimeState);
      return rows[0];
    },
    async setRuntime(row) {
      await db
        .insert(runtimeState)
        .values({ id: 'singleton', ...row })
        .onConflictDoUpdate({ target: runtimeState.id, set: row });
    },
  };
}
