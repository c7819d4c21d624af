import { expect, test } from 'vitest';
import { type Json, withAgent } from '../admin/support.ts';
import { command, startServer } from '../cli/command.ts';
import { ECHO } from '../support/agents.ts';
import { createTestApp, tempFolder } from '../support/app.ts';
import { type OidcProvider, startOidcProvider } from '../support/oidc.ts';
import { bearer, type Headers, login, PASSWORD_ENV, run, runtimeStatus, seat, ssoOf, tokenOf } from './support.ts';

const ROOT = 'root@example.org';
const ANA = 'ana@example.org';
const ES256 = { algorithms: ['ES256'] };

/** Settings of mode sso; with a provider, it is the settings' own. */
const ssoEnv = (provider?: OidcProvider, more: Headers = {}): Headers => ({
  SERVICE_ADMIN_AUTH_MODE: 'sso',
  SERVICE_ADMIN_ALLOWED_EMAILS: ROOT,
  ...(provider !== undefined && {
    SERVICE_ADMIN_OIDC_ISSUER: provider.issuer,
    SERVICE_ADMIN_OIDC_CLIENT_ID: 'agent',
  }),
  ...more,
});

async function governed(more: Headers = {}) {
  const provider = await startOidcProvider(ES256);
  const server = await withAgent({ env: ssoEnv(provider, more) });
  const root = await tokenOf(provider, ROOT);
  return { ...server, provider, admin: seat(server.app, root), rootHeaders: root };
}

async function adminStatus(app: Parameters<typeof seat>[0], headers: Headers): Promise<number> {
  return (await seat(app, headers).get('/agent')).status;
}

test('the surface is for admins of the provider that the settings name', async () => {
  const { app, admin, provider } = await governed();
  expect((await admin.get('/agent')).status).toBe(200);
  const none = await seat(app).get('/agent');
  expect(none).toMatchObject({ status: 401, body: { detail: expect.any(String), error: { code: 'auth_required' } } });
  expect(none.headers['www-authenticate']).toBe('Bearer');
  const ana = await tokenOf(provider, ANA);
  const bad = [
    ana,
    bearer('x'),
    bearer(await provider.sign({ sub: ROOT })),
    await tokenOf(provider, ROOT, { email_verified: false }),
    await tokenOf(provider, ROOT, { aud: 'other' }),
    await tokenOf(provider, ROOT, { exp: 1 }),
    await tokenOf(await startOidcProvider(ES256), ROOT),
    { cookie: 'service_session=x.y', 'x-service-user-id': ROOT },
  ];
  for (const headers of bad) {
    for (const [method, path] of [
      ['GET', '/agent'],
      ['GET', '/none'],
      ['DELETE', '/sso'],
      ['POST', '//reload'],
      ['PUT', '//api/v1/agents/x/status'],
    ] as const) {
      const answer = await seat(app, headers).call(method, path);
      expect(answer.status, `${method} ${path} ${JSON.stringify(headers)}`).toBe(401);
      expect(answer.headers['www-authenticate']).toMatch(/^Bearer/);
    }
  }
  expect((await admin.get('/none')).status).toBe(404);
  expect((await admin.post('//reload')).status).toBe(200);
});

test.each([
  [{ SERVICE_ADMIN_ALLOWED_EMAILS: '', SERVICE_ADMIN_ALLOWED_DOMAINS: 'example.org' }, [200, 200, 401, 401]],
  [
    { SERVICE_ADMIN_ALLOWED_EMAILS: 'Root@Example.org', SERVICE_ADMIN_ALLOWED_DOMAINS: 'other.org' },
    [200, 401, 200, 401],
  ],
  [{ SERVICE_ADMIN_ALLOWED_EMAILS: '*' }, [200, 200, 200, 200]],
  [{ SERVICE_ADMIN_ALLOWED_EMAILS: '', SERVICE_ADMIN_ALLOWED_DOMAINS: '*' }, [200, 200, 200, 200]],
])('who is an admin is a list of its own: %j', async (lists, expected) => {
  const { app, provider } = await governed(lists);
  const tokens = [ROOT, ANA, 'eve@other.org'].map((email) => tokenOf(provider, email));
  const headers = [...(await Promise.all(tokens)), bearer(await provider.sign({ sub: 'nobody' }))];
  expect(await Promise.all(headers.map((given) => adminStatus(app, given)))).toEqual(expected);
});

