import { join } from 'node:path';
import { hashSync } from 'bcryptjs';
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify';
import { expect } from 'vitest';
import { openSqlite } from '../../src/sqlite-driver.ts';
import { ECHO } from '../support/agents.ts';
import { createTestApp, type TestApp, type TestAppOptions } from '../support/app.ts';
import { openSocket } from '../support/streams.ts';

export const PASSWORD = 'correct horse battery';
/** Of the least cost, so that thousands can be checked. */
export const HASH = hashSync(PASSWORD, 4);
export const SECRET = 'planted-session-secret-0123456789abcdef';
export const HOST = 'localhost:8000';
/** What a browser says of a page of this server. */
export const OWN_PAGE = { host: HOST, origin: `http://${HOST}` };
export const API = '/admin/api/v1';

export const PASSWORD_MODE = {
  SERVICE_ADMIN_AUTH_MODE: 'password',
  SERVICE_SESSION_SECRET: SECRET,
  SERVICE_ADMIN_PASSWORD_HASH: HASH,
};

export const ssoMode = (issuer: string): Record<string, string> => ({
  SERVICE_ADMIN_AUTH_MODE: 'sso',
  SERVICE_ADMIN_OIDC_ISSUER: issuer,
  SERVICE_ADMIN_OIDC_CLIENT_ID: 'agent',
  SERVICE_ADMIN_ALLOWED_EMAILS: 'boss@example.org',
});

/** A server with an echo agent. */
export function echoApp(options: TestAppOptions = {}): Promise<TestApp> {
  return createTestApp({ agent: 'agent.ts', ...options, files: { 'agent.ts': ECHO, ...options.files } });
}

/** A server in mode password; settings in `env` replace the usual ones. */
export function passwordApp(env: Record<string, string> = {}, options: TestAppOptions = {}): Promise<TestApp> {
  return echoApp({ ...options, env: { ...PASSWORD_MODE, ...env } });
}

/** A call of the admin surface, as a page of this server makes it. */
export function call(
  app: FastifyInstance,
  method: string,
  path: string,
  headers: Record<string, string> = {},
  payload?: object,
  more: InjectOptions = {},
): Promise<LightMyRequestResponse> {
  return app.inject({
    method: method as 'GET',
    url: API + path,
    headers: { ...OWN_PAGE, ...headers },
    ...(payload !== undefined && { payload }),
    ...more,
  });
}

/** Tries a password. */
export function tryLogin(
  app: FastifyInstance,
  password: unknown,
  headers: Record<string, string> = {},
  more: InjectOptions = {},
): Promise<LightMyRequestResponse> {
  return call(app, 'POST', '/auth/login', headers, { password }, more);
}

/** The `service_session=…` of an answer that sets it. */
export function cookieOf(response: LightMyRequestResponse): string {
  return String(response.headers['set-cookie']).split(';')[0] ?? '';
}

/** Logs in and gives the cookie, as a browser sends it back. */
export async function login(app: FastifyInstance, password = PASSWORD): Promise<string> {
  const response = await tryLogin(app, password);
  expect(response.statusCode, response.body).toBe(200);
  return cookieOf(response);
}

/** How the admin surface answers a reader with this cookie. */
export async function statusFor(app: FastifyInstance, cookie: string): Promise<number> {
  return (await call(app, 'GET', '/agent', { cookie })).statusCode;
}

/** Runs SQL in a server's database: `get` gives rows. */
export async function sql<Row = Record<string, unknown>>(root: string, text: string): Promise<Row[]> {
  const db = await openSqlite(join(root, 'data/service.db'));
  try {
    const statement = db.prepare(text);
    if (statement.reader) return statement.all() as Row[];
    statement.run();
    return [];
  } finally {
    db.close();
  }
}

/** An answer as it came off a bare socket. */
export interface RawAnswer {
  /** 0 when the connection was closed without a word. */
  status: number;
  head: string;
  body: string;
}

/** Writes a request as it stands to a connection of its own and reads until the server closes it. */
export async function raw(base: string, text: string): Promise<RawAnswer> {
  const socket = await openSocket(base);
  let all = '';
  socket.setEncoding('utf8');
  socket.on('data', (piece: string) => {
    all += piece;
  });
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.write(text);
  socket.resume();
  await closed;
  const [head = '', ...rest] = all.split('\r\n\r\n');
  return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? 0), head, body: rest.join('\r\n\r\n') };
}

/** The text of a request; `lines` are header lines, which may repeat a name. */
export function requestText(method: string, target: string, lines: readonly string[] = [], body = ''): string {
  const length = body === '' ? [] : [`Content-Length: ${Buffer.byteLength(body)}`, 'Content-Type: application/json'];
  const head = [`${method} ${target} HTTP/1.1`, 'Host: localhost', ...lines, ...length, 'Connection: close'];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}
