import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packageVersion } from '../../src/package-info.ts';
import { ECHO } from '../support/agents.ts';
import { createTestApp, tempFolder } from '../support/app.ts';
import { runEvents, runInput } from '../support/runs.ts';

const echo = { files: { 'agent.ts': ECHO }, agent: 'agent.ts' };

test('/health of a ready server', async () => {
  const { app } = await createTestApp(echo);
  for (const url of ['/health', '/health?strict=1', '/health?strict=0', '/health?other=1']) {
    const response = await app.inject(url);
    expect(response.statusCode).toBe(200);
    expect(response.headers['cache-control']).toBe('no-store');
    expect(response.json()).toEqual({
      status: 'ok',
      service: 'service-agent-engine',
      version: packageVersion,
      agent_ready: true,
      agent_name: 'agent',
    });
  }
});

test('/health stays 200 while no agent is ready, unless it is asked strictly', async () => {
  const { app } = await createTestApp({ agent: 'missing.ts' });
  for (const [url, status] of [
    ['/health', 200],
    ['/health?strict=0', 200],
    ['/health?strict=1', 503],
    ['/health?strict=true', 503],
  ] as const) {
    const response = await app.inject(url);
    expect(response.statusCode).toBe(status);
    expect(response.json()).toMatchObject({ status: 'degraded', agent_ready: false, agent_name: null });
    expect((response.json() as { reason: string }).reason).toContain('missing.ts');
  }
});

const INFO = {
  message: 'Agent engine is running',
  version: packageVersion,
  docs: '/docs',
  health: '/health',
  agent_endpoints: { run: '/agent/run', invoke: '/agent/invoke', stream: '/agent/stream' },
};

test('the info is at / and at /_engine/info, with and without an agent', async () => {
  for (const options of [{}, echo]) {
    const { app } = await createTestApp(options);
    for (const url of ['/', '/_engine/info', '/_engine/info/']) {
      const response = await app.inject(url);
      expect(response.statusCode).toBe(200);
      expect(response.json()).toEqual(INFO);
    }
  }
});

test('/sso/info says that nobody signs on', async () => {
  const { app } = await createTestApp(echo);
  expect((await app.inject('/sso/info')).json()).toEqual({ enabled: false });
});

test('/runtime-config.js is a script that sets the settings of the UI', async () => {
  for (const [options, expected] of [
    [echo, { agentReady: true, bootFailed: false }],
    [{}, { agentReady: false, bootFailed: false }],
    [{ agent: 'missing.ts' }, { agentReady: false, bootFailed: true }],
  ] as const) {
    const { app } = await createTestApp(options);
    const response = await app.inject('/runtime-config.js');
    expect(response.statusCode).toBe(200);
    expect(response.headers['content-type']).toMatch(/javascript/);
    expect(response.headers['cache-control']).toBe('no-store');
    const window: { __SERVICE_CONFIG__?: Record<string, unknown> } = {};
    new Function('window', response.body)(window);
    expect(window.__SERVICE_CONFIG__).toMatchObject({
      theme: expect.any(String),
      authMode: 'none',
      layout: expect.any(String),
      ...expected,
    });
  }
});

function uiFolder(): string {
  const dir = tempFolder({ 'index.html': '<!doctype html><title>My UI</title>', '.secret': 'planted-dotfile' });
  mkdirSync(join(dir, 'assets'));
  writeFileSync(join(dir, 'assets/app.js'), 'console.log(1)');
  writeFileSync(join(dir, 'health'), 'not the health route');
  mkdirSync(join(dir, 'agent'));
  writeFileSync(join(dir, 'agent/run'), 'not the run route');
  return dir;
}

test('a UI is mounted at /, and every route of ours wins over its files', async () => {
  const { app } = await createTestApp({ ...echo, env: { SERVICE_UI_DIR: uiFolder() } });
  const page = await app.inject('/');
  expect(page.statusCode).toBe(200);
  expect(page.headers['content-type']).toMatch(/^text\/html/);
  expect(page.body).toContain('My UI');
  const asset = await app.inject('/assets/app.js');
  expect(asset.body).toBe('console.log(1)');
  expect(asset.headers['content-type']).toMatch(/javascript/);
  expect((await app.inject('/_engine/info')).json()).toEqual(INFO);
  expect((await app.inject('/health')).json()).toMatchObject({ status: 'ok' });
  expect((await runEvents(app, runInput('hi'))).at(-1)?.type).toBe('RUN_FINISHED');
  expect((await app.inject({ method: 'POST', url: '/reload' })).statusCode).toBe(200);
  expect((await runEvents(app, runInput('hi'))).at(-1)?.type).toBe('RUN_FINISHED');
  expect((await app.inject('/docs/')).statusCode).toBe(200);
});