test('a stored configuration takes the place of the issuer of the settings, and gives it back', async () => {
  const { app, admin, provider, rootHeaders } = await governed({ SERVICE_ALLOW_PRIVATE_TARGETS: 'loopback' });
  const other = await startOidcProvider(ES256);
  const otherRoot = await tokenOf(other, ROOT);
  const statuses = async () => [await adminStatus(app, rootHeaders), await adminStatus(app, otherRoot)];
  expect(await statuses()).toEqual([200, 401]);
  expect((await admin.patch('/sso', ssoOf(other, { enabled: false }))).status).toBe(200);
  expect(await statuses()).toEqual([200, 401]);
  expect((await admin.patch('/sso', ssoOf(other, { allowedEmails: [ANA] }))).status).toBe(200);
  // Admins are told by their own lists, which need not be among those who chat.
  expect(await statuses()).toEqual([401, 200]);
  expect(await runtimeStatus(app, otherRoot)).toBe(401);
  const ana = await tokenOf(other, ANA);
  expect([await adminStatus(app, ana), await runtimeStatus(app, ana)]).toEqual([401, 200]);
  expect((await seat(app, otherRoot).del('/sso')).status).toBe(200);
  expect(await statuses()).toEqual([200, 401]);
  expect(provider.requests.discovery).toBe(1);
});

test('without an issuer of the settings nobody may lock everybody out', async () => {
  const provider = await startOidcProvider(ES256);
  const env = ssoEnv(undefined, { SERVICE_ALLOW_PRIVATE_TARGETS: 'loopback' });
  const first = await withAgent();
  await first.admin.patch('/sso', ssoOf(provider));
  const { app } = await createTestApp({ env, root: first.root });
  const admin = seat(app, await tokenOf(provider, ROOT));
  const before = (await admin.get('/revisions')).body.items.length;
  const disabled = ssoOf(provider, { enabled: false });
  const exported = String((await admin.get('/config/export')).body);
  const withoutSso = exported.replace(/^sso:(?:\n(?: .*)?)*/m, '');
  expect(withoutSso).not.toContain(provider.issuer);
  const attempts = [
    await admin.del('/sso'),
    await admin.patch('/sso', disabled),
    await admin.post('/config/import', { yaml: withoutSso }),
    await admin.post('/config/import?dry_run=true', { yaml: withoutSso }),
    // The agent alone, before there was a provider.
    await admin.post('/revisions/1/restore'),
  ];
  for (const answer of attempts) {
    expect(answer.status, JSON.stringify(answer.body)).toBe(422);
    expect(answer.body.detail).toEqual([expect.objectContaining({ loc: ['sso'] })]);
    expect(answer.body.detail[0].msg).toContain('SERVICE_ADMIN_OIDC_ISSUER');
  }
  // Another enabled one is anybody's right to store; so is everything else.
  expect((await admin.patch('/sso', ssoOf(provider, { allowedEmails: [ANA] }))).status).toBe(200);
  expect((await admin.patch('/agent', { name: 'Other' })).status).toBe(200);
  expect((await admin.get('/revisions')).body.items).toHaveLength(before + 2);
  expect(await runtimeStatus(app)).toBe(401);
});

test('with an issuer of the settings it may be switched off, deleted and imported away', async () => {
  const { app, admin, provider } = await governed();
  for (const off of [() => admin.del('/sso'), () => admin.patch('/sso', ssoOf(provider, { enabled: false }))]) {
    expect((await admin.patch('/sso', ssoOf(provider))).status).toBe(200);
    expect(await runtimeStatus(app)).toBe(401);
    expect((await off()).status).toBe(200);
    expect(await runtimeStatus(app)).toBe(200);
    expect((await admin.get('/agent')).status).toBe(200);
  }
});

test('a token says who has written what, and there is nothing to log in to', async () => {
  const { app, admin, provider } = await governed();
  expect((await admin.patch('/agent', { name: 'Renamed' })).status).toBe(200);
  expect((await admin.post('/guardrails', { name: 'x' })).status).toBe(422);
  expect((await admin.get('/revisions?limit=1')).body.items[0].actor).toBe(ROOT);
  const { items } = (await admin.get('/audit')).body;
  expect(items.map((item: Json) => [item.actor, item.action, item.outcome]).slice(0, 2)).toEqual([
    [ROOT, 'guardrails.create', 'refused'],
    [ROOT, 'agent.update', 'ok'],
  ]);
  const me = async (headers: Headers) => (await seat(app, headers).get('/auth/me')).body;
  expect(await me({})).toEqual({ authenticated: false, authMode: 'sso' });
  expect(await me(await tokenOf(provider, ROOT))).toEqual({ authenticated: true, authMode: 'sso' });
  expect(await me(await tokenOf(provider, ANA))).toEqual({ authenticated: false, authMode: 'sso' });
  for (const [path, body] of [
    ['/auth/login', { password: 'x' }],
    ['/auth/change-password', { currentPassword: 'x', newPassword: 'long enough' }],
  ] as const) {
    const answer = await admin.post(path, body);
    expect(answer).toMatchObject({ status: 503, body: { error: { code: 'unsupported_mode' } } });
  }
  expect((await seat(app).post('/auth/logout')).status).toBe(200);
});

