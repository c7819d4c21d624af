import { join } from 'node:path';
import { hashSync } from 'bcryptjs';
import type { FastifyInstance } from 'fastify';
import { type Logger, pino } from 'pino';
import { onTestFinished } from 'vitest';
import { buildApp } from '../../src/app.ts';
import { readEnv } from '../../src/env.ts';
import { createServices } from '../../src/services.ts';
import { loadSqliteDriver } from '../../src/sqlite-driver.ts';
import { type Admin, type Answer, adminOf } from '../admin/support.ts';
import { ECHO } from '../support/agents.ts';
import { tempFolder } from '../support/app.ts';
import type { OidcProvider } from '../support/oidc.ts';
import { runInput } from '../support/runs.ts';

export type Headers = Record<string, string>;

export const PASSWORD = 'correct horse';

/** Settings of mode password. The hash is as weak as they come, to be quick. */
export const PASSWORD_ENV = {
  SERVICE_ADMIN_AUTH_MODE: 'password',
  SERVICE_SESSION_SECRET: 'a session secret of more than 32 characters',
  SERVICE_ADMIN_PASSWORD_HASH: hashSync(PASSWORD, 4),
};

/** What a page of the server itself sends. */
export const OURS = { host: 'agent.test', origin: 'http://agent.test' };

/** The admin surface as whoever sends `headers` meets it. */
export interface Seat extends Pick<Admin, 'call' | 'post' | 'patch' | 'del'> {
  get(path: string, headers?: Headers): Promise<Answer>;
}

/** Takes the seat of a caller. Paths count from `/admin/api/v1`, unless they begin with `//`. */
export function seat(app: FastifyInstance, headers: Headers = {}): Seat {
  const { call: plain } = adminOf(app);
  const call: Admin['call'] = (method, path, body, more = {}) => plain(method, path, body, { ...headers, ...more });
  return {
    call,
    get: (path, more) => call('GET', path, undefined, more),
    post: (path, body, more) => call('POST', path, body, more),
    patch: (path, body, more) => call('PATCH', path, body, more),
    del: (path, more) => call('DELETE', path, undefined, more),
  };
}

/** Logs in and gives what the admin's browser sends from then on. */
export async function login(app: FastifyInstance, password = PASSWORD): Promise<Headers> {
  const { status, headers } = await seat(app, OURS).post('/auth/login', { password });
  if (status !== 200) throw new Error(`the login was answered with ${status}`);
  return { ...OURS, cookie: String(headers['set-cookie']).split(';')[0] ?? '' };
}

/** Makes a key and gives it. */
export async function newKey(admin: Seat, name: string, scopes: string[], more: object = {}): Promise<string> {
  const { status, body } = await admin.post('/api-keys', { name, scopes, ...more });
  if (status !== 201) throw new Error(`the key was answered with ${status}`);
  return body.key;
}

export const bearer = (token: string): Headers => ({ authorization: `Bearer ${token}` });

/** A token of this person, as a header. */
export async function tokenOf({ sign }: OidcProvider, email: string, more: object = {}): Promise<Headers> {
  return bearer(await sign({ email, ...more }));
}

/** An enabled SSO record. Tokens of the test's provider are for `agent`. */
export const ssoOf = ({ issuer }: Pick<OidcProvider, 'issuer'>, more: object = {}) => ({
  sso: { enabled: true, issuer, clientId: 'agent', ...more },
});

/** Runs the agent and gives the whole answer. */
export function run(app: FastifyInstance, headers: Headers = {}, text = 'hi', threadId?: string): Promise<Answer> {
  return seat(app, headers).post('//agent/run', runInput(text, threadId === undefined ? {} : { threadId }));
}

/** Asks something small of the runtime, and gives the status. */
export async function runtimeStatus(app: FastifyInstance, headers: Headers = {}): Promise<number> {
  return (await seat(app, headers).get('//agent/capabilities')).status;
}

/** What a statement finds in the server's database, or undefined for one that finds nothing. */
export async function sql(root: string, statement: string): Promise<Record<string, unknown>[]> {
  const Driver = await loadSqliteDriver();
  const db = new Driver(join(root, 'data/service.db'));
  try {
    const prepared = db.prepare(statement);
    if (prepared.reader) return prepared.all() as Record<string, unknown>[];
    prepared.run();
    return [];
  } finally {
    db.close();
  }
}

/** An engine by itself, as `agent serve` runs it: `config` is the text of its config.yaml. */
export async function engineOnly(config: string, options: { env?: Headers; files?: Headers } = {}) {
  const root = tempFolder({ 'agent.ts': ECHO, ...options.files, 'config.yaml': config });
  const variables = { DATABASE_URL: 'sqlite:///:memory:', ...options.env };
  const { env } = readEnv(variables);
  const log: Logger = pino({ level: 'silent' });
  const services = await createServices({ env, log, root, variables, engineOnly: true });
  const app = await buildApp(services);
  onTestFinished(() => app.close());
  await services.configurator.boot();
  return { app, root };
}
