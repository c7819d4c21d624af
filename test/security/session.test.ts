import { createHash, createHmac } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tempFolder } from '../support/app.ts';
import {
  call,
  cookieOf,
  HOST,
  login,
  OWN_PAGE,
  PASSWORD,
  passwordApp,
  SECRET,
  sql,
  statusFor,
  tryLogin,
} from './support.ts';

/** A cookie as the server signs it, under whatever secret. */
function signed(value: string, secret: string): string {
  const signature = createHmac('sha256', secret).update(value).digest('base64').replace(/=+$/, '');
  return `service_session=${encodeURIComponent(`${value}.${signature}`)}`;
}

const signedValue = (cookie: string): string => decodeURIComponent(cookie.slice('service_session='.length));

const WAYS: [name: string, headers: Record<string, string>, env: Record<string, string>, secure: boolean][] = [
  ['over http', {}, {}, false],
  ['behind a proxy that speaks TLS', { 'x-forwarded-proto': 'https' }, {}, true],
  ['behind a trusted proxy that speaks TLS', { 'x-forwarded-proto': 'https' }, { SERVICE_TRUST_PROXY: '1' }, true],
  ['behind a proxy that speaks none', { 'x-forwarded-proto': 'http' }, {}, false],
  ['with a shorter life', {}, { SERVICE_SESSION_TTL_HOURS: '2' }, false],
];

test.each(WAYS)('the cookie has exactly the attributes it should have (%s)', async (_, headers, env, secure) => {
  const { app } = await passwordApp(env);
  const origin = secure ? { origin: `https://${HOST}` } : {};
  const response = await tryLogin(app, PASSWORD, { ...headers, ...origin });
  const [pair, ...attributes] = String(response.headers['set-cookie']).split('; ');
  expect(pair).toMatch(/^service_session=[\w-]{43}\.[\w%.+/-]+$/);
  const maxAge = `Max-Age=${3600 * Number(env.SERVICE_SESSION_TTL_HOURS ?? 24)}`;
  const wanted = ['HttpOnly', maxAge, 'Path=/', 'SameSite=Lax', ...(secure ? ['Secure'] : [])];
  expect(attributes.sort()).toEqual(wanted);
  expect(response.headers['cache-control']).toBe('no-store');
  const out = await call(app, 'POST', '/auth/logout', { ...headers, ...origin, cookie: pair as string });
  const [cleared, ...others] = String(out.headers['set-cookie']).split('; ');
  expect(cleared).toBe('service_session=');
  expect(others.sort()).toEqual(wanted.map((text) => text.replace(/^Max-Age=.*/, 'Max-Age=0')));
});

test('a cookie nobody here has signed opens nothing', async () => {
  const { app, root } = await passwordApp();
  const cookie = await login(app);
  const value = signedValue(cookie);
  const [id = '', time = '', signature = ''] = value.split('.');
  const flipped = (text: string): string => (text.startsWith('A') ? 'B' : 'A') + text.slice(1);
  const [row] = await sql<{ id: string }>(root, 'SELECT id FROM admin_sessions');
  const made: Record<string, string> = {
    unsigned: `service_session=${id}`,
    'without its signature': `service_session=${id}.${time}`,
    'of another secret': signed(`${id}.${time}`, 'another-secret-0123456789-0123456789'),
    'of an empty secret': signed(`${id}.${time}`, ' '),
    'with another id': `service_session=${encodeURIComponent(`${flipped(id)}.${time}.${signature}`)}`,
    'with another time': `service_session=${encodeURIComponent(`${id}.${flipped(time)}.${signature}`)}`,
    'with another signature': `service_session=${encodeURIComponent(`${id}.${time}.${flipped(signature)}`)}`,
    'cut by one character': `service_session=${encodeURIComponent(value.slice(0, -1))}`,
    'with one more': `service_session=${encodeURIComponent(`${value}A`)}`,
    'of the key in the database': `service_session=${row?.id}`,
    'signed, of the key in the database': signed(`${row?.id}.${time}`, SECRET),
    'signed, of an id that is none': signed('A'.repeat(43), SECRET),
    'signed, of nothing': signed('', SECRET),
    'of a name of the language': signed('__proto__', SECRET),
    'of another name': cookie.replace('service_session', 'Service_Session'),
    empty: 'service_session=',
    'of bad escapes': 'service_session=%E0%A4%A',
    'of many characters': `service_session=${'a'.repeat(7_000)}`,
    'behind a wrong one': `service_session=wrong; ${cookie}`,
  };
  for (const [name, forged] of Object.entries(made)) {
    const response = await call(app, 'GET', '/agent', { cookie: forged });
    expect(response.statusCode, name).toBe(401);
    expect(response.json(), name).toMatchObject({ error: { code: 'auth_required' } });
    expect((await call(app, 'GET', '/auth/me', { cookie: forged })).json()).toMatchObject({ authenticated: false });
  }
  expect(await statusFor(app, cookie)).toBe(200);
  expect(await statusFor(app, `theme=dark; ${cookie}; a=b`)).toBe(200);
});

