import { connect } from 'node:net';
import type { FastifyInstance, InjectOptions } from 'fastify';
import { expect, test } from 'vitest';
import { EnvProblem, readEnv } from '../../src/env.ts';
import { problem } from '../../src/problems.ts';
import { ECHO } from '../support/agents.ts';
import { createTestApp, type TestAppOptions } from '../support/app.ts';
import { runInput } from '../support/runs.ts';

async function echoApp(options: TestAppOptions = {}): Promise<FastifyInstance> {
  const { app } = await createTestApp({ ...options, files: { 'agent.ts': ECHO }, agent: 'agent.ts' });
  return app;
}

function run(app: FastifyInstance, headers: Record<string, string>, more: InjectOptions = {}) {
  return app.inject({ method: 'POST', url: '/agent/run', payload: runInput('hi'), headers, ...more });
}

const LOOPBACK_HOSTS = ['localhost', 'localhost:8000', '127.0.0.1:8000', '127.1.2.3', '[::1]:8000', 'app.localhost:80'];
const FOREIGN_HOSTS = [
  'evil.example',
  'evil.example:8000',
  'localhost.evil.example',
  '127.0.0.1.evil.example',
  '192.168.1.10:8000',
  '10.0.0.1',
  '[2001:db8::1]:8000',
  'localhost@evil.example',
  'not a host',
];

test.each(LOOPBACK_HOSTS)('the host %s is one of ours', async (host) => {
  const app = await echoApp();
  expect((await run(app, { host })).statusCode).toBe(200);
  expect((await app.inject({ url: '/agent/sessions', headers: { host } })).statusCode).toBe(200);
});

test.each(FOREIGN_HOSTS)('the host "%s" is refused with what to set', async (host) => {
  const app = await echoApp();
  const response = await run(app, { host });
  expect(response.statusCode).toBe(403);
  expect((response.json() as { detail: string }).detail).toContain('SERVICE_ALLOWED_HOSTS');
  expect(response.headers['x-request-id']).toBeTruthy();
  // A name pointed at this machine must not read conversations either.
  expect((await app.inject({ url: '/agent/sessions', headers: { host } })).statusCode).toBe(403);
  expect((await app.inject({ method: 'POST', url: '/reload', headers: { host } })).statusCode).toBe(403);
});

test('hosts in SERVICE_ALLOWED_HOSTS are ours, with any port unless one is named', async () => {
  const app = await echoApp({ env: { SERVICE_ALLOWED_HOSTS: 'chat.example.org, other.example:9000' } });
  expect((await run(app, { host: 'chat.example.org' })).statusCode).toBe(200);
  expect((await run(app, { host: 'chat.example.org:8443' })).statusCode).toBe(200);
  expect((await run(app, { host: 'CHAT.example.org' })).statusCode).toBe(200);
  expect((await run(app, { host: 'other.example:9000' })).statusCode).toBe(200);
  expect((await run(app, { host: 'other.example:9001' })).statusCode).toBe(403);
  expect((await run(app, { host: 'sub.chat.example.org' })).statusCode).toBe(403);
});

test.each(FOREIGN_HOSTS)('/health answers the host "%s"', async (host) => {
  const app = await echoApp();
  const response = await app.inject({ url: '/health?strict=1', headers: { host } });
  expect(response.statusCode).toBe(200);
  // That it is up, and not whose agent it is: the page that has pointed the name here can read it.
  expect(response.json()).toMatchObject({ status: 'ok', agent_name: null });
  const ours = await app.inject({ url: '/health', headers: { host: 'localhost' } });
  expect(ours.json()).toMatchObject({ agent_name: 'agent' });
});

test.each([
  'GET /agent/sessions HTTP/1.0\r\n\r\n',
  'GET /agent/sessions HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n',
])('a connection that names no host is refused without trouble: %j', async (text) => {
  const { app, listen } = await createTestApp({ files: { 'agent.ts': ECHO }, agent: 'agent.ts' });
  const socket = connect(Number(new URL(await listen()).port), '127.0.0.1');
  let answer = '';
  socket.on('data', (data) => {
    answer += String(data);
  });
  socket.write(text);
  await new Promise((resolve) => socket.on('close', resolve));
  expect(answer).toMatch(/^HTTP\/1\.1 40[03] /);
  expect((await run(app, { host: 'localhost' })).statusCode).toBe(200);
});

