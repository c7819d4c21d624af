import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { inject, onTestFinished } from 'vitest';
import { until } from './gates.ts';
import {
  addTls,
  findPostgres,
  initCluster,
  installPostgres,
  PASSWORD,
  startCluster,
  stopCluster,
} from './postgres-cluster.ts';

/** A real PostgreSQL on a loopback port. */
export interface Cluster {
  readonly port: number;
  /** Path of its certificate, where it speaks TLS. */
  readonly certificate: string | undefined;
  /** URL of one of its databases, password included. */
  url(database: string): string;
  /** Stops it as a crash would. */
  stop(): void;
  /** Starts it again, on the same port. */
  start(): Promise<void>;
}

/** The PostgreSQL of this run of the tests. */
export interface Postgres {
  /** Makes an empty database that goes away with the test, and gives its URL. */
  database(): Promise<string>;
  /** Makes a cluster that is this test's alone, to be stopped and started; with `tls` it speaks that too. */
  cluster(options?: { tls: boolean }): Promise<Cluster>;
}

/**
 * PostgreSQL for tests, started by the first that asks. Undefined where it is not installed and cannot be, which is said
 * aloud: `describe.skipIf((await usePostgres()) === undefined)`.
 */
export async function usePostgres(): Promise<Postgres | undefined> {
  const folder = inject('postgresFolder');
  const started = join(folder, 'started');
  const first = tryMake(join(folder, 'lock'));
  if (first) await startShared(folder, started);
  else await until(() => existsSync(started), 'PostgreSQL to be started', 300_000);
  const { bin, port } = JSON.parse(readFileSync(started, 'utf8')) as { bin?: string; port: number };
  if (bin === undefined) {
    process.stderr.write('\n!!! PostgreSQL is not installed and cannot be: its tests are SKIPPED !!!\n\n');
    return undefined;
  }
  const url = (database: string): string => urlOf(port, database);
  return {
    async database() {
      const name = `test_${randomUUID().replaceAll('-', '')}`;
      await query(url('postgres'), `CREATE DATABASE ${name}`);
      onTestFinished(() =>
        query(url('postgres'), `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`).then(() => undefined),
      );
      return url(name);
    },
    async cluster({ tls } = { tls: false }) {
      const own = join(folder, `cluster-${randomUUID()}`);
      initCluster(bin, own);
      const certificate = tls ? addTls(own) : undefined;
      const ownPort = await startCluster(bin, own);
      onTestFinished(() => {
        stopCluster(bin, own);
        rmSync(own, { recursive: true, force: true });
      });
      return {
        port: ownPort,
        certificate,
        url: (database) => urlOf(ownPort, database),
        stop: () => stopCluster(bin, own),
        start: async () => void (await startCluster(bin, own, ownPort)),
      };
    },
  };
}

/** Asks a database something directly. */
export async function query(url: string, text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query(text, values)).rows as Record<string, unknown>[];
  } finally {
    await client.end();
  }
}

/** Several test files may ask at once; one starts it, the others wait for the note it leaves. */
async function startShared(folder: string, started: string): Promise<void> {
  let note: { bin?: string; port: number } = { port: 0 };
  try {
    const bin = findPostgres() ?? installPostgres();
    if (bin !== undefined) {
      const shared = join(folder, 'cluster-shared');
      initCluster(bin, shared);
      note = { bin, port: await startCluster(bin, shared) };
    }
  } finally {
    writeFileSync(`${started}.new`, JSON.stringify(note));
    renameSync(`${started}.new`, started);
  }
}

function tryMake(path: string): boolean {
  try {
    mkdirSync(path);
    return true;
  } catch {
    return false;
  }
}

function urlOf(port: number, database: string): string {
  return `postgresql://tester:${PASSWORD}@127.0.0.1:${port}/${database}`;
}