test('a mounted UI shows nothing but its folder', async () => {
  const outside = tempFolder({ 'outside.txt': 'planted-outside' });
  const dir = uiFolder();
  symlinkSync(outside, join(dir, 'linked'));
  const { app } = await createTestApp({ ...echo, env: { SERVICE_UI_DIR: dir } });
  for (const url of [
    '/nope.js',
    '/assets',
    '/assets/',
    '/../package.json',
    '/..%2f..%2f..%2fetc%2fpasswd',
    '/%2e%2e/%2e%2e/etc/passwd',
    '/assets/..%5c..%5cpackage.json',
    '/%00',
    '/%zz',
    '/.secret',
  ]) {
    const response = await app.inject(url);
    expect(response.statusCode, url).toBeGreaterThanOrEqual(400);
    expect(response.statusCode, url).toBeLessThan(500);
    expect(response.body).not.toMatch(/planted|root:|Index of/);
    expect(response.body).not.toContain(dir);
    expect(Object.keys(response.json() as object), url).toContain('detail');
  }
});

test('a UI folder without an index.html is ignored with a warning', async () => {
  const dir = tempFolder({ 'app.js': 'console.log(1)' });
  const { app, logs } = await createTestApp({ ...echo, env: { SERVICE_UI_DIR: dir } });
  expect((await app.inject('/')).json()).toEqual(INFO);
  expect((await app.inject('/app.js')).statusCode).toBe(404);
  expect(logs.some(({ level, msg }) => level === 40 && String(msg).includes('SERVICE_UI_DIR'))).toBe(true);
});

test('a UI folder that does not exist is ignored with a warning', async () => {
  const { app, logs } = await createTestApp({ ...echo, env: { SERVICE_UI_DIR: '/nowhere/at/all' } });
  expect((await app.inject('/')).json()).toEqual(INFO);
  expect(logs.some(({ level, msg }) => level === 40 && String(msg).includes('SERVICE_UI_DIR'))).toBe(true);
});

test.each([
  ['GET', '/nope'],
  ['GET', '/agent'],
  ['GET', '/agent/'],
  ['GET', '/agent/nope'],
  ['GET', '/agent/run'],
  ['DELETE', '/agent/sessions/x'],
  ['POST', '/health'],
  ['PUT', '/agent/config'],
  ['GET', '/%zz'],
  ['GET', '/agent/sessions/%zz'],
  ['GET', '//agent/config'],
  ['GET', '/Agent/config'],
] as const)('%s %s is a JSON 404', async (method, url) => {
  const { app } = await createTestApp(echo);
  const response = await app.inject({ method, url });
  expect(response.statusCode).toBe(404);
  expect(response.headers['content-type']).toMatch(/^application\/json/);
  expect(response.headers['x-request-id']).toBeTruthy();
  expect(response.json()).toEqual({ detail: 'Not Found' });
});

test.each([
  ['GET', '/admin/api/v1/nope'],
  ['GET', '/admin/api/v1/'],
  ['POST', '/admin/api/v1/agent/nope'],
  ['DELETE', '/admin/api/v1/prompts/1/2/3'],
] as const)('%s %s is a JSON 404 of the admin shape, also beside a UI', async (method, url) => {
  for (const env of [{}, { SERVICE_UI_DIR: uiFolder() }] as Record<string, string>[]) {
    const { app } = await createTestApp({ ...echo, env });
    const response = await app.inject({ method, url });
    expect(response.statusCode).toBe(404);
    expect(response.headers['content-type']).toMatch(/^application\/json/);
    expect(response.json()).toMatchObject({ error: { code: 'not_found', message: expect.any(String) } });
  }
});

test('every answer names its request id', async () => {
  const { app } = await createTestApp(echo);
  for (const url of [
    '/',
    '/health',
    '/agent/capabilities',
    '/agent/graph',
    '/openapi.json',
    '/docs/',
    '/redoc',
    '/x',
  ]) {
    expect((await app.inject(url)).headers['x-request-id'], url).toMatch(/^[\w-]{8,}$/);
  }
});
