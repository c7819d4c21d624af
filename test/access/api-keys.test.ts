import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { UNKNOWN_ID, withAgent } from '../admin/support.ts';
import { startOidcProvider } from '../support/oidc.ts';
import {
  bearer,
  type Headers,
  login,
  newKey,
  OURS,
  PASSWORD,
  PASSWORD_ENV,
  runtimeStatus,
  type Seat,
  seat,
  sql,
  ssoOf,
  tokenOf,
} from './support.ts';

const ROOT = 'root@example.org';
const key = (value: string): Headers => ({ 'x-api-key': value });

/** A server in mode password, and the admin in front of it. */
async function guarded(env: Headers = {}) {
  const server = await withAgent({ env: { ...PASSWORD_ENV, ...env } });
  return { ...server, admin: seat(server.app, await login(server.app)) };
}

test('a key is shown once, and only its hash is kept', async () => {
  const { app, root, admin } = await guarded();
  const wanted = { name: ' nightly report ', scopes: ['admin:write', 'runtime', 'runtime'], userId: 'reports' };
  const { status, body, headers } = await admin.post('/api-keys', wanted);
  expect(status).toBe(201);
  expect(headers['cache-control']).toBe('no-store');
  expect(body.key).toMatch(/^aek_[\w-]{43}$/);
  const { key: value, ...read } = body;
  expect(read).toEqual({
    id: expect.any(String),
    name: 'nightly report',
    hint: value.slice(0, 8),
    scopes: ['runtime', 'admin:write'],
    userId: 'reports',
    source: 'database',
    createdBy: 'admin',
    createdAt: expect.stringMatching(/Z$/),
    expiresAt: null,
    lastUsedAt: null,
  });
  const list = await admin.get('/api-keys');
  expect(list.body).toEqual([read]);
  expect(JSON.stringify([list.body, (await admin.get('/audit')).body])).not.toContain(value);
  const [row] = await sql(root, 'SELECT * FROM api_keys');
  expect(row?.hash).toBe(createHash('sha256').update(value).digest('hex'));
  expect(Object.values(row ?? {})).not.toContain(value);
  expect(await runtimeStatus(app, key(value))).toBe(200);
  const removed = await admin.del(`/api-keys/${read.id}`);
  expect(removed).toMatchObject({ status: 200, body: { id: read.id, deleted: true } });
  expect(await runtimeStatus(app, key(value))).toBe(401);
  expect((await admin.get('/api-keys')).body).toEqual([]);
  expect((await admin.del(`/api-keys/${read.id}`)).status).toBe(404);
  expect((await admin.del(`/api-keys/${UNKNOWN_ID}`)).status).toBe(404);
  expect((await admin.del('/api-keys/x')).status).toBe(422);
});

test('what cannot be a key is refused', async () => {
  const { admin } = await guarded();
  const good = { name: 'ci', scopes: ['runtime'] };
  const long = 'x'.repeat(257);
  const cases: [object, string][] = [
    [{}, 'body.name'],
    [{ ...good, name: ' ' }, 'body.name'],
    [{ ...good, name: 'x'.repeat(65) }, 'body.name'],
    [{ ...good, scopes: [] }, 'body.scopes'],
    [{ ...good, scopes: ['root'] }, 'body.scopes.0'],
    [{ ...good, scopes: 'runtime' }, 'body.scopes'],
    [{ ...good, userId: '' }, 'body.userId'],
    [{ ...good, userId: long }, 'body.userId'],
    [{ ...good, userId: 'a\nb' }, 'body.userId'],
    [{ ...good, expiresAt: '2001-01-01T00:00:00Z' }, 'body.expiresAt'],
    [{ ...good, expiresAt: new Date().toISOString() }, 'body.expiresAt'],
    [{ ...good, expiresAt: 'tomorrow' }, 'body.expiresAt'],
    [{ ...good, expiresAt: 1_900_000_000 }, 'body.expiresAt'],
  ];
  for (const [body, field] of cases) {
    const answer = await admin.post('/api-keys', body);
    expect(answer.status, JSON.stringify(body)).toBe(422);
    expect(answer.body.error.fieldErrors[0].field).toBe(field);
  }
  expect((await admin.get('/api-keys')).body).toEqual([]);
  const snake = await admin.post('/api-keys', { name: 'ci', user_id: 'u', expires_at: '2100-01-01T00:00:00+02:00' });
  expect(snake.body).toMatchObject({ scopes: ['runtime'], userId: 'u', expiresAt: '2099-12-31T22:00:00.000Z' });
});

/** What a caller is answered on each surface: to read, to write, to reload, to chat. */
async function surfaces({ get, post, patch }: Seat): Promise<number[]> {
  const answers = [
    await get('/agent'),
    await get('/audit'),
    await patch('/agent', {}),
    await post('/memory/check-connection'),
    await patch('//api/v1/guardrails/none', { name: 'x', guardrail: { config_id: 'ban_list', banned_words: ['x'] } }),
    await post('//reload'),
    await get('//agent/capabilities'),
  ];
  return answers.map(({ status }) => status);
}

const RUNTIME = [403, 403, 403, 403, 403, 403];
const READ = [200, 200, 403, 403, 403, 403];
// Where the gate lets it by there is nothing to be found.
const WRITE = [200, 200, 200, 404, 404, 200];

