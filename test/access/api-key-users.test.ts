import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { type EnvProblem, readEnv } from '../../src/env.ts';
import { type Json, withAgent } from '../admin/support.ts';
import { startOidcProvider } from '../support/oidc.ts';
import {
  bearer,
  type Headers,
  login,
  newKey,
  PASSWORD_ENV,
  run,
  runtimeStatus,
  seat,
  sql,
  ssoOf,
  tokenOf,
} from './support.ts';

const KEY = 'a-key-of-more-than-16-characters';
const key = (value: string): Headers => ({ 'x-api-key': value });
const NAMED = { 'x-service-user-id': 'header-user' };

/** The user a run of this caller belongs to, as the server keeps it. */
async function owner({ app, root }: Awaited<ReturnType<typeof withAgent>>, headers: Headers): Promise<unknown> {
  const thread = randomUUID();
  expect((await run(app, headers, 'hello', thread)).status).toBe(200);
  const rows = await sql(root, `SELECT * FROM threads WHERE id = '${thread}'`);
  return rows[0]?.user_id;
}

test('a key acts as its own user, or as the one it names where names count', async () => {
  const server = await withAgent();
  const admin = seat(server.app);
  const fixed = key(await newKey(admin, 'report', ['runtime'], { userId: 'reports' }));
  const free = key(await newKey(admin, 'proxy', ['runtime']));
  expect(await owner(server, fixed)).toBe('reports');
  expect(await owner(server, { ...fixed, ...NAMED })).toBe('reports');
  expect(await owner(server, { ...free, ...NAMED })).toBe('header-user');
  expect(await owner(server, free)).toBe('');
  const sessions = async (headers: Headers) => (await seat(server.app, headers).get('//agent/sessions')).body.length;
  expect([await sessions(fixed), await sessions({ ...free, ...NAMED }), await sessions(free)]).toEqual([2, 1, 1]);

  const provider = await startOidcProvider({ algorithms: ['ES256'] });
  await admin.patch('/sso', ssoOf(provider));
  // Under sign-on nobody is somebody else by saying so.
  expect(await owner(server, { ...free, ...NAMED })).toBe('key:proxy');
  expect(await owner(server, { ...fixed, ...NAMED })).toBe('reports');
  expect(await sessions({ ...free, 'x-service-user-id': 'reports' })).toBe(1);
  // A key that is shown goes before a token.
  const ana = await tokenOf(provider, 'ana@example.org');
  expect(await owner(server, { ...ana, ...free })).toBe('key:proxy');
});

test('the time of last use is noted', async () => {
  const { app, admin } = await withAgent({ env: { SERVICE_API_KEYS: `env=${KEY}` } });
  const value = await newKey(seat(app), 'ci', ['runtime']);
  const uses = async () =>
    (await admin.get('/api-keys')).body.map((item: Json) => [item.name, item.lastUsedAt !== null]);
  expect(await uses()).toEqual([
    ['env', false],
    ['ci', false],
  ]);
  await runtimeStatus(app, key(value));
  await runtimeStatus(app, bearer(KEY));
  expect(await uses()).toEqual([
    ['env', true],
    ['ci', true],
  ]);
});

test('a time of use that cannot be noted turns nobody away', async () => {
  const { app, root, admin } = await withAgent();
  const value = await newKey(seat(app), 'ci', ['runtime']);
  await sql(root, "CREATE TRIGGER full BEFORE UPDATE ON api_keys BEGIN SELECT RAISE(ABORT, 'disk is full'); END");
  expect([await runtimeStatus(app, key(value)), await runtimeStatus(app, key(value))]).toEqual([200, 200]);
  await sql(root, 'DROP TRIGGER full');
  expect(await runtimeStatus(app, key(value))).toBe(200);
  expect((await admin.get('/api-keys')).body[0].lastUsedAt).not.toBeNull();
});

