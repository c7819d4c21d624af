import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from './drizzle.ts';

/** Index of conversation threads. What was said is kept by the agent's checkpointer; this knows whose it is. */
export const threads = sqliteTable(
  'threads',
  {
    id: text('id').primaryKey(),
    /** The user who first ran the thread; empty for an anonymous one. */
    userId: text('user_id').notNull(),
    /** The memory that holds the conversation, as the agent names it. */
    storeId: text('store_id').notNull(),
    /** Beginning of the first user text, at most 120 characters. */
    title: text('title'),
    /** Epoch milliseconds. */
    createdAt: integer('created_at').notNull(),
    updatedAt: integer('updated_at').notNull(),
    /** Where in its memory the thread goes on, as the agent names it; null for the end. */
    head: text('head'),
    /** Whether the thread's last run was cut short. */
    cut: integer('cut', { mode: 'boolean' }).notNull().default(false),
  },
  (table) => [index('threads_by_user').on(table.userId, table.storeId, table.updatedAt)],
);

/** Every run that was begun, for as long as SERVICE_RUN_HISTORY_DAYS says. */
export const runs = sqliteTable(
  'runs',
  {
    /** As the client named it: unique within its thread. */
    id: text('id').notNull(),
    threadId: text('thread_id').notNull(),
    /** The thread's owner; empty for an anonymous one. */
    userId: text('user_id').notNull(),
    status: text('status', {
      enum: ['queued', 'running', 'finished', 'awaiting_input', 'cancelled', 'failed', 'interrupted'],
    }).notNull(),
    /** Tells what it was asked from what another was asked. */
    digest: text('digest').notNull(),
    /** Epoch milliseconds. */
    createdAt: integer('created_at').notNull(),
    startedAt: integer('started_at'),
    finishedAt: integer('finished_at'),
    /** Code of the RUN_ERROR it ended with. */
    errorCode: text('error_code'),
    /** Which engine ran it, counted from the server's start. */
    generation: integer('generation'),
  },
  (table) => [
    primaryKey({ columns: [table.id, table.threadId] }),
    index('runs_by_thread').on(table.threadId, table.createdAt),
    // Runs that are open have none, so this finds them as well as those that are old enough to forget.
    index('runs_by_end').on(table.finishedAt),
  ],
);

/** The stored configuration: one row per resource. What a row holds is its resource's business (`src/services/resources/`). */
export const configRecords = sqliteTable(
  'config_records',
  {
    /** Which resource: `agent`, `guardrails`, … */
    resource: text('resource').notNull(),
    /** A UUID, or `singleton`. */
    id: text('id').notNull(),
    slug: text('slug'),
    /** The record as JSON; secrets in it are encrypted. */
    data: text('data').notNull(),
    /** Where it came from: `database`, `file` or `command line`. */
    origin: text('origin').notNull(),
    createdAt: integer('created_at').notNull(),
    updatedAt: integer('updated_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.resource, table.id] }),
    uniqueIndex('config_records_by_slug').on(table.resource, table.slug),
  ],
);

/** One row per write of the configuration. */
export const revisions = sqliteTable('revisions', {
  /** Counts up from 1. Two writers that meet collide on it. */
  number: integer('number').primaryKey(),
  /** Epoch milliseconds. */
  createdAt: integer('created_at').notNull(),
  /** Who wrote, as far as the server knows. */
  actor: text('actor').notNull(),
  /** What was written: a resource, or `import`, `restore`, … */
  resource: text('resource').notNull(),
  action: text('action').notNull(),
  /** The whole configuration after the write, as JSON; secrets in it are encrypted. */
  config: text('config').notNull(),
});

/** How the last reload went. One row. */
export const runtimeState = sqliteTable('runtime_state', {
  id: text('id').primaryKey(),
  status: text('status').notNull(),
  message: text('message').notNull(),
  error: text('error'),
  /** Epoch milliseconds. */
  at: integer('at').notNull(),
});

/** The admin's password, in mode password. One row. */
export const adminUsers = sqliteTable('admin_users', {
  id: text('id').primaryKey(),
  /** A bcrypt hash. */
  passwordHash: text('password_hash').notNull(),
  /** Epoch milliseconds. */
  createdAt: integer('created_at').notNull(),
  updatedAt: integer('updated_at').notNull(),
  /** When it was last changed; null while it is the one the settings brought. */
  rotatedAt: integer('rotated_at'),
});

/** Who is logged in. */
export const adminSessions = sqliteTable(
  'admin_sessions',
  {
    /** SHA-256 of the session's id, so that nobody who reads the table can use one. */
    id: text('id').primaryKey(),
    userId: text('user_id').notNull(),
    /** Epoch milliseconds. */
    expiresAt: integer('expires_at').notNull(),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [index('admin_sessions_by_expiry').on(table.expiresAt)],
);

/** Keys of programs. */
export const apiKeys = sqliteTable(
  'api_keys',
  {
    /** A UUID. */
    id: text('id').primaryKey(),
    name: text('name').notNull(),
    /** SHA-256 of the key, which has 256 random bits: nothing slower is needed. */
    hash: text('hash').notNull(),
    /** The key's first characters, by which its owner knows it again. */
    hint: text('hint').notNull(),
    /** What it may do, as a JSON list. */
    scopes: text('scopes').notNull(),
    /** The user it acts as; null for whomever its holder names. */
    userId: text('user_id'),
    createdBy: text('created_by').notNull(),
    /** Epoch milliseconds. */
    createdAt: integer('created_at').notNull(),
    expiresAt: integer('expires_at'),
    lastUsedAt: integer('last_used_at'),
  },
  (table) => [uniqueIndex('api_keys_by_hash').on(table.hash)],
);

/** Who did what. Rows are only ever added: triggers of the database refuse to change or delete one. */
export const auditLog = sqliteTable(
  'audit_log',
  {
    id: integer('id').primaryKey({ autoIncrement: true }),
    /** Epoch milliseconds. */
    at: integer('at').notNull(),
    /** `anonymous`, `admin`, `key:name`, an e-mail address. */
    actor: text('actor').notNull(),
    /** Such as `login`, `guardrails.create`. */
    action: text('action').notNull(),
    outcome: text('outcome', { enum: ['ok', 'refused', 'failed'] }).notNull(),
    /** Address of the client. */
    address: text('address').notNull(),
    /** As the answer's `X-Request-Id` had it. */
    requestId: text('request_id').notNull(),
    /** What else there is to know, in a few words. */
    detail: text('detail'),
  },
  (table) => [
    index('audit_log_by_actor').on(table.actor, table.id),
    index('audit_log_by_action').on(table.action, table.id),
  ],
);