test('a cookie that is sent again after its logout opens nothing; others live on', async () => {
  const { app } = await passwordApp();
  const [mine, other] = [await login(app), await login(app)];
  expect(mine).not.toBe(other);
  expect((await call(app, 'POST', '/auth/logout', { cookie: mine })).statusCode).toBe(200);
  expect(await statusFor(app, mine)).toBe(401);
  expect(await statusFor(app, other)).toBe(200);
  expect((await call(app, 'POST', '/auth/logout', { cookie: mine })).statusCode).toBe(200);
});

test('a page elsewhere can log nobody out, nor in', async () => {
  const { app } = await passwordApp();
  const cookie = await login(app);
  const page = { host: HOST, origin: 'https://evil.example' };
  expect((await call(app, 'POST', '/auth/logout', { ...page, cookie })).statusCode).toBe(403);
  expect(await statusFor(app, cookie)).toBe(200);
  const answer = await tryLogin(app, PASSWORD, page);
  expect(answer.statusCode).toBe(403);
  expect(answer.headers['set-cookie']).toBeUndefined();
});

test('a session ends when its time has come, whatever the cookie says, and is forgotten', async () => {
  const { app, root } = await passwordApp();
  const cookie = await login(app);
  const [row] = await sql<{ expires_at: number }>(root, 'SELECT * FROM admin_sessions');
  expect(Math.abs((row?.expires_at ?? 0) - Date.now() - 24 * 3_600_000)).toBeLessThan(60_000);
  expect(await statusFor(app, cookie)).toBe(200);
  // Reading does not make it longer.
  expect(await sql(root, 'SELECT expires_at FROM admin_sessions')).toEqual([{ expires_at: row?.expires_at }]);
  await sql(root, `UPDATE admin_sessions SET expires_at = ${Date.now() - 1}`);
  expect(await statusFor(app, cookie)).toBe(401);
  expect(await sql(root, 'SELECT * FROM admin_sessions')).toEqual([]);
});

test('sessions nobody comes back to are forgotten at the next login', async () => {
  const { app, root } = await passwordApp();
  for (let count = 0; count < 3; count += 1) await login(app);
  await sql(root, `UPDATE admin_sessions SET expires_at = ${Date.now() - 1}`);
  await login(app);
  expect(await sql(root, 'SELECT * FROM admin_sessions')).toHaveLength(1);
});

test('a change of the password ends all sessions but the one that made it', async () => {
  const { app } = await passwordApp();
  const cookies = [await login(app), await login(app), await login(app)];
  const body = { currentPassword: PASSWORD, newPassword: 'battery staple' };
  const changed = await call(app, 'POST', '/auth/change-password', { cookie: cookies[1] as string }, body);
  expect(changed.statusCode).toBe(200);
  const statuses = await Promise.all(cookies.map((cookie) => statusFor(app, cookie)));
  expect(statuses).toEqual([401, 200, 401]);
});

