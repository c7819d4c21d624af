import { join } from 'node:path';
import Fastify, { type FastifyInstance } from 'fastify';
import { expect, test } from 'vitest';
import { errors } from '../../src/http/plugins/errors.ts';
import { rateLimits } from '../../src/http/plugins/rate-limit.ts';
import { withAgent } from '../admin/support.ts';
import { createTestApp, tempFolder } from '../support/app.ts';
import { createGate, gatedAgent } from '../support/gates.ts';
import { startOidcProvider } from '../support/oidc.ts';
import { runInput } from '../support/runs.ts';
import { type Headers, login, newKey, OURS, PASSWORD_ENV, run, seat, ssoOf, tokenOf } from './support.ts';

const limits = (address: number, user: number, more: Headers = {}) => ({
  env: { SERVICE_RATE_LIMIT_ADDRESS: String(address), SERVICE_RATE_LIMIT_USER: String(user), ...more },
});

/** Asks from an address, and gives the status. */
async function ask(app: FastifyInstance, url: string, headers: Headers = {}, remoteAddress = '127.0.0.1') {
  return (await app.inject({ url, headers, remoteAddress })).statusCode;
}

/** Asks again and again, and gives how often it was let in before it was told to wait. */
async function allowed(most: number, request: () => Promise<number>): Promise<number> {
  for (let count = 0; count < most; count += 1) if ((await request()) === 429) return count;
  return most;
}

const RUNTIME = '/agent/capabilities';
const ADMIN = '/admin/api/v1/agent';

test('an address may call so often, on the runtime and on the admin surface apart', async () => {
  const { app } = await withAgent(limits(3, 0));
  expect(await allowed(9, () => ask(app, RUNTIME))).toBe(3);
  expect(await allowed(9, () => ask(app, ADMIN))).toBe(3);
  expect(await ask(app, RUNTIME, {}, '192.0.2.7')).toBe(200);
  const refused = [await seat(app).get(`/${RUNTIME}`), await run(app), await seat(app).get('//agent/none')];
  for (const { status, headers, body } of refused) {
    expect(status).toBe(429);
    expect(body).toEqual({ detail: expect.any(String) });
    const seconds = Number(headers['retry-after']);
    expect(Number.isInteger(seconds) && seconds >= 1 && seconds <= 60, `Retry-After: ${seconds}`).toBe(true);
    expect(headers['ratelimit-limit']).toBe('3');
    expect(headers['x-request-id']).toEqual(expect.any(String));
  }
  for (const path of ['/agent', '/audit', '/none', '/auth/me', '//reload', '//api/v1/agents/x/status']) {
    const method = path === '//reload' ? 'POST' : 'GET';
    const { status, headers, body } = await seat(app).call(method, path);
    expect(status, path).toBe(429);
    expect(headers['retry-after']).toEqual(expect.any(String));
    if (path.startsWith('/a')) expect(body.error.code).toBe('rate_limited');
  }
});

test('a network of IPv6 is one address, and one of IPv4 in its clothes is that one', async () => {
  const { app } = await withAgent(limits(2, 0));
  let host = 0;
  const rotating = (network: string) => () => {
    host += 1;
    return ask(app, RUNTIME, {}, `${network}::${host.toString(16)}`);
  };
  expect(await allowed(5, rotating('2001:db8:1:1'))).toBe(2);
  expect(await allowed(5, rotating('2001:db8:1:2'))).toBe(2);
  expect(await ask(app, RUNTIME, {}, '192.0.2.7')).toBe(200);
  expect(await ask(app, RUNTIME, {}, '::ffff:192.0.2.7')).toBe(200);
  expect(await ask(app, RUNTIME, {}, '192.0.2.7')).toBe(429);
});

