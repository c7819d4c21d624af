import type { FastifyInstance } from 'fastify';
import { expect, test } from 'vitest';
import { type TestApp, tempFolder } from '../support/app.ts';
import { startOidcProvider } from '../support/oidc.ts';
import { runInput } from '../support/runs.ts';
import { API, call, echoApp, HASH, HOST, login, PASSWORD, passwordApp, SECRET, ssoMode, tryLogin } from './support.ts';

const HTTPS = { 'x-forwarded-proto': 'https' };
const PLAIN = "default-src 'none'; frame-ancestors 'none'";

const ui = (): string => tempFolder({ 'index.html': '<!doctype html><title>UI</title>', 'app.js': 'void 0' });

/** What every answer carries. */
function expectGuarded(headers: Record<string, unknown>, what: string): void {
  expect(headers, what).toMatchObject({
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'referrer-policy': 'no-referrer',
    'content-security-policy': expect.stringMatching(/default-src '(none|self)'/),
    'x-request-id': expect.stringMatching(/^[\w.-]+$/),
  });
  expect(headers['x-powered-by'], what).toBeUndefined();
  expect(headers.server, what).toBeUndefined();
}

const PAGES = ['/', '/index.html', '/docs', '/redoc'];
const DATA = ['/health', '/openapi.json', '/app.js', '/runtime-config.js', '/nope', '/admin/api/v1/nope', '/%zz'];

test('every kind of answer carries the headers that hold browsers back', async () => {
  const { app } = await passwordApp({ SERVICE_UI_DIR: ui() });
  const answers: [string, Awaited<ReturnType<FastifyInstance['inject']>>][] = [
    ...(await Promise.all(
      [...PAGES, ...DATA].map(async (url) => [url, await app.inject({ url, headers: { host: HOST } })] as const),
    ).then((all) => all.map(([url, answer]) => [url, answer] as [string, typeof answer]))),
    ['login', await tryLogin(app, PASSWORD)],
    ['401', await tryLogin(app, 'wrong')],
    ['403', await tryLogin(app, PASSWORD, { origin: 'https://evil.example' })],
    ['422', await tryLogin(app, 7)],
    ['options', await app.inject({ method: 'OPTIONS', url: '/agent/run', headers: { host: HOST } })],
  ];
  for (const [what, { headers }] of answers) expectGuarded(headers, what);
  const run = await app.inject({ method: 'POST', url: '/agent/run', payload: runInput('hi'), headers: { host: HOST } });
  expect(run.headers['content-type']).toBe('text/event-stream');
  expectGuarded(run.headers, 'a stream');
  for (const url of DATA) {
    expect((await app.inject({ url, headers: { host: HOST } })).headers['content-security-policy'], url).toBe(PLAIN);
  }
});

test('pages may load nothing from elsewhere, run nothing in place, and be framed by nobody', async () => {
  const { app } = await passwordApp({ SERVICE_UI_DIR: ui() });
  for (const url of PAGES) {
    const { headers } = await app.inject({ url, headers: { host: HOST }, remoteAddress: '127.0.0.1' });
    const policy = String(headers['content-security-policy']);
    expect(policy, url).toContain("default-src 'self'");
    expect(policy, url).toContain("script-src 'self'");
    expect(policy, url).not.toMatch(/script-src[^;]*(unsafe|https?:|\*)/);
    expect(headers['x-frame-options'], url).toBe('DENY');
  }
  const page = await app.inject({ url: '/', headers: { host: HOST } });
  expect(page.headers['content-security-policy']).toMatch(/object-src 'none'.*base-uri 'self'.*frame-ancestors 'none'/);
});

test('a page may speak with the sign-on provider while there is one', async () => {
  const { issuer } = await startOidcProvider();
  const { app } = await echoApp({ env: { SERVICE_UI_DIR: ui() } });
  const policy = async (): Promise<string> =>
    String((await app.inject({ url: '/', headers: { host: HOST } })).headers['content-security-policy']);
  const patch = async (enabled: boolean): Promise<void> => {
    const sso = { enabled, issuer: `${issuer}/`, clientId: 'agent' };
    expect((await call(app, 'PATCH', '/sso', {}, { sso })).statusCode).toBe(200);
  };
  expect(await policy()).not.toContain(issuer);
  await patch(true);
  expect(await policy()).toContain(`connect-src 'self' ${issuer};`);
  expect(await policy()).toContain(`form-action 'self' ${issuer};`);
  await patch(false);
  expect(await policy()).not.toContain(issuer);
});

test('a policy of the operator replaces that of the pages, and of nothing else', async () => {
  const own = "default-src 'self' https://cdn.example.org";
  const { app } = await echoApp({ env: { SERVICE_UI_DIR: ui(), SERVICE_CONTENT_SECURITY_POLICY: own } });
  const policy = async (url: string) =>
    (await app.inject({ url, headers: { host: HOST } })).headers['content-security-policy'];
  expect(await policy('/')).toBe(own);
  expect(await policy('/health')).toBe(PLAIN);
  expect(await policy('/redoc')).not.toBe(own);
});