test.each(['https://evil.example', 'http://localhost.evil.example', 'http://192.168.1.10:3000', 'null', 'nonsense'])(
  'a page of the origin %s may not run, reload or invoke anything',
  async (origin) => {
    const app = await echoApp();
    const headers = { host: 'localhost:8000', origin };
    const calls: [string, object][] = [
      ['/agent/run', runInput('hi')],
      ['/agent/clientkit/stream', runInput('hi')],
      ['/agent/invoke', { session_id: 's', query: 'q' }],
      ['/agent/stream', { session_id: 's', query: 'q' }],
      ['/reload', {}],
    ];
    for (const [url, payload] of calls) {
      const response = await app.inject({ method: 'POST', url, payload, headers });
      expect(response.statusCode, url).toBe(403);
      expect((response.json() as { detail: string }).detail).toContain('SERVICE_CORS_ORIGINS');
      expect(response.headers['access-control-allow-origin']).toBeUndefined();
    }
    expect(app.services.holder.current?.generation).toBe(1);
    const sessions = await app.inject({ url: '/agent/sessions', headers: { host: 'localhost:8000' } });
    expect(sessions.json()).toEqual([]);
  },
);

test('a foreign page reads nothing: its GETs carry no CORS header', async () => {
  const app = await echoApp();
  const response = await app.inject({
    url: '/agent/sessions',
    headers: { host: 'localhost', origin: 'https://evil.example' },
  });
  expect(response.headers['access-control-allow-origin']).toBeUndefined();
});

test('a same-origin page may call everything', async () => {
  const app = await echoApp();
  const headers = { host: 'localhost:8000', origin: 'http://localhost:8000' };
  expect((await run(app, headers)).statusCode).toBe(200);
  expect((await app.inject({ method: 'POST', url: '/reload', headers })).statusCode).toBe(200);
});

test('a caller without an origin, such as curl, may call everything', async () => {
  const app = await echoApp();
  expect((await run(app, { host: 'localhost:8000' })).statusCode).toBe(200);
  expect((await app.inject({ method: 'POST', url: '/reload', headers: { host: 'localhost' } })).statusCode).toBe(200);
});

const LOOPBACK_ORIGINS = ['http://localhost:3000', 'http://127.0.0.1:5173', 'http://[::1]:4200', 'https://localhost'];

test.each(LOOPBACK_ORIGINS)('a page on %s may chat at once, with CORS and without credentials', async (origin) => {
  const app = await echoApp();
  const headers = { host: '127.0.0.1:8000', origin };
  const response = await run(app, headers);
  expect(response.statusCode).toBe(200);
  expect(response.headers['access-control-allow-origin']).toBe(origin);
  expect(response.headers['access-control-allow-credentials']).toBeUndefined();
  expect(String(response.headers.vary).toLowerCase()).toContain('origin');
  expect(String(response.headers['access-control-expose-headers']).toLowerCase()).toContain('x-request-id');
  const sessions = await app.inject({ url: '/agent/sessions', headers });
  expect(sessions.headers['access-control-allow-origin']).toBe(origin);
});

test.each(LOOPBACK_ORIGINS)('a page on %s may not administer', async (origin) => {
  const app = await echoApp();
  const headers = { host: '127.0.0.1:8000', origin };
  expect((await app.inject({ method: 'POST', url: '/reload', headers })).statusCode).toBe(403);
  const openapi = await app.inject({ url: '/openapi.json', headers });
  expect(openapi.headers['access-control-allow-origin']).toBeUndefined();
});

test('a page on loopback can read error answers: they carry CORS too', async () => {
  const app = await echoApp();
  const origin = 'http://localhost:3000';
  const bad = await app.inject({
    method: 'POST',
    url: '/agent/run',
    payload: {},
    headers: { host: 'localhost:8000', origin },
  });
  expect(bad.statusCode).toBe(422);
  expect(bad.headers['access-control-allow-origin']).toBe(origin);
  const { app: empty } = await createTestApp();
  const notReady = await run(empty, { host: 'localhost:8000', origin });
  expect(notReady.statusCode).toBe(503);
  expect(notReady.headers['access-control-allow-origin']).toBe(origin);
  const unknown = await app.inject({ url: '/agent/nope', headers: { host: 'localhost:8000', origin } });
  expect(unknown.statusCode).toBe(404);
});

