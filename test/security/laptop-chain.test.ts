import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { expect, test } from 'vitest';
import { readEnv } from '../../src/env.ts';
import { UNKNOWN_ID } from '../admin/support.ts';
import { createTestApp, tempFolder } from '../support/app.ts';
import { runInput } from '../support/runs.ts';
import { echoApp } from './support.ts';

// Mode none asks nobody for a name. What keeps a laptop safe there is that no web page its owner visits can make a link
// of the chain "post to loopback, register a program, have it run": each test tries one link.

const HOST = '127.0.0.1:8000';
const EVIL = 'https://evil.example';

/** The routes that write or run something, with an address that fits them. */
async function unsafeRoutes(app: FastifyInstance): Promise<{ method: string; url: string }[]> {
  await app.ready();
  const safe = ['GET', 'HEAD', 'OPTIONS'];
  return app.allRoutes.flatMap(({ method, url }) =>
    [method]
      .flat()
      .filter((name) => !safe.includes(name))
      .map((name) => ({ method: name, url: url.replace(/:\w+/g, UNKNOWN_ID).replace('*', 'x') })),
  );
}

function send(app: FastifyInstance, { method, url }: { method: string; url: string }, headers: Record<string, string>) {
  return app.inject({ method: method as 'POST', url, headers: { host: HOST, ...headers }, payload: '{}' });
}

const FOREIGN: Record<string, Record<string, string>> = {
  'a page of another site': { origin: EVIL },
  'a page without an origin of its own': { origin: 'null' },
  'a page of another site that hides its origin': { 'sec-fetch-site': 'cross-site' },
  'a page of the same site that hides its origin': { 'sec-fetch-site': 'same-site' },
  'a page by a name that looks like ours': { origin: 'http://127.0.0.1.evil.example:8000' },
  'a page with our host as its user': { origin: `http://${HOST}@evil.example` },
  'a name that was pointed at this machine': { host: 'evil.example:8000', origin: 'http://evil.example:8000' },
};

const SIMPLE: Record<string, string> = {
  'application/json': 'application/json',
  'text/plain': 'text/plain;charset=UTF-8',
  'a form': 'application/x-www-form-urlencoded',
  multipart: 'multipart/form-data; boundary=x',
  none: '',
};

test.each(Object.entries(FOREIGN))('%s is refused by every route that writes or runs something', async (_, from) => {
  const { app } = await echoApp();
  const routes = await unsafeRoutes(app);
  expect(routes.length).toBeGreaterThan(35);
  for (const route of routes) {
    for (const type of Object.values(SIMPLE)) {
      const response = await send(app, route, type === '' ? from : { ...from, 'content-type': type });
      expect(response.statusCode, `${route.method} ${route.url} ${type}`).toBe(403);
      expect(response.headers['access-control-allow-origin']).toBeUndefined();
    }
  }
});

test.each(Object.entries(SIMPLE).slice(1))(
  'a body a page can send without asking is none of ours, wherever it comes from (%s)',
  async (_, type) => {
    const { app } = await echoApp();
    for (const route of await unsafeRoutes(app)) {
      const response = await send(app, route, type === '' ? {} : { 'content-type': type });
      expect(response.statusCode, `${route.method} ${route.url}`).toBe(415);
    }
  },
);

test('no route gives a page elsewhere leave to send what needs leave', async () => {
  const { app } = await echoApp();
  for (const { method, url } of await unsafeRoutes(app)) {
    for (const origin of [EVIL, 'null', 'http://evil.example:8000']) {
      const asks = { host: HOST, origin, 'access-control-request-method': method };
      const response = await app.inject({ method: 'OPTIONS', url, headers: asks });
      const allowed = Object.keys(response.headers).filter((name) => name.startsWith('access-control-allow-o'));
      expect(allowed, `${method} ${url}`).toEqual([]);
    }
  }
});

test('a name that was pointed at this machine reads nothing but whether the server is up', async () => {
  const { app } = await echoApp();
  await app.ready();
  const open: string[] = [];
  for (const { method, url } of app.allRoutes) {
    if (method !== 'GET') continue;
    const address = url.replace(/:\w+/g, UNKNOWN_ID).replace('*', 'x');
    const response = await app.inject({ url: address, headers: { host: 'rebound.evil.example:8000' } });
    if (response.statusCode !== 403) open.push(url);
  }
  expect(open).toEqual(['/health']);
});

test.each(['http://localhost:3000', 'http://localhost:8000', `ftp://${HOST}`])(
  'a page of %s, on this machine but not ours, may chat, and administer nothing',
  async (origin) => {
    const { app } = await echoApp();
    const page = { origin, 'content-type': 'application/json' };
    const chat = await app.inject({
      method: 'POST',
      url: '/agent/run',
      headers: { host: HOST, ...page },
      payload: runInput('hi'),
    });
    expect(chat.statusCode).toBe(200);
    for (const route of await unsafeRoutes(app)) {
      const { statusCode } = await send(app, route, page);
      if (route.url.startsWith('/agent/')) expect(statusCode, route.url).not.toBe(403);
      else expect(statusCode, route.url).toBe(403);
    }
    for (const url of ['/admin/api/v1/agent', '/admin/api/v1/config/export', '/api/v1/agents/x', '/openapi.json']) {
      const { headers } = await app.inject({ url, headers: { host: HOST, origin: page.origin } });
      expect(headers['access-control-allow-origin'], url).toBeUndefined();
    }
  },
);

test('onboarding takes nothing from outside the folder, and writes nothing there', async () => {
  const outside = tempFolder({ 'agent.ts': 'throw new Error("never loaded")' });
  const { app, root } = await createTestApp();
  const post = (path: string, payload: object) =>
    app.inject({ method: 'POST', url: `/admin/api/v1/onboarding/${path}`, headers: { host: HOST }, payload });
  for (const filePath of [`${outside}/agent.ts`, `../${outside.split('/').pop()}/agent.ts`, 'a/../../agent.ts']) {
    const pick = { framework: 'LANGGRAPH', filePath, variableName: 'graph' };
    expect((await post('create-from-detection', pick)).statusCode, filePath).toBe(409);
  }
  const made = await post('create-starter', { framework: 'LANGGRAPH', name: '../../outside' });
  expect(made.statusCode, made.body).toBe(200);
  expect(readdirSync(outside)).toEqual(['agent.ts']);
  expect(readdirSync(join(root, '..')).filter((name) => name.startsWith('outside'))).toEqual([]);
  expect(existsSync(join(root, '../../outside'))).toBe(false);
  expect((await post('scan', {})).body).not.toContain('never loaded');
});

test.each(['0.0.0.0', '::', '192.168.1.10', 'laptop.example.org'])('listening on %s is refused', (SERVICE_HOST) => {
  expect(() => readEnv({ SERVICE_HOST })).toThrow('SERVICE_ALLOW_OPEN_ADMIN');
  expect(readEnv({ SERVICE_HOST, SERVICE_ALLOW_OPEN_ADMIN: 'true' }).env.SERVICE_HOST).toBe(SERVICE_HOST);
});

test.each(['127.0.0.1', '::1', 'localhost'])('listening on %s is not', (SERVICE_HOST) => {
  expect(readEnv({ SERVICE_HOST }).env.SERVICE_HOST).toBe(SERVICE_HOST);
});
