import type { Database, Write } from './database.ts';
import { and, desc, eq, gte, lt, or } from './drizzle.ts';
import type { auditLog } from './schema.sqlite.ts';

/** A row of the audit log. `at` is epoch milliseconds. */
export type AuditRow = typeof auditLog.$inferSelect;

/** A row to be added. */
export type AuditEntry = Omit<AuditRow, 'id'>;

/** What to list; all that are given must hold. */
export interface AuditFilter {
  actor?: string | undefined;
  /** An action, or all actions of a resource: `guardrails` finds `guardrails.create`. */
  action?: string | undefined;
  outcome?: AuditRow['outcome'] | undefined;
  address?: string | undefined;
  /** Epoch milliseconds, inclusive. */
  since?: number | undefined;
  /** Epoch milliseconds, exclusive. */
  until?: number | undefined;
  /** Only rows with smaller ids. */
  before?: number | undefined;
}

/** Keeps the audit log. There is no way to change or remove a row. */
export interface AuditStore {
  add(entry: AuditEntry): Promise<void>;
  /** Newest first. */
  list(filter: AuditFilter, limit: number): Promise<AuditRow[]>;
}

/** The write that adds a row, for a {@link Database.commit} whose other writes it accounts for. */
export function auditWrite(db: Database['db'], { auditLog }: Database['tables'], entry: AuditEntry): Write {
  return db.insert(auditLog).values(entry) as Write;
}

/** Makes the audit log of a database. */
export function createAuditStore({ db, tables, commit }: Database): AuditStore {
  const { auditLog: log } = tables;
  return {
    add: (entry) => commit((transaction) => [auditWrite(transaction, tables, entry)]),
    async list({ actor, action, outcome, address, since, until, before }, limit) {
      return await db
        .select()
        .from(log)
        .where(
          and(
            actor === undefined ? undefined : eq(log.actor, actor),
            // A dot is followed by a slash in no order of characters but this: `x.` up to `x/` are those that begin with `x.`.
            action === undefined
              ? undefined
              : or(eq(log.action, action), and(gte(log.action, `${action}.`), lt(log.action, `${action}/`))),
            outcome === undefined ? undefined : eq(log.outcome, outcome),
            address === undefined ? undefined : eq(log.address, address),
            since === undefined ? undefined : gte(log.at, since),
            until === undefined ? undefined : lt(log.at, until),
            before === undefined ? undefined : lt(log.id, before),
          ),
        )
        .orderBy(desc(log.id))
        .limit(limit);
    },
  };
}
