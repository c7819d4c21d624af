import { z } from 'zod';
import type { AuditEntry, AuditFilter, AuditStore } from '../../store/audit-store.ts';
import type { AuditMark } from './caller.ts';

/** How what was tried came out: done, refused to this caller, or failed for another reason. */
export const AuditOutcome = z.enum(['ok', 'refused', 'failed']);

/** An entry as it is read. */
export const AuditRecord = z
  .object({
    id: z.int(),
    at: z.iso.datetime(),
    actor: z
      .string()
      .describe('`anonymous`, `admin`, `key:name`, an e-mail address, or what the server does by itself.'),
    action: z.string().describe('What was done, such as `login` or `guardrails.create`.'),
    outcome: AuditOutcome,
    address: z.string().describe('Address of the client.'),
    requestId: z.string().describe('The `X-Request-Id` of the answer.'),
    detail: z.string().nullable(),
  })
  .meta({
    id: 'AuditRecord',
    examples: [
      {
        id: 12,
        at: '2026-01-01T00:00:00.000Z',
        actor: 'admin',
        action: 'guardrails.create',
        outcome: 'ok',
        address: '192.0.2.7',
        requestId: '7f9c1b5e-3a5d-4c57-9d38-2f6f4b8f0c11',
        detail: 'revision 4',
      },
    ],
  });
export type AuditRecord = z.infer<typeof AuditRecord>;

/** The audit log: who did what, from where, and how it came out. Append-only. */
export interface Audit {
  /** Writes an entry. @throws the database's error: what cannot be accounted for is not to be done. */
  add(mark: AuditMark, outcome: z.infer<typeof AuditOutcome>, detail?: string): Promise<void>;
  /** Newest first. */
  list(filter: AuditFilter, limit: number): Promise<AuditRecord[]>;
}

/** The row of an entry, to be written together with what it accounts for. */
export function auditEntry(
  mark: AuditMark,
  now: number,
  outcome: z.infer<typeof AuditOutcome>,
  detail?: string,
): AuditEntry {
  const { action, actor, address, requestId } = mark;
  return { at: now, actor, action, outcome, address, requestId, detail: detail ?? null };
}

/** Makes the audit log over its store. */
export function createAudit(store: AuditStore): Audit {
  return {
    async add(mark, outcome, detail) {
      await store.add(auditEntry(mark, Date.now(), outcome, detail));
      mark.recorded = true;
    },
    async list(filter, limit) {
      const rows = await store.list(filter, limit);
      return rows.map(({ at, ...row }) => ({ ...row, at: new Date(at).toISOString() }));
    },
  };
}