function preflight(app: FastifyInstance, origin: string, headers: Record<string, string> = {}, url = '/agent/run') {
  return app.inject({
    method: 'OPTIONS',
    url,
    headers: {
      host: 'localhost:8000',
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'content-type, x-service-user-id, authorization',
      ...headers,
    },
  });
}

test('the preflight of a page on loopback allows the method and every header it asks for', async () => {
  const app = await echoApp();
  const response = await preflight(app, 'http://localhost:3000');
  expect(response.statusCode).toBeLessThan(300);
  expect(response.headers['access-control-allow-origin']).toBe('http://localhost:3000');
  expect(String(response.headers['access-control-allow-methods'])).toContain('POST');
  const allowed = String(response.headers['access-control-allow-headers']).toLowerCase();
  for (const name of ['content-type', 'x-service-user-id', 'authorization']) expect(allowed).toContain(name);
  expect(response.headers['access-control-allow-private-network']).toBeUndefined();
  expect(response.body).toBe('');
});

test('a preflight that asks for the private network is told yes, for allowed origins only', async () => {
  const app = await echoApp();
  const ask = { 'access-control-request-private-network': 'true' };
  const allowed = await preflight(app, 'http://localhost:3000', ask);
  expect(allowed.headers['access-control-allow-private-network']).toBe('true');
  const foreign = await preflight(app, 'https://evil.example', ask);
  expect(foreign.headers['access-control-allow-private-network']).toBeUndefined();
  expect(foreign.headers['access-control-allow-origin']).toBeUndefined();
});

test('the preflight of a loopback page for /reload is not allowed', async () => {
  const app = await echoApp();
  const response = await preflight(app, 'http://localhost:3000', {}, '/reload');
  expect(response.headers['access-control-allow-origin']).toBeUndefined();
});

test('the preflight of a foreign host name is refused', async () => {
  const app = await echoApp();
  const response = await preflight(app, 'http://localhost:3000', { host: 'evil.example' });
  expect(response.headers['access-control-allow-origin']).toBeUndefined();
});

test('origins in SERVICE_CORS_ORIGINS may do everything, with credentials', async () => {
  const origin = 'https://ui.example.org';
  const app = await echoApp({ env: { SERVICE_CORS_ORIGINS: `${origin}, https://other.example.org` } });
  const headers = { host: 'localhost:8000', origin };
  const response = await run(app, headers);
  expect(response.statusCode).toBe(200);
  expect(response.headers['access-control-allow-origin']).toBe(origin);
  expect(response.headers['access-control-allow-credentials']).toBe('true');
  const asked = await preflight(app, origin, {}, '/reload');
  expect(asked.headers['access-control-allow-origin']).toBe(origin);
  expect(asked.headers['access-control-allow-credentials']).toBe('true');
  expect((await app.inject({ method: 'POST', url: '/reload', headers })).statusCode).toBe(200);
  const foreign = await run(app, { host: 'localhost:8000', origin: 'https://ui.example.org.evil.example' });
  expect(foreign.statusCode).toBe(403);
});

test('a wildcard in SERVICE_CORS_ORIGINS stops the boot, with the name of the variable', () => {
  expect(() => readEnv({ SERVICE_CORS_ORIGINS: '*' })).toThrow(/SERVICE_CORS_ORIGINS/);
});

test('no answer ever allows every origin', async () => {
  const app = await echoApp({ env: { SERVICE_CORS_ORIGINS: 'https://ui.example.org' } });
  for (const origin of ['http://localhost:3000', 'https://ui.example.org', 'https://evil.example', 'null', '*']) {
    const headers = { host: 'localhost:8000', origin };
    for (const response of [await run(app, headers), await preflight(app, origin)]) {
      expect(response.headers['access-control-allow-origin']).not.toBe('*');
    }
  }
});

const TOKEN = 'planted-reload-token-0123456789';

function reload(app: FastifyInstance, headers: Record<string, string> = {}, more: InjectOptions = {}) {
  return app.inject({ method: 'POST', url: '/reload', headers: { host: 'localhost:8000', ...headers }, ...more });
}

test('this machine may reload', async () => {
  const app = await echoApp();
  for (const remoteAddress of ['127.0.0.1', '::1', '::ffff:127.0.0.1']) {
    const response = await reload(app, {}, { remoteAddress });
    expect(response.statusCode, remoteAddress).toBe(200);
    expect(response.json()).toEqual({ status: 'success', message: expect.stringMatching(/.+/) });
  }
});