test('what is changed with the cookie must come from a page of this server', async () => {
  const ui = 'https://ui.example.org';
  const { app } = await passwordApp({ SERVICE_CORS_ORIGINS: ui });
  const cookie = await login(app);
  const word = { name: 'word', position: 'input', guardrail: { config_id: 'ban_list', banned_words: ['x'] } };
  const calls: [method: 'POST' | 'PATCH' | 'PUT', url: string, payload: object][] = [
    ['POST', '/admin/api/v1/guardrails', word],
    ['PATCH', '/admin/api/v1/agent', { name: 'renamed' }],
    ['POST', '/admin/api/v1/onboarding/scan', {}],
    ['POST', '/admin/api/v1/validate', { yaml: '{}' }],
    ['PUT', '/api/v1/agents/x/status', { status: 'active' }],
    ['POST', '/reload', {}],
    ['POST', '/admin/api/v1/auth/change-password', { currentPassword: PASSWORD, newPassword: 'battery staple' }],
  ];
  const refused: [headers: Record<string, string>, says: string][] = [
    [{}, 'Origin'],
    [{ 'sec-fetch-site': 'none' }, 'Origin'],
    [{ 'sec-fetch-site': 'cross-site' }, 'origin'],
    [{ origin: 'https://evil.example' }, 'origin'],
    [{ origin: 'null' }, 'origin'],
    [{ origin: 'http://localhost:3000' }, 'origin'],
    [{ origin: `http://${HOST}.evil.example` }, 'origin'],
  ];
  for (const [method, url, payload] of calls) {
    for (const [headers, says] of refused) {
      const response = await app.inject({ method, url, payload, headers: { host: HOST, cookie, ...headers } });
      expect(response.statusCode, `${url} ${JSON.stringify(headers)}`).toBe(403);
      expect(JSON.stringify(response.json()), url).toContain(says);
    }
  }
  for (const headers of [OWN_PAGE, { host: HOST, origin: ui }, { host: HOST, 'sec-fetch-site': 'same-origin' }]) {
    const response = await app.inject({
      method: 'POST',
      url: '/admin/api/v1/onboarding/scan',
      payload: {},
      headers: { ...headers, cookie },
    });
    expect(response.statusCode, JSON.stringify(headers)).toBe(200);
  }
  for (const headers of [{ host: HOST }, { host: HOST, origin: 'https://evil.example' }]) {
    const response = await app.inject({ url: '/admin/api/v1/agent', headers: { ...headers, cookie } });
    expect(response.statusCode).toBe(200);
    expect(response.headers['access-control-allow-origin']).toBeUndefined();
  }
});

test('over TLS a page of the same name without TLS is another', async () => {
  const { app } = await passwordApp();
  const cookie = await login(app);
  const post = (origin: string) =>
    call(app, 'POST', '/onboarding/scan', { origin, cookie, 'x-forwarded-proto': 'https' }, {});
  expect((await post(`http://${HOST}`)).statusCode).toBe(403);
  expect((await post(`https://${HOST}`)).statusCode).toBe(200);
});

test('nothing on the disk can be sent as a cookie', async () => {
  const { app, root } = await passwordApp();
  const cookie = await login(app);
  const [id = '', , signature = ''] = signedValue(cookie).split('.');
  const rows = await sql<{ id: string }>(root, 'SELECT * FROM admin_sessions');
  expect(rows.map((row) => row.id)).toEqual([createHash('sha256').update(id).digest('hex')]);
  const folder = join(root, 'data');
  const bytes = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'latin1'));
  for (const text of bytes) for (const secret of [id, signature, SECRET, PASSWORD]) expect(text).not.toContain(secret);
});

test('servers of one database and one secret know each other’s sessions; of another secret they do not', async () => {
  const root = tempFolder();
  const one = await passwordApp({}, { root });
  const two = await passwordApp({}, { root });
  const cookies = [await login(one.app), await login(two.app)] as [string, string];
  expect(await statusFor(one.app, cookies[1])).toBe(200);
  expect(await statusFor(two.app, cookies[0])).toBe(200);
  await call(one.app, 'POST', '/auth/logout', { cookie: cookies[1] });
  expect(await statusFor(two.app, cookies[1])).toBe(401);
  const other = await passwordApp({ SERVICE_SESSION_SECRET: 'another-secret-0123456789-0123456789' }, { root });
  expect(await statusFor(other.app, cookies[0])).toBe(401);
});

test('a restart ends no session', async () => {
  const first = await passwordApp();
  const cookie = cookieOf(await tryLogin(first.app, PASSWORD));
  await first.app.close();
  const second = await passwordApp({}, { root: first.root });
  expect(await statusFor(second.app, cookie)).toBe(200);
});