test('while the runtime is open a token names the user, a bad one is refused, and without one the header counts', async () => {
  const { app, provider } = await governed();
  const ana = await tokenOf(provider, ANA);
  const named = { 'x-service-user-id': 'header-user' };
  expect((await run(app, { ...ana, ...named }, 'hello', 'thread-a')).status).toBe(200);
  expect((await run(app, named, 'hello', 'thread-h')).status).toBe(200);
  const users = async (headers: Headers) =>
    (await seat(app, headers).get('//agent/sessions')).body.map((item: Json) => item.userId);
  expect(await users(ana)).toEqual([ANA]);
  expect(await users(named)).toEqual(['header-user']);
  for (const headers of [
    bearer('x'),
    bearer(await provider.sign({ aud: 'other' })),
    { ...named, ...bearer('x.y.z') },
  ]) {
    expect(await runtimeStatus(app, headers)).toBe(401);
  }
});

test('only the issuer of the settings may be on this machine without leave', async () => {
  const { app, admin, provider, rootHeaders } = await governed();
  const other = await startOidcProvider(ES256);
  const ana = await tokenOf(other, ANA);
  // The settings' own may be stored as well.
  await admin.patch('/sso', ssoOf(provider));
  expect(await runtimeStatus(app, rootHeaders)).toBe(200);
  await admin.patch('/sso', ssoOf(other));
  expect(await runtimeStatus(app, ana)).toBe(401);
  expect(other.requests.discovery).toBe(0);
  // Which is how an admin could lock himself out: a program's key, or a restart without the record, lets him in again.
  expect(await adminStatus(app, rootHeaders)).toBe(401);
});

test.each([
  [{ ...PASSWORD_ENV }, 401],
  [{ ...PASSWORD_ENV, SERVICE_ALLOW_PRIVATE_TARGETS: 'false' }, 401],
  [{ ...PASSWORD_ENV, SERVICE_ALLOW_PRIVATE_TARGETS: 'private' }, 401],
  [{ ...PASSWORD_ENV, SERVICE_ALLOW_PRIVATE_TARGETS: 'true' }, 200],
  [{ ...PASSWORD_ENV, SERVICE_ALLOW_PRIVATE_TARGETS: '127.0.0.1' }, 200],
  [{ SERVICE_ALLOW_PRIVATE_TARGETS: 'false' }, 401],
  [{}, 200],
] as [Headers, number][])('a stored issuer is asked where the operator allows: %j', async (env, expected) => {
  const provider = await startOidcProvider(ES256);
  const { app } = await withAgent({ env });
  const admin = seat(app, 'SERVICE_SESSION_SECRET' in env ? await login(app) : {});
  expect((await admin.patch('/sso', ssoOf(provider))).status).toBe(200);
  expect(await runtimeStatus(app, await tokenOf(provider, ANA))).toBe(expected);
  expect(provider.requests.discovery).toBe(expected === 200 ? 1 : 0);
});

test('without an issuer, or without lists, the process says so and does not start', async () => {
  const provider = await startOidcProvider(ES256);
  const cwd = tempFolder({ 'agent.ts': ECHO });
  const start = (env: Headers) => command(['serve', 'agent.ts'], { cwd, env: { SERVICE_PORT: '0', ...env } });
  const bare = await start(ssoEnv());
  expect(bare.code).not.toBe(0);
  expect(bare.stderr).toContain('SERVICE_ADMIN_OIDC_ISSUER and SERVICE_ADMIN_OIDC_CLIENT_ID are needed in mode sso');
  expect(bare.stderr).not.toMatch(/^\s+at /m);
  const listless = await start(ssoEnv(provider, { SERVICE_ADMIN_ALLOWED_EMAILS: '' }));
  expect(listless.code).not.toBe(0);
  expect(listless.stderr).toContain('SERVICE_ADMIN_ALLOWED_EMAILS or SERVICE_ADMIN_ALLOWED_DOMAINS');
  const half = await start(ssoEnv(undefined, { SERVICE_ADMIN_OIDC_ISSUER: provider.issuer }));
  expect(half.stderr).toContain('need each other');
  const server = await startServer(['serve', 'agent.ts'], { cwd, env: ssoEnv(provider) });
  expect((await server.get('/admin/api/v1/agent')).status).toBe(401);
  expect((await server.get('/admin/api/v1/agent', await tokenOf(provider, ROOT))).status).toBe(200);
});
