import type { Pool, PoolClient, PoolConfig } from 'pg';
import { z } from 'zod';
import { BuildProblem } from '../build-problem.ts';
import { isRefusal, MemoryUnreachable, tellPostgres } from './postgres-failure.ts';

/** Most connections of one pool. */
const CONNECTIONS = 10;
/** Longest wait for a connection, and for the answer to a query. */
const CONNECT_MS = 10_000;
const QUERY_MS = 30_000;
/** Longest that opening may take in all. */
const OPEN_MS = 8_000;
/** Longest that closing waits for what is under way. */
const CLOSE_MS = 5_000;
/** How long a connection may have lain idle without being tried before it is used. */
const FRESH_MS = 5_000;

/** URL of a PostgreSQL database, with whatever parameters the driver `pg` knows. */
export const PostgresUrl = z
  .string()
  .regex(/^postgres(?:ql)?:\/\//, 'must start with postgresql:// or postgres://')
  .refine((url) => URL.canParse(url), 'must be a URL such as postgresql://user:password@host:5432/database');

/** How all connections are made. */
export function connectionOf(url: string): PoolConfig {
  return {
    connectionString: url,
    application_name: 'agent-engine',
    connectionTimeoutMillis: CONNECT_MS,
    // Not the server's statement_timeout, which poolers in between refuse. A client whose answer is late is closed.
    query_timeout: QUERY_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  };
}

/** What databases of a URL are told apart by: the place, without credentials and parameters. */
export function placeOf(url: string): string {
  const { hostname, port, pathname, searchParams } = new URL(url);
  const host = searchParams.get('host') ?? hostname;
  return `${host}:${(searchParams.get('port') ?? port) || 5432}${pathname}`;
}

/** The connections to one PostgreSQL. Everything that fails for want of it is {@link MemoryUnreachable}. */
export interface PostgresPool {
  /** As the published checkpointer takes it. */
  readonly pool: Pool;
  /** Does `work` in one transaction. */
  transaction<T>(work: (client: Pick<PoolClient, 'query'>) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/**
 * Opens a pool and prepares the database.
 *
 * @param setUp makes the tables; it is alone in doing so, whatever other servers there are. `lock` names it to them.
 * @throws BuildProblem when PostgreSQL cannot be used, within ten seconds.
 */
export async function openPostgres(
  url: string,
  lock: string,
  setUp: (pool: PostgresPool) => Promise<void>,
): Promise<PostgresPool> {
  let timer: NodeJS.Timeout | undefined;
  let opened: PostgresPool | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('timeout')), OPEN_MS);
  });
  const open = async (): Promise<PostgresPool> => {
    const pool = await connectPool(url);
    opened = pool;
    await pool.transaction(async (client) => {
      // Held until the end of this transaction, while the tables are made over another connection.
      await client.query('SELECT pg_advisory_xact_lock(hashtext($1))', [`agent-engine ${lock}`]);
      await setUp(pool);
    });
    return pool;
  };
  try {
    return await Promise.race([open(), late]);
  } catch (error) {
    void opened?.close().catch(() => undefined);
    const why = error instanceof MemoryUnreachable ? error.message : tellPostgres(error);
    throw new BuildProblem(`The postgres memory cannot be opened. ${why}.`);
  } finally {
    clearTimeout(timer);
  }
}

async function connectPool(url: string): Promise<PostgresPool> {
  const { default: pg } = await import('pg');
  const pool = new pg.Pool({ ...connectionOf(url), max: CONNECTIONS, idleTimeoutMillis: 30_000 });
  // A connection that breaks while nobody uses it is replaced; without a listener it would end the process.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => void client.on('error', () => undefined));
  const guarded = guard(pool);
  return {
    pool: guarded as unknown as Pool,
    async transaction(work) {
      const client = await guarded.connect();
      try {
        await client.query('BEGIN');
        const result = await work(client);
        await client.query('COMMIT');
        return result;
      } catch (error) {
        await client.query('ROLLBACK').catch(() => undefined);
        throw error;
      } finally {
        client.release();
      }
    },
    async close() {
      const ended = pool.end();
      ended.catch(() => undefined);
      let timer: NodeJS.Timeout | undefined;
      const enough = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, CLOSE_MS);
        timer.unref();
      });
      await Promise.race([ended, enough]);
      clearTimeout(timer);
    },
  };
}

type Query = (text: string, values?: unknown[]) => Promise<unknown>;

/** The part of a pool that the checkpointer uses, with its errors told apart and its broken connections thrown away. */
interface GuardedPool {
  connect(): Promise<{ query: PoolClient['query']; release(): void }>;
  query: Query;
  end(): Promise<void>;
}

function guard(pool: Pool): GuardedPool {
  const used = new WeakMap<PoolClient, number>();

  /** A connection that answers: one that has lain idle may have died without a word. */
  const take = async (): Promise<PoolClient> => {
    for (;;) {
      const client = await pool.connect();
      const since = used.get(client);
      if (since === undefined || performance.now() - since < FRESH_MS) return client;
      try {
        await client.query('SELECT 1');
        return client;
      } catch {
        client.release(true);
      }
    }
  };

  const connect: GuardedPool['connect'] = async () => {
    let client: PoolClient | undefined = await take().catch(rethrow);
    let broken = false;
    let first = true;
    const query: Query = async (text, values) => {
      const asked = client ?? (await take().catch(rethrow));
      client = asked;
      try {
        return await asked.query(text, values);
      } catch (error) {
        if (first && used.has(asked) && isBrokenOff(error)) {
          // It broke since it was last used. What comes first is a read, or the beginning of a transaction.
          asked.release(true);
          client = undefined;
          return await query(text, values);
        }
        broken ||= !isRefusal(error);
        return rethrow(error);
      } finally {
        first = false;
      }
    };
    return {
      query: query as PoolClient['query'],
      release() {
        if (client === undefined) return;
        used.set(client, performance.now());
        client.release(broken);
      },
    };
  };

  return {
    connect,
    async query(text, values) {
      const client = await connect();
      try {
        return await (client.query as unknown as Query)(text, values);
      } finally {
        client.release();
      }
    },
    end: () => pool.end(),
  };
}

/** Whether the connection has ended, as against an answer that is late. */
function isBrokenOff(error: unknown): boolean {
  return !isRefusal(error) && !/timeout/i.test(error instanceof Error ? error.message : '');
}

function rethrow(error: unknown): never {
  throw isRefusal(error) ? error : new MemoryUnreachable(tellPostgres(error));
}