test.each(['password', 'sso'])('in mode %s a key may do what its scopes say', async (mode) => {
  const provider = await startOidcProvider({ algorithms: ['ES256'] });
  const env =
    mode === 'password'
      ? { ...PASSWORD_ENV, SERVICE_ALLOW_PRIVATE_TARGETS: 'loopback' }
      : {
          SERVICE_ADMIN_AUTH_MODE: 'sso',
          SERVICE_ADMIN_ALLOWED_EMAILS: ROOT,
          SERVICE_ADMIN_OIDC_ISSUER: provider.issuer,
          SERVICE_ADMIN_OIDC_CLIENT_ID: 'agent',
        };
  const { app } = await withAgent({ env });
  const admin = seat(app, mode === 'password' ? await login(app) : await tokenOf(provider, ROOT));
  const keys: [string, number[], number][] = [
    [await newKey(admin, 'chat', ['runtime']), RUNTIME, 200],
    [await newKey(admin, 'look', ['admin:read']), READ, 403],
    [await newKey(admin, 'ops', ['admin:write']), WRITE, 403],
    [await newKey(admin, 'all', ['runtime', 'admin:write']), WRITE, 200],
  ];
  for (const enforced of [false, true]) {
    if (enforced) expect((await admin.patch('/sso', ssoOf(provider))).status).toBe(200);
    for (const [value, expected, runtime] of keys) {
      // Where anybody may chat, any key may.
      const all = [...expected, enforced ? runtime : 200];
      for (const headers of [key(value), bearer(value), { authorization: `bearer  ${value} ` }]) {
        expect(await surfaces(seat(app, headers)), `${JSON.stringify(all)} ${enforced}`).toEqual(all);
      }
    }
    const unknown = `aek_${'x'.repeat(43)}`;
    for (const headers of [key(unknown), key('x'), key(''), bearer(unknown)]) {
      expect(await surfaces(seat(app, headers)), JSON.stringify(headers)).toEqual(Array(7).fill(401));
    }
  }
  // A bad key is not made good by something else that is.
  const mixed = mode === 'password' ? await login(app) : await tokenOf(provider, ROOT);
  expect((await seat(app, { ...mixed, ...key('x') }).get('/agent')).status).toBe(401);
});

test('a key that has expired is refused at once', async () => {
  const { app, admin, root } = await guarded();
  const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
  const value = await newKey(admin, 'short', ['runtime', 'admin:read'], { expiresAt });
  expect((await surfaces(seat(app, key(value))))[0]).toBe(200);
  await sql(root, `UPDATE api_keys SET expires_at = ${Date.now() - 1}`);
  expect(await surfaces(seat(app, key(value)))).toEqual(Array(7).fill(401));
  expect(await surfaces(seat(app, bearer(value)))).toEqual(Array(7).fill(401));
  // It stays on the list, so that one sees why a program fails.
  expect((await admin.get('/api-keys')).body).toMatchObject([{ name: 'short' }]);
});

test('where nobody is asked, an unknown key is refused and a foreign token is not looked at', async () => {
  const { app, admin } = await withAgent();
  const value = await newKey(seat(app), 'ci', ['runtime']);
  for (const headers of [key('x'), key(''), bearer('aek_none'), key(`${value}x`)]) {
    expect((await seat(app, headers).get('/agent')).status, JSON.stringify(headers)).toBe(401);
    expect(await runtimeStatus(app, headers), JSON.stringify(headers)).toBe(401);
  }
  for (const headers of [bearer('x'), bearer('a.b.c'), { authorization: 'Basic eDp5' }, { authorization: 'x' }]) {
    expect((await seat(app, headers).get('/agent')).status).toBe(200);
    expect(await runtimeStatus(app, headers)).toBe(200);
  }
  expect((await seat(app, key(value)).patch('/agent', { name: 'Renamed' })).status).toBe(200);
  expect((await admin.get('/revisions?limit=1')).body.items[0].actor).toBe('key:ci');
});

test('the password is for people: no key changes it, and none logs in', async () => {
  const { app, admin } = await guarded();
  const value = await newKey(admin, 'ops', ['runtime', 'admin:write']);
  const change = { currentPassword: PASSWORD, newPassword: 'battery staple' };
  for (const headers of [key(value), bearer(value), { ...OURS, ...key(value) }]) {
    expect((await seat(app, headers).post('/auth/change-password', change)).status).toBe(401);
  }
  expect((await admin.post('/auth/change-password', change)).status).toBe(200);
  // Nor does a new password end keys.
  expect((await seat(app, key(value)).get('/agent')).status).toBe(200);
  expect((await seat(app, key(value)).get('/auth/me')).body.authenticated).toBe(true);
});

test('a page of another site may not use a key; a program, which names none, may', async () => {
  const { app, admin } = await guarded();
  const value = await newKey(admin, 'ops', ['admin:write']);
  const patch = async (headers: Headers) => (await seat(app, { ...key(value), ...headers }).patch('/agent', {})).status;
  expect(await patch({ host: 'agent.test' })).toBe(200);
  expect(await patch({ host: 'agent.test', origin: 'http://agent.test' })).toBe(200);
  expect(await patch({ host: 'agent.test', origin: 'http://evil.test' })).toBe(403);
  expect(await patch({ host: 'agent.test', 'sec-fetch-site': 'cross-site' })).toBe(403);
});