test('a user may call so often, from wherever, and one who changes names is held by the address', async () => {
  const { app } = await withAgent(limits(20, 4));
  const as = (user: string, address?: string) => () => ask(app, RUNTIME, { 'x-service-user-id': user }, address);
  expect(await allowed(9, as('ana'))).toBe(4);
  expect(await as('ana', '192.0.2.1')()).toBe(429);
  expect(await allowed(9, as('bob', '192.0.2.1'))).toBe(4);
  let count = 0;
  const rotating = () => {
    count += 1;
    return as(`user-${count}`, '192.0.2.2')();
  };
  expect(await allowed(50, rotating)).toBe(20);
  // Nobody in particular is held by the address alone.
  expect(await allowed(50, () => ask(app, RUNTIME, {}, '192.0.2.3'))).toBe(20);
});

test('whoever is known by a token, a key or a login is counted by it', async () => {
  const provider = await startOidcProvider({ algorithms: ['ES256'] });
  const { app } = await withAgent(limits(0, 5, { ...PASSWORD_ENV, SERVICE_ALLOW_PRIVATE_TARGETS: 'loopback' }));
  const session = await login(app);
  const admin = seat(app, session);
  const key = { 'x-api-key': await newKey(admin, 'ci', ['runtime', 'admin:read']) };
  await admin.patch('/sso', ssoOf(provider));
  expect(await allowed(9, async () => (await admin.get('/agent')).status)).toBe(3);
  expect(await allowed(9, () => ask(app, ADMIN, key))).toBe(5);
  expect(await allowed(9, () => ask(app, RUNTIME, key, '192.0.2.1'))).toBe(5);
  const [ana, bob] = [await tokenOf(provider, 'ana@example.org'), await tokenOf(provider, 'bob@example.org')];
  const pretending = { ...ana, 'x-service-user-id': 'someone else' };
  expect(await allowed(9, () => ask(app, RUNTIME, pretending))).toBe(5);
  expect(await ask(app, RUNTIME, ana)).toBe(429);
  expect(await ask(app, RUNTIME, bob)).toBe(200);
  // Who is refused is nobody, and uses up nobody's share.
  const bad = { authorization: `${bob.authorization}x` };
  for (let count = 0; count < 9; count += 1) expect(await ask(app, RUNTIME, bad)).toBe(401);
  expect(await ask(app, RUNTIME, bob)).toBe(200);
});

test('the address that a trusted proxy names counts, and what anybody else says does not', async () => {
  const from = (app: FastifyInstance, peer: string, chain: () => string) => () =>
    ask(app, RUNTIME, { 'x-forwarded-for': chain() }, peer);
  let count = 0;
  const rotating = () => {
    count += 1;
    return `198.51.100.${count}`;
  };
  const plain = (await withAgent(limits(3, 0))).app;
  expect(await allowed(9, from(plain, '127.0.0.1', rotating))).toBe(3);
  const behind = (await withAgent(limits(3, 0, { SERVICE_TRUST_PROXY: 'true' }))).app;
  expect(await allowed(9, from(behind, '127.0.0.1', rotating))).toBe(9);
  // What stands before the proxy's own word is made up.
  expect(
    await allowed(
      9,
      from(behind, '127.0.0.1', () => `${rotating()}, 203.0.113.9`),
    ),
  ).toBe(3);
  const listed = (await withAgent(limits(3, 0, { SERVICE_TRUST_PROXY: '10.0.0.0/8, 192.0.2.1' }))).app;
  expect(await allowed(9, from(listed, '10.1.2.3', rotating))).toBe(9);
  expect(await allowed(9, from(listed, '192.0.2.1', rotating))).toBe(9);
  expect(await allowed(9, from(listed, '192.0.2.2', rotating))).toBe(3);
  const two = (await withAgent(limits(3, 0, { SERVICE_TRUST_PROXY: '2' }))).app;
  expect(
    await allowed(
      9,
      from(two, '127.0.0.1', () => `203.0.113.9, ${rotating()}`),
    ),
  ).toBe(3);
});

test('by default there are none on loopback, and some where others can call', async () => {
  const here = (await withAgent()).app;
  const everywhere = (await withAgent({ env: { SERVICE_HOST: '0.0.0.0', ...PASSWORD_ENV } })).app;
  const off = (await withAgent(limits(0, 0, { SERVICE_HOST: '0.0.0.0', ...PASSWORD_ENV }))).app;
  const none = '/agent/none';
  expect(await allowed(650, () => ask(here, none))).toBe(650);
  expect(await allowed(650, () => ask(off, none))).toBe(650);
  expect(await allowed(650, () => ask(everywhere, none, { 'x-service-user-id': 'ana' }, '192.0.2.1'))).toBe(300);
  expect(await allowed(650, () => ask(everywhere, none))).toBe(600);
});