test('keys of the settings are listed without themselves, and cannot be deleted here', async () => {
  const { app } = await withAgent({
    env: { ...PASSWORD_ENV, SERVICE_API_KEYS: `${KEY}, ci=${KEY}-2@runtime+admin:read ,ops=${KEY}.3==@admin:write,` },
  });
  const admin = seat(app, await login(app));
  await newKey(admin, 'stored', ['runtime']);
  const { body } = await admin.get('/api-keys');
  expect(body.map((item: Json) => [item.id === null, item.name, item.hint, item.scopes, item.source])).toEqual([
    [true, 'key-1', '', ['runtime'], 'environment'],
    [true, 'ci', '', ['runtime', 'admin:read'], 'environment'],
    [true, 'ops', '', ['admin:write'], 'environment'],
    [false, 'stored', expect.stringMatching(/^aek_/), ['runtime'], 'database'],
  ]);
  expect(JSON.stringify(body)).not.toContain(KEY);
  const admins = async (value: string) => (await seat(app, key(value)).get('/agent')).status;
  expect([await admins(KEY), await admins(`${KEY}-2`), await admins(`${KEY}.3==`)]).toEqual([403, 200, 200]);
  const written = await seat(app, bearer(`${KEY}.3==`)).patch('/agent', { name: 'By program' });
  expect(written.status).toBe(200);
  expect((await admin.get('/revisions?limit=1')).body.items[0].actor).toBe('key:ops');
  expect((await admin.get('/audit?limit=1')).body.items[0]).toMatchObject({ actor: 'key:ops', action: 'agent.update' });
  expect((await admin.del('/api-keys/null')).status).toBe(422);
});

test.each([
  ['short', 'entry 1 is none'],
  [`${KEY},short`, 'entry 2 is none'],
  [`ci=${KEY}@root`, 'entry 1 is none'],
  [`ci=${KEY}@`, 'entry 1 is none'],
  [`ci=${KEY}@runtime,admin:read`, 'entry 2 is none'],
  [`c i=${KEY}`, 'entry 1 is none'],
  [`ci=${KEY} x`, 'entry 1 is none'],
])('a setting that holds no keys stops the start and is not shown: %s', (text, message) => {
  const read = (): unknown => readEnv({ SERVICE_API_KEYS: text });
  expect(read).toThrow(message);
  try {
    read();
  } catch (error) {
    expect((error as EnvProblem).message).not.toContain(KEY);
  }
});

test('SERVICE_REQUIRE_API_KEY closes the runtime to whoever brings neither key nor token', async () => {
  const { app } = await withAgent({
    env: { SERVICE_REQUIRE_API_KEY: 'true', SERVICE_API_KEYS: `chat=${KEY},look=${KEY}-2@admin:read` },
  });
  for (const path of ['/agent/capabilities', '/agent/sessions', '/agent/none']) {
    const refused = await seat(app).get(`/${path}`);
    expect(refused).toMatchObject({ status: 401, body: { detail: 'An API key is needed.' } });
    expect(refused.headers['www-authenticate']).toBe('Bearer');
  }
  expect((await run(app)).status).toBe(401);
  expect(await runtimeStatus(app, bearer('foreign'))).toBe(401);
  expect(await runtimeStatus(app, key(KEY))).toBe(200);
  expect(await runtimeStatus(app, key(`${KEY}-2`))).toBe(403);
  for (const path of ['/health', '/_engine/info', '/sso/info', '/docs']) {
    expect((await seat(app).get(`/${path}`)).status).toBe(200);
  }
  const provider = await startOidcProvider({ algorithms: ['ES256'] });
  const ana = await tokenOf(provider, 'ana@example.org');
  expect(await runtimeStatus(app, ana)).toBe(401);
  expect((await seat(app).patch('/sso', ssoOf(provider))).status).toBe(200);
  expect([await runtimeStatus(app, ana), await runtimeStatus(app, key(KEY)), await runtimeStatus(app)]).toEqual([
    200, 200, 401,
  ]);
});

test('in mode none a program on another machine may reload with a key for it, and with no other', async () => {
  const { app, admin } = await withAgent({
    env: { SERVICE_API_KEYS: `chat=${KEY},look=${KEY}-2@admin:read,ops=${KEY}-3@admin:write` },
  });
  const away = async (headers: Headers): Promise<number> => {
    const answer = await app.inject({ method: 'POST', url: '/reload', headers, remoteAddress: '192.0.2.7' });
    return answer.statusCode;
  };
  expect(await away({})).toBe(403);
  expect(await away(key('x'))).toBe(401);
  expect(await away(key(KEY))).toBe(403);
  expect(await away(key(`${KEY}-2`))).toBe(403);
  expect(await away(key(`${KEY}-3`))).toBe(200);
  expect(await away(bearer(`${KEY}-3`))).toBe(200);
  // Here, whoever shows a key is known by it.
  expect((await seat(app, key(`${KEY}-3`)).post('//reload')).status).toBe(200);
  expect((await seat(app, key('x')).post('//reload')).status).toBe(401);
  const { items } = (await admin.get('/audit?action=reload')).body;
  expect(items.filter((item: Json) => item.outcome === 'ok').map((item: Json) => item.actor)).toEqual([
    'key:ops',
    'key:ops',
    'key:ops',
  ]);
});