test('TLS is insisted on where it is spoken, and not where a laptop speaks none', async () => {
  const { app } = await echoApp({ env: { SERVICE_UI_DIR: ui() } });
  for (const url of ['/', '/health', '/nope', `${API}/agent`, '/docs']) {
    const get = async (headers: Record<string, string>) =>
      (await app.inject({ url, headers: { host: HOST, ...headers } })).headers['strict-transport-security'];
    expect(await get({}), url).toBeUndefined();
    expect(await get({ 'x-forwarded-proto': 'http' }), url).toBeUndefined();
    expect(await get(HTTPS), url).toBe('max-age=15552000');
  }
  const payload = runInput('hi');
  const run = await app.inject({ method: 'POST', url: '/agent/run', payload, headers: { host: HOST, ...HTTPS } });
  expect(run.headers['strict-transport-security']).toMatch(/^max-age=/);
});

test('refusals name the request under which the log has it', async () => {
  const { app } = await passwordApp({ SERVICE_RATE_LIMIT_ADDRESS: '9' });
  const id = 'my-request.1';
  const seen = new Set<number>();
  for (let count = 0; count < 12; count += 1) {
    const answer = await call(app, 'POST', '/guardrails', { 'x-request-id': id, cookie: 'service_session=x' }, {});
    seen.add(answer.statusCode);
    expect(answer.headers['x-request-id']).toBe(id);
  }
  expect([...seen]).toEqual([401, 429]);
  const foreign = await app.inject({ url: '/agent/sessions', headers: { host: HOST, 'x-request-id': 'a b\tc' } });
  expect(foreign.headers['x-request-id']).toMatch(/^[\da-f-]{36}$/);
  const page = { origin: 'https://evil.example', 'x-request-id': id };
  const refused = await call(app, 'POST', '/guardrails', page, {});
  expect(refused.statusCode).toBe(403);
  expect(refused.headers['x-request-id']).toBe(id);
});

const KEY = 'planted-admin-key-0123456789';
const TYPED = 'planted-wrong-password';

test('no secret comes back in an error, nor is it in the log', async () => {
  const { issuer, token, sign } = await startOidcProvider();
  const keys = { SERVICE_API_KEYS: `ops=${KEY}@runtime`, SERVICE_RELOAD_TOKEN: 'planted-reload-token' };
  const servers: TestApp[] = [
    await passwordApp(keys),
    await echoApp({ env: { ...keys, ...ssoMode(issuer), SERVICE_LOG_LEVEL: 'trace' } }),
    await echoApp({ env: { ...keys, SERVICE_LOG_LEVEL: 'trace' } }),
  ];
  const cookie = await login(servers[0]?.app as FastifyInstance);
  const good = await token({ email: 'user@example.org' });
  const bad = await sign({ email: 'boss@example.org', aud: 'planted-audience' });
  const made = 'aek_planted-unknown-key-0123456789';
  const shown: Record<string, string>[] = [
    { cookie },
    { cookie: `${cookie}x` },
    { 'x-api-key': KEY },
    { 'x-api-key': made },
    { authorization: `Bearer ${made}` },
    { authorization: `Bearer ${good}` },
    { authorization: `Bearer ${bad}` },
    { authorization: `Basic ${btoa(`admin:${TYPED}`)}` },
  ];
  const secrets = [
    ...[PASSWORD, TYPED, HASH, SECRET, KEY, made, good, bad, 'planted-reload-token', 'planted-audience'],
    ...[cookie.split('=')[1], decodeURIComponent(cookie).split('.').at(-1), btoa(`admin:${TYPED}`)],
  ] as string[];
  for (const { app, logs } of servers) {
    const bodies: string[] = [];
    for (const headers of shown) {
      const typed = { currentPassword: TYPED, newPassword: TYPED, password: TYPED };
      for (const [method, path, payload] of [
        ['POST', '/auth/change-password', { currentPassword: TYPED, newPassword: TYPED.repeat(9) }],
        ['POST', '/auth/change-password', { ...typed, currentPassword: [TYPED] }],
        ['POST', '/auth/login', { password: [TYPED] }],
        ['POST', '/api-keys', { name: 7, scopes: [TYPED] }],
        ['GET', '/agent', undefined],
        ['GET', `/auth/me?password=${TYPED}`, undefined],
      ] as const) {
        bodies.push((await call(app, method, path, headers, payload)).body);
      }
      const raw = { method: 'POST' as const, url: `${API}/auth/login`, payload: `{"password": ${TYPED}` };
      bodies.push((await app.inject({ ...raw, headers: { host: HOST, 'content-type': 'application/json' } })).body);
      bodies.push((await app.inject({ url: '/agent/sessions', headers: { host: HOST, ...headers } })).body);
    }
    bodies.push((await tryLogin(app, TYPED)).body);
    const lines = JSON.stringify(logs);
    expect(logs.length).toBeGreaterThan(0);
    for (const secret of secrets) {
      expect(lines, `the log and ${secret}`).not.toContain(secret);
      for (const body of bodies) expect(body, `a body and ${secret}`).not.toContain(secret);
    }
  }
});
