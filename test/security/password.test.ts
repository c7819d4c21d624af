import { hashSync } from 'bcryptjs';
import { expect, test } from 'vitest';
import { EnvProblem } from '../../src/env.ts';
import { createTestApp, tempFolder } from '../support/app.ts';
import { startOidcProvider } from '../support/oidc.ts';
import {
  call,
  cookieOf,
  echoApp,
  HASH,
  login,
  OWN_PAGE,
  PASSWORD,
  PASSWORD_MODE,
  passwordApp,
  SECRET,
  sql,
  ssoMode,
  statusFor,
  tryLogin,
} from './support.ts';

const NEW = 'battery staple';

test('without a password the server does not start, and says what is missing', async () => {
  const { SERVICE_ADMIN_PASSWORD_HASH: _, ...env } = PASSWORD_MODE;
  const starting = createTestApp({ env });
  await expect(starting).rejects.toThrow(EnvProblem);
  await expect(starting).rejects.toThrow(/SERVICE_ADMIN_PASSWORD_HASH.*hash-password/);
});

test.each([
  ['no session secret', { SERVICE_SESSION_SECRET: '' }, 'SERVICE_SESSION_SECRET'],
  ['a short session secret', { SERVICE_SESSION_SECRET: 's'.repeat(31) }, 'SERVICE_SESSION_SECRET'],
  ['a password in the place of its hash', { SERVICE_ADMIN_PASSWORD_HASH: PASSWORD }, 'SERVICE_ADMIN_PASSWORD_HASH'],
])('with %s the server does not start, and does not show it', async (_, env, name) => {
  const starting = passwordApp(env);
  await expect(starting).rejects.toThrow(EnvProblem);
  await expect(starting).rejects.toThrow(name);
  await expect(starting).rejects.not.toThrow(/ssss|correct horse/);
});

test('the hash of the settings counts at the first start only; later it may be another, or missing', async () => {
  const root = tempFolder();
  const first = await passwordApp({}, { root });
  await login(first.app);
  await first.app.close();
  const second = await passwordApp({ SERVICE_ADMIN_PASSWORD_HASH: hashSync(NEW, 4) }, { root });
  expect((await tryLogin(second.app, NEW)).statusCode).toBe(401);
  await login(second.app);
  await second.app.close();
  const third = await passwordApp({ SERVICE_ADMIN_PASSWORD_HASH: '' }, { root });
  await login(third.app);
});

test('a line end after hash and secret, as files have it, does no harm', async () => {
  const root = tempFolder();
  const env = { SERVICE_ADMIN_PASSWORD_HASH: `${HASH}\n`, SERVICE_SESSION_SECRET: `${SECRET}\r\n` };
  const { app } = await passwordApp(env, { root });
  const cookie = await login(app);
  const { app: other } = await passwordApp({}, { root });
  expect(await statusFor(other, cookie)).toBe(200);
});

test.each([
  ['another', 'correct horse'],
  ['one in another case', PASSWORD.toUpperCase()],
  ['one with a blank behind it', `${PASSWORD} `],
  ['one with a null behind it', `${PASSWORD}\0x`],
  ['a long one', 'x'.repeat(1024)],
  ['one in other letters', 'сorrect horse battery'],
  ['the hash itself', HASH],
  ['an empty one', ''],
])('a wrong password is refused, with nothing to tell by which (%s)', async (_, password) => {
  const { app } = await passwordApp();
  const response = await tryLogin(app, password);
  expect(response.statusCode).toBe(401);
  expect(response.json()).toEqual({
    detail: 'The password is wrong.',
    error: { code: 'auth_required', message: 'The password is wrong.' },
  });
  expect(response.headers['set-cookie']).toBeUndefined();
});

test.each([[undefined], [null], [17], [['a']], [{ $ne: '' }], ['x'.repeat(1025)]])(
  'what is no password is a 422 that repeats nothing of it (%#)',
  async (password) => {
    const { app } = await passwordApp();
    const response = await tryLogin(app, password);
    expect(response.statusCode).toBe(422);
    expect(response.json()).toMatchObject({ detail: [{ loc: ['body', 'password'] }] });
    expect(response.body).not.toMatch(/xxxx|\$ne/);
  },
);

test('an admin who has no row is refused like a wrong password', async () => {
  const { app, root } = await passwordApp();
  await sql(root, 'DELETE FROM admin_sessions');
  await sql(root, 'DELETE FROM admin_users');
  const response = await tryLogin(app, PASSWORD);
  expect(response.statusCode).toBe(401);
  expect(response.json()).toMatchObject({ error: { message: 'The password is wrong.' } });
});

test('letters of all kinds make a password', async () => {
  const password = 'pässwörd 日本 🐎';
  const { app } = await passwordApp({ SERVICE_ADMIN_PASSWORD_HASH: hashSync(password, 4) });
  expect((await tryLogin(app, 'password 日本 🐎')).statusCode).toBe(401);
  await login(app, password);
});

const change = (app: Parameters<typeof call>[0], cookie: string, currentPassword: unknown, newPassword: unknown) =>
  call(app, 'POST', '/auth/change-password', { cookie }, { currentPassword, newPassword } as object);