test.each(['10.0.0.7', '192.168.1.4', '2001:db8::1', '::ffff:10.0.0.7', '128.0.0.1'])(
  'the machine %s may not reload without the token',
  async (remoteAddress) => {
    const app = await echoApp({ env: { SERVICE_RELOAD_TOKEN: TOKEN } });
    const refused = await reload(app, {}, { remoteAddress });
    expect(refused.statusCode).toBe(403);
    expect((refused.json() as { detail: string }).detail).toContain('SERVICE_RELOAD_TOKEN');
    expect(refused.body).not.toContain(TOKEN);
    expect(app.services.holder.current?.generation).toBe(1);
    const allowed = await reload(app, { authorization: `Bearer ${TOKEN}` }, { remoteAddress });
    expect(allowed.statusCode).toBe(200);
  },
);

test.each([
  ['x-forwarded-for', '203.0.113.9'],
  ['forwarded', 'for=203.0.113.9'],
  ['x-real-ip', '203.0.113.9'],
])('a proxy on this machine does not make its callers local (%s)', async (name, value) => {
  const app = await echoApp({ env: { SERVICE_RELOAD_TOKEN: TOKEN } });
  expect((await reload(app, { [name]: value })).statusCode).toBe(403);
  expect((await reload(app, { [name]: value, authorization: `Bearer ${TOKEN}` })).statusCode).toBe(200);
});

test.each([
  ['another token', `Bearer ${TOKEN}x`],
  ['a part of it', `Bearer ${TOKEN.slice(0, -1)}`],
  ['an empty one', 'Bearer '],
  ['another scheme', `Basic ${TOKEN}`],
  ['no scheme', TOKEN],
])('%s does not open reload from afar', async (_name, authorization) => {
  const app = await echoApp({ env: { SERVICE_RELOAD_TOKEN: TOKEN } });
  const response = await reload(app, { authorization }, { remoteAddress: '10.0.0.7' });
  expect(response.statusCode).toBe(403);
});

test('without a token set, no token opens reload from afar', async () => {
  const app = await echoApp();
  const response = await reload(app, { authorization: 'Bearer undefined' }, { remoteAddress: '10.0.0.7' });
  expect(response.statusCode).toBe(403);
});

test('reload is judged before its body is read', async () => {
  const app = await echoApp();
  const payload = 'x'.repeat(1024);
  const response = await reload(app, { 'content-type': 'application/json' }, { remoteAddress: '10.0.0.7', payload });
  expect(response.statusCode).toBe(403);
});

test('a hook of the embedding program decides instead, for everybody', async () => {
  const asked: string[] = [];
  const app = await echoApp({
    env: { SERVICE_RELOAD_TOKEN: TOKEN },
    reloadAuth: (request) => {
      asked.push(String(request.headers['x-key']));
      if (request.headers['x-key'] !== 'open') throw Object.assign(new Error('planted-hook-text'), { statusCode: 401 });
    },
  });
  const refused = await reload(app, { authorization: `Bearer ${TOKEN}` });
  expect(refused.statusCode).toBe(401);
  expect(refused.body).not.toContain('planted-hook-text');
  expect(Object.keys(refused.json() as object)).toContain('detail');
  const allowed = await reload(app, { 'x-key': 'open' }, { remoteAddress: '10.0.0.7' });
  expect(allowed.statusCode).toBe(200);
  expect(asked).toEqual(['undefined', 'open']);
});

test('a hook that throws a plain error denies and shows nothing', async () => {
  const app = await echoApp({
    reloadAuth: async () => {
      throw new Error('planted-hook-text');
    },
  });
  const response = await reload(app);
  expect(response.statusCode).toBeGreaterThanOrEqual(400);
  expect(response.body).not.toContain('planted-hook-text');
  expect(app.services.holder.current?.generation).toBe(1);
});

test('a hook may throw a problem of ours', async () => {
  const app = await echoApp({
    reloadAuth: () => {
      throw problem('reload_forbidden');
    },
  });
  expect((await reload(app)).statusCode).toBe(403);
});

test('the server does not listen where others reach it unless told so', async () => {
  for (const host of ['0.0.0.0', '::', '192.168.1.4', 'example.org']) {
    expect(() => readEnv({ SERVICE_HOST: host }), host).toThrow(EnvProblem);
    expect(readEnv({ SERVICE_HOST: host, SERVICE_ALLOW_OPEN_ADMIN: 'true' }).env.SERVICE_HOST).toBe(host);
  }
});
