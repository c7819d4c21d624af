import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { z } from 'zod';
import { problem } from '../../problems.ts';
import { type ConfiguredKey, SCOPES, type Scope } from '../../settings/access.ts';
import type { ApiKeyRow, ApiKeyStore } from '../../store/api-key-store.ts';
import { auditEntry } from './audit.ts';
import type { AuditMark } from './caller.ts';
import { cleanUserId } from './user-id.ts';

/** What every key that is made here begins with, by which people and scanners know one. */
export const KEY_PREFIX = 'aek_';

/** Characters of a key that are shown again. */
const HINT_LENGTH = 8;

/** How exact the time of last use is, in milliseconds: not every request is worth a write. */
const USE_GRAIN_MS = 60_000;

/** A user id as `X-Service-User-Id` could carry it. */
const UserId = z
  .string()
  .trim()
  .refine((id) => cleanUserId(id) !== null, 'must have 1 to 256 characters, none of them control characters');

/** What an admin says of a new key. */
export const ApiKeyCreate = z
  .object({
    name: z.string().trim().min(1).max(64).describe('What the key is for; the audit log names it `key:name`.'),
    scopes: z.array(z.enum(SCOPES)).min(1).default(['runtime']).describe('`admin:write` may read, too.'),
    userId: UserId.nullable()
      .default(null)
      .describe('The user it acts as. Without one its holder names the user with `X-Service-User-Id`.'),
    expiresAt: z.iso
      .datetime({ offset: true })
      .nullable()
      .default(null)
      .describe('Without it the key does not expire.'),
  })
  .meta({
    id: 'ApiKeyCreate',
    examples: [{ name: 'nightly report', scopes: ['runtime'], userId: 'reports', expiresAt: '2027-01-01T00:00:00Z' }],
  });

const EXAMPLE = {
  id: '5f0c3b0f-3a0e-4a52-9a54-0d9f7a1b2c3d',
  name: 'nightly report',
  hint: 'aek_9tQ2',
  scopes: ['runtime'],
  userId: 'reports',
  source: 'database',
  createdBy: 'admin',
  createdAt: '2026-01-01T00:00:00.000Z',
  expiresAt: '2027-01-01T00:00:00.000Z',
  lastUsedAt: null,
};

/** A key as it is read. */
export const ApiKeyRead = z
  .object({
    id: z.uuid().nullable().describe('Null for one that SERVICE_API_KEYS brings.'),
    name: z.string(),
    hint: z.string().describe('How the key begins.'),
    scopes: z.array(z.enum(SCOPES)),
    userId: z.string().nullable(),
    source: z.enum(['database', 'environment']),
    createdBy: z.string().nullable(),
    createdAt: z.iso.datetime().nullable(),
    expiresAt: z.iso.datetime().nullable(),
    lastUsedAt: z.iso.datetime().nullable().describe('To the minute.'),
  })
  .meta({ id: 'ApiKeyRead', examples: [EXAMPLE] });

/** A new key: the one time it is shown. */
export const ApiKeyCreated = ApiKeyRead.extend({ key: z.string().describe('The key. It is not shown again.') }).meta({
  id: 'ApiKeyCreated',
  examples: [{ ...EXAMPLE, key: 'aek_9tQ2…' }],
});

/** What a key allows its holder. */
export interface KeyHolder {
  name: string;
  scopes: readonly Scope[];
  userId: string | null;
}

/** The keys of programs. */
export interface ApiKeys {
  /** Whose key this is; undefined for one that is unknown or has expired. */
  resolve(key: string): Promise<KeyHolder | undefined>;
  /** Those of the settings first, then oldest first. */
  list(): Promise<z.infer<typeof ApiKeyRead>[]>;
  /** @throws Problem `validation_failed` for a time that has passed. */
  create(wanted: z.infer<typeof ApiKeyCreate>, mark: AuditMark): Promise<z.infer<typeof ApiKeyCreated>>;
  /** Ends a key at once. @throws Problem `not_found`. */
  remove(id: string, mark: AuditMark): Promise<void>;
}