test('a password is changed by who knows the old one; the new one counts at once', async () => {
  const { app, root } = await passwordApp();
  const cookie = await login(app);
  const wrong = await change(app, cookie, 'wrong', NEW);
  expect(wrong.statusCode).toBe(401);
  expect(wrong.json()).toMatchObject({ error: { code: 'auth_required' } });
  const changed = await change(app, cookie, PASSWORD, NEW);
  expect(changed.statusCode).toBe(200);
  expect(changed.json()).toEqual({ ok: true });
  expect((await tryLogin(app, PASSWORD)).statusCode).toBe(401);
  await login(app, NEW);
  const [row] = await sql<{ password_hash: string; rotated_at: number }>(root, 'SELECT * FROM admin_users');
  expect(row?.password_hash).toMatch(/^\$2[aby]\$12\$/);
  expect(row?.rotated_at).toBeGreaterThan(0);
});

test.each([
  ['short', '1234567', 'string_too_short'],
  ['empty', '', 'string_too_short'],
  ['longer than bcrypt reads', 'x'.repeat(73), 'string_too_long'],
  ['longer than bcrypt reads in bytes', '🐎'.repeat(19), 'string_too_long'],
])('a new password that is %s is refused before the old one is looked at', async (_, next, type) => {
  const { app } = await passwordApp();
  const cookie = await login(app);
  const response = await change(app, cookie, 'wrong', next);
  expect(response.statusCode).toBe(422);
  expect(response.json()).toMatchObject({ detail: [{ loc: ['body', 'newPassword'], type }] });
  await login(app);
});

test('a change needs a login: no cookie, a wrong one and a key are 401', async () => {
  const key = 'planted-admin-key-0123456789';
  const { app } = await passwordApp({ SERVICE_API_KEYS: `ops=${key}@admin:write` });
  const body = { currentPassword: PASSWORD, newPassword: NEW };
  for (const headers of [{}, { cookie: 'service_session=x.y' }, { 'x-api-key': key }] as Record<string, string>[]) {
    for (const payload of [body, {}]) {
      const { statusCode } = await call(app, 'POST', '/auth/change-password', headers, payload);
      expect(statusCode, JSON.stringify(headers)).toBe(401);
    }
  }
  await login(app);
});

test('of two who change the password at once only one does', async () => {
  const { app } = await passwordApp();
  const cookies = [await login(app), await login(app)];
  const wanted = ['first choice', 'second choice'];
  const answers = await Promise.all(cookies.map((cookie, index) => change(app, cookie, PASSWORD, wanted[index])));
  expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([200, 401]);
  const winner = answers.findIndex(({ statusCode }) => statusCode === 200);
  expect(await Promise.all(cookies.map((cookie) => statusFor(app, cookie)))).toEqual(
    cookies.map((_, index) => (index === winner ? 200 : 401)),
  );
  await login(app, wanted[winner]);
});

test('a login of the old password that is under way while it is changed does not survive that', async () => {
  const { app, root } = await passwordApp({ SERVICE_ADMIN_PASSWORD_HASH: hashSync(PASSWORD, 8) });
  const own = await login(app);
  let isChanged = false;
  const changing = change(app, own, PASSWORD, NEW).finally(() => {
    isChanged = true;
  });
  const cookies: string[] = [];
  const racer = async (): Promise<void> => {
    while (!isChanged) {
      const answer = await tryLogin(app, PASSWORD);
      if (answer.statusCode === 200) cookies.push(cookieOf(answer));
    }
  };
  await Promise.all([racer(), racer(), racer()]);
  expect((await changing).statusCode).toBe(200);
  expect(cookies.length).toBeGreaterThan(0);
  for (const cookie of cookies) expect(await statusFor(app, cookie)).toBe(401);
  expect(await statusFor(app, own)).toBe(200);
  expect(await sql(root, 'SELECT id FROM admin_sessions')).toHaveLength(1);
});

test('each mode says how one logs in; where there is no password there is none to use', async () => {
  const { issuer } = await startOidcProvider();
  const modes: [mode: string, env: Record<string, string>, authenticated: boolean, password: number][] = [
    ['none', {}, true, 503],
    ['password', PASSWORD_MODE, false, 401],
    ['sso', ssoMode(issuer), false, 503],
  ];
  for (const [authMode, env, authenticated, status] of modes) {
    const { app } = await echoApp({ env });
    const me = await call(app, 'GET', '/auth/me');
    expect(me.statusCode).toBe(200);
    expect(me.json()).toEqual({ authenticated, authMode });
    expect(me.headers['cache-control']).toBe('no-store');
    expect((await tryLogin(app, 'wrong')).statusCode, authMode).toBe(status);
    const changed = await change(app, 'service_session=x.y', PASSWORD, NEW);
    expect(changed.statusCode, authMode).toBe(status);
    if (status === 503) expect(changed.json()).toMatchObject({ error: { code: 'unsupported_mode' } });
    for (const cookie of ['', 'service_session=x.y']) {
      const out = await call(app, 'POST', '/auth/logout', { cookie });
      expect(out.statusCode, authMode).toBe(200);
      expect(out.json()).toEqual({ ok: true });
    }
    const foreign = await call(app, 'POST', '/auth/login', { ...OWN_PAGE, origin: 'https://evil.example' }, {});
    expect(foreign.statusCode, authMode).toBe(403);
  }
});

test('me tells whoever is logged in that he is', async () => {
  const { app } = await passwordApp();
  const cookie = await login(app);
  const me = await call(app, 'GET', '/auth/me', { cookie });
  expect(me.json()).toEqual({ authenticated: true, authMode: 'password' });
});