test('a run counts once, however long it streams, and what is under way is not cut', async () => {
  const { app, listen } = await withAgent({ ...limits(0, 3), files: { 'agent.ts': gatedAgent('one') } });
  const base = await listen();
  const gate = createGate();
  const ana = { 'x-service-user-id': 'ana' };
  const stream = await fetch(`${base}/agent/run`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...ana },
    body: JSON.stringify(runInput(gate.name)),
  });
  await expect.poll(() => gate.arrived).toBe(1);
  expect(await allowed(9, async () => (await run(app, ana)).status)).toBe(2);
  gate.open();
  expect(await stream.text()).toContain('RUN_FINISHED');
  expect((await run(app, ana)).status).toBe(429);
  expect((await run(app, { 'x-service-user-id': 'bob' })).status).toBe(200);
});

test('health, the pages and what they need are never limited; other spellings get around nothing', async () => {
  const ui = tempFolder({ 'index.html': '<p>UI</p>', 'app.js': '1' });
  const { app } = await withAgent(limits(2, 2, { SERVICE_UI_DIR: join(ui), ...PASSWORD_ENV }));
  for (const path of ['/health', '/_engine/info', '/sso/info', '/runtime-config.js', '/docs', '/openapi.json', '/']) {
    for (let count = 0; count < 5; count += 1) expect(await ask(app, path, OURS), path).toBe(200);
  }
  for (const path of ['/app.js', '/index.html', '/admin/', '/admin/settings', '/login']) {
    for (let count = 0; count < 5; count += 1) expect([200, 404], path).toContain(await ask(app, path, OURS));
  }
  const spellings = ['/admin/api/v1/auth/me', '/%61dmin/api/v1/auth/me', '/admin/api/v1/auth/me/', '/admin%2Fapi/v1/x'];
  const runtime = ['/agent/none', '/%61gent/none', '/AGENT/none', '/agent%2Fnone'];
  for (const paths of [spellings, runtime]) {
    let next = 0;
    const rotating = () => ask(app, paths[next++ % paths.length] ?? '', OURS);
    expect(await allowed(9, rotating)).toBe(2);
    expect(await allowed(9, rotating)).toBe(0);
  }
});

test('callers beyond a bound are forgotten, the quietest first', async () => {
  // The plugin by itself, since it takes so many requests to see.
  const app = Fastify();
  await app.register(errors);
  await app.register(rateLimits, { address: 2, user: 0 });
  app.get('/agent/none', { config: { access: 'runtime' } }, async () => 'here');
  const addressOf = (index: number): string => `10.${(index >> 16) & 255}.${(index >> 8) & 255}.${index & 255}`;
  const [quiet, busy] = ['192.0.2.1', '192.0.2.2'];
  for (const address of [quiet, busy]) expect(await allowed(9, () => ask(app, '/agent/none', {}, address))).toBe(2);
  for (let index = 0; index < 20_000; index += 1) {
    await ask(app, '/agent/none', {}, addressOf(index));
    if (index === 10_000) expect(await ask(app, '/agent/none', {}, busy)).toBe(429);
  }
  expect(await ask(app, '/agent/none', {}, busy)).toBe(429);
  expect(await ask(app, '/agent/none', {}, quiet)).toBe(200);
});

test('a proxy that nobody has named is told of once', async () => {
  const forwarded = { 'x-forwarded-for': '192.0.2.7' };
  for (const [env, times] of [
    [{}, 1],
    [{ SERVICE_TRUST_PROXY: 'true' }, 0],
  ] as const) {
    const { app, logs } = await createTestApp({ env });
    for (let turn = 0; turn < 3; turn += 1) await app.inject({ url: '/health', headers: forwarded });
    expect(logs.filter(({ msg }) => String(msg).includes('SERVICE_TRUST_PROXY'))).toHaveLength(times);
  }
});