/** Makes the keys. @param configured those that SERVICE_API_KEYS brings. */
export function createApiKeys(store: ApiKeyStore, configured: readonly ConfiguredKey[]): ApiKeys {
  const fixed = new Map(
    configured.map((entry) => [hashOf(entry.key), { ...entry, lastUsedAt: null as number | null }]),
  );
  const lastWrites = new Map<string, number>();
  return {
    async resolve(key) {
      // Looked up by its hash, whose comparison tells nothing of the key.
      const hash = hashOf(key);
      const now = Date.now();
      const known = fixed.get(hash);
      if (known !== undefined) {
        known.lastUsedAt = now;
        return { name: known.name, scopes: known.scopes, userId: null };
      }
      const row = await store.findByHash(hash);
      if (row === undefined || (row.expiresAt !== null && row.expiresAt <= now)) return undefined;
      if (now - (lastWrites.get(row.id) ?? 0) >= USE_GRAIN_MS) {
        lastWrites.set(row.id, now);
        // A database that takes no more is no reason to turn anybody away.
        await store.used(row.id, now).catch(() => lastWrites.delete(row.id));
      }
      return { name: row.name, scopes: scopesOf(row), userId: row.userId };
    },
    async list() {
      const rows = await store.list();
      return [...[...fixed.values()].map(readConfigured), ...rows.map(readRow)];
    },
    async create({ name, scopes, userId, expiresAt }, mark) {
      const now = Date.now();
      const expires = expiresAt === null ? null : Date.parse(expiresAt);
      if (expires !== null && expires <= now) {
        const detail = { loc: ['body', 'expiresAt'], msg: 'must be a time to come', type: 'value_error' };
        throw problem('validation_failed', { details: [detail] });
      }
      const key = KEY_PREFIX + randomBytes(32).toString('base64url');
      const row: ApiKeyRow = {
        id: randomUUID(),
        name,
        hash: hashOf(key),
        hint: key.slice(0, HINT_LENGTH),
        scopes: JSON.stringify(SCOPES.filter((scope) => scopes.includes(scope))),
        userId,
        createdBy: mark.actor,
        createdAt: now,
        expiresAt: expires,
        lastUsedAt: null,
      };
      await store.add(row, auditEntry(mark, now, 'ok', `${name} (${row.hint}…): ${scopes.join(', ')}`));
      mark.recorded = true;
      return { ...readRow(row), key };
    },
    async remove(id, mark) {
      const row = await store.find(id);
      if (row === undefined) throw problem('not_found', { message: 'No API key has that id.' });
      await store.remove(id, auditEntry(mark, Date.now(), 'ok', `${row.name} (${row.hint}…)`));
      mark.recorded = true;
      lastWrites.delete(id);
    },
  };
}

/** Whether a holder may do what needs `scope`. */
export function hasScope({ scopes }: KeyHolder, scope: Scope): boolean {
  return scopes.includes(scope) || (scope === 'admin:read' && scopes.includes('admin:write'));
}

function hashOf(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}

function scopesOf({ scopes }: ApiKeyRow): Scope[] {
  return JSON.parse(scopes) as Scope[];
}

function isoTime(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}

function readRow(row: ApiKeyRow): z.infer<typeof ApiKeyRead> {
  const { id, name, hint, userId, createdBy } = row;
  const times = {
    createdAt: isoTime(row.createdAt),
    expiresAt: isoTime(row.expiresAt),
    lastUsedAt: isoTime(row.lastUsedAt),
  };
  return { id, name, hint, scopes: scopesOf(row), userId, source: 'database', createdBy, ...times };
}

function readConfigured(entry: ConfiguredKey & { lastUsedAt: number | null }): z.infer<typeof ApiKeyRead> {
  const { name, scopes } = entry;
  return {
    id: null,
    name,
    // Nothing of a key that somebody has thought up.
    hint: '',
    scopes,
    userId: null,
    source: 'environment',
    createdBy: null,
    createdAt: null,
    expiresAt: null,
    lastUsedAt: isoTime(entry.lastUsedAt),
  };
}
