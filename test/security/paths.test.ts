import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { expect, test } from 'vitest';
import { ECHO } from '../support/agents.ts';
import { createTestApp, tempFolder, writeFiles } from '../support/app.ts';
import { startOidcProvider } from '../support/oidc.ts';
import {
  HASH,
  HOST,
  login,
  PASSWORD,
  PASSWORD_MODE,
  passwordApp,
  type RawAnswer,
  raw,
  requestText,
  ssoMode,
} from './support.ts';

const NAME = 'planted-agent-name';
const PAGE = 'the page of the UI';

/** Files, without their ending, at addresses that are not a UI's. */
const PLANTED = ['admin/api/v1/planted', 'api/v1/planted', 'agent/planted'];

/** Files of a UI whose author has put some where the server's own addresses are. */
function uiFolder(): string {
  const folder = tempFolder();
  for (const path of ['admin/api/v1/config', 'api/v1', 'agent', 'x'])
    mkdirSync(join(folder, path), { recursive: true });
  const names = ['index', 'admin', ...PLANTED];
  writeFiles(folder, Object.fromEntries(names.map((name) => [`${name}.html`, PAGE])));
  return folder;
}

/** A server whose three gates are all closed. */
async function closed(mode: 'password' | 'sso', ui: boolean): Promise<{ app: FastifyInstance; base: string }> {
  const { issuer } = await startOidcProvider();
  const agent = { type: 'LANGGRAPH', config: { name: NAME, graph_definition: 'agent.ts:graph' } };
  const sso = { enabled: true, issuer, client_id: 'agent' };
  const { app, listen } = await createTestApp({
    files: { 'agent.ts': ECHO, 'config.yaml': JSON.stringify({ agent, ...(mode === 'sso' && { sso }) }) },
    env: {
      ...(mode === 'password' ? { ...PASSWORD_MODE, SERVICE_REQUIRE_API_KEY: 'true' } : ssoMode(issuer)),
      SERVICE_ALLOW_PRIVATE_TARGETS: 'loopback',
      ...(ui && { SERVICE_UI_DIR: uiFolder() }),
    },
  });
  return { app, base: await listen() };
}

const GATED = ['/admin/api/v1/agent', '/admin/api/v1/config/export', '/api/v1/agents/x/status', '/agent/sessions'];

/** The ways to write a path that somebody might take for another. */
function spellings(path: string): string[] {
  const [, first = '', ...rest] = path.split('/');
  const tail = rest.join('/');
  return [
    path,
    `${path}/`,
    `/${path}`,
    `//${path}`,
    path.replaceAll('/', '//'),
    `${path}//`,
    `/.${path}`,
    `/x/..${path}`,
    `/%2e${path}`,
    `/x/%2e%2e${path}`,
    `/x/%2E%2E%2F${path}`,
    `/docs/..${path}`,
    `/health/..${path}`,
    `/index.html/..${path}`,
    `${path}/.`,
    `${path}/x/..`,
    `${path}/%2e%2e/${path.split('/').pop()}`,
    path.toUpperCase(),
    `/${first.toUpperCase()}/${tail}`,
    `/%${first.charCodeAt(0).toString(16)}${first.slice(1)}/${tail}`,
    `/%25${first.charCodeAt(0).toString(16)}${first.slice(1)}/${tail}`,
    `/${first}%2f${tail}`,
    path.replaceAll('/', '%2f'),
    `/${path.slice(1).replaceAll('/', '%2F')}`,
    path.replaceAll('/', '\\'),
    `/${path.slice(1).replaceAll('/', '\\')}`,
    `/${first}%5c${tail}`,
    `/x\\..${path}`,
    `${path};x`,
    `/${first};x/${tail}`,
    `/;x${path}`,
    `${path}/..;/x`,
    `${path}%00`,
    `${path}%00.html`,
    `${path}%20`,
    `${path}.`,
    `${path}.html`,
    `${path}?x=1`,
    `${path}?/health`,
    `${path}#/health`,
    `/health?${path}`.replace('/health?', '/admin?'),
    `/${first}%c0%af${tail}`,
    `/%ef%bc%8f${first}/${tail}`,
    `/${first}/%E0%A4%A`,
    `http://localhost${path}`,
    `HTTP://localhost${path}`,
    `http://evil.example${path}`,
    `http://localhost/x/..${path}`,
    path.slice(1),
  ];
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'FOO'];

/** What must not be in an answer to somebody who has shown nothing. */
function expectClosed({ status, head, body }: RawAnswer, what: string): void {
  expect(status, what).not.toBeLessThan(300);
  expect(status, what).not.toBe(500);
  expect(head + body, what).not.toContain(NAME);
  expect(body, what).not.toContain(PAGE);
}

const SERVERS = [
  ['password', false],
  ['password', true],
  ['sso', false],
  ['sso', true],
] as const;

test.each(SERVERS)(
  'no spelling of an address goes around the gate (mode %s, with a UI: %s)',
  { timeout: 60_000 },
  async (mode, ui) => {
    const { base } = await closed(mode, ui);
    const planted = ui ? PLANTED.flatMap((name) => spellings(`/${name}.html`)) : [];
    const targets = GATED.flatMap((path) => [
      ...spellings(path).map((target) => ['GET', target]),
      ...METHODS.map((method) => [method, path]),
      ...METHODS.map((method) => [method, `/${path}`]),
    ]).concat(planted.map((target) => ['GET', target]));
    for (const [method = '', target = ''] of targets) {
      const body = method === 'POST' || method === 'PATCH' || method === 'PUT' ? '{}' : '';
      const answer = await raw(base, requestText(method, target, [], body));
      expectClosed(answer, `${method} ${target}`);
    }
    for (const path of GATED) expect((await raw(base, requestText('GET', path))).status, path).toBe(401);
  },
);

test.each(SERVERS)('no header moves a request through the gate (mode %s, with a UI: %s)', async (mode, ui) => {
  const { base } = await closed(mode, ui);
  const [path = ''] = GATED;
  const lines = [
    ['X-Original-URL: /health'],
    ['X-Rewrite-URL: /health'],
    ['X-Forwarded-Prefix: /x', 'X-Forwarded-Host: localhost'],
    ['X-Forwarded-For: 127.0.0.1', 'X-Real-IP: 127.0.0.1', 'Forwarded: for=127.0.0.1'],
    ['X-HTTP-Method-Override: OPTIONS', 'X-HTTP-Method: HEAD'],
    ['Authorization: Basic YWRtaW46YWRtaW4='],
    ['Authorization: Bearer'],
    ['Authorization: Bearer undefined'],
    ['Authorization: Bearer a', 'Authorization: Bearer b'],
    ['X-API-Key:'],
    ['X-API-Key: a', 'X-API-Key: b'],
    ['Cookie: service_session=', 'Cookie: service_session=x.y.z'],
    ['Cookie: service_session=x', 'Cookie: service_session=x', `Origin: http://localhost`],
    [`Cookie: service_session=${encodeURIComponent(HASH)}`],
    ['Connection: X-API-Key'],
    ['Upgrade: websocket', 'Connection: Upgrade'],
    ['Origin: http://localhost', 'Access-Control-Request-Method: GET'],
  ];
  for (const more of lines) expectClosed(await raw(base, requestText('GET', path, more)), more.join());
  for (const header of ['X-Original-URL', 'X-Rewrite-URL']) {
    expect((await raw(base, requestText('GET', '/health', [`${header}: ${path}`]))).body).not.toContain('revision');
  }
});

test('two requests in the place of one are none', async () => {
  const { base } = await closed('password', false);
  const hidden = 'GET /admin/api/v1/agent HTTP/1.1\r\nHost: localhost\r\n\r\n';
  for (const [name, lines] of [
    ['two lengths', ['Content-Length: 0', `Content-Length: ${hidden.length}`]],
    ['length and chunks', [`Content-Length: ${hidden.length}`, 'Transfer-Encoding: chunked']],
    ['chunks by another name', ['Transfer-Encoding: xchunked']],
    ['a blank before the colon', [`Content-Length : ${hidden.length}`]],
    ['two hosts in one', ['Host: localhost, evil.example\r\n Folded: x']],
  ] as const) {
    const head = ['POST /admin/api/v1/auth/logout HTTP/1.1', 'Host: localhost', ...lines].join('\r\n');
    const { status, body } = await raw(base, `${head}\r\n\r\n0\r\n\r\n${hidden}`);
    expect(status, name).toBe(400);
    expect(body, name).not.toContain('HTTP/1.1');
  }
});

test('whoever is logged in still needs a page of ours when headers say otherwise than the connection', async () => {
  const { app, base } = await closed('password', false);
  const cookie = await login(app, PASSWORD);
  const own = ['Origin: http://localhost', `Cookie: ${cookie}`];
  expect((await raw(base, requestText('POST', '/admin/api/v1/onboarding/scan', own, '{}'))).status).toBe(200);
  for (const lines of [
    ['Origin: http://evil.example', 'X-Forwarded-Host: evil.example'],
    ['Origin: http://evil.example', 'Forwarded: host=evil.example'],
    ['Origin: http://evil.example', 'Host: evil.example'],
    ['Origin: http://evil.example', 'Origin: http://localhost'],
    ['Origin: http://evil.example', 'Sec-Fetch-Site: same-origin'],
    ['Origin: http://evil.example', 'Referer: http://localhost/'],
    ['Referer: http://localhost/'],
  ]) {
    const more = [`Cookie: ${cookie}`, ...lines];
    const answer = await raw(base, requestText('POST', '/admin/api/v1/onboarding/scan', more, '{}'));
    expect(answer.status, lines.join()).toBe(403);
  }
});

test('the pages of a UI are open, so that one can log in, and stay in their folder', async () => {
  const { app, base } = await closed('password', true);
  for (const target of ['/', '/index.html', '/admin.html']) {
    expect((await raw(base, requestText('GET', target))).body, target).toContain(PAGE);
  }
  for (const target of [
    '/../config.yaml',
    '/%2e%2e/config.yaml',
    '/..%2fconfig.yaml',
    '/..%5cconfig.yaml',
    '/x/../../config.yaml',
    '/.env',
    '/index.html/../../config.yaml',
    '//etc/passwd',
    '/%2fetc/passwd',
    '/index.html%00.txt',
  ]) {
    expectClosed(await raw(base, requestText('GET', target)), target);
  }
  // A file system may take these for what they look like.
  for (const path of ['/admin/api', '/ADMIN/Api/v1/nope', '/admin\\api/v1', '//admin//api/v1/x', '/admin%2fapi%5Cx']) {
    expect((await raw(base, requestText('GET', path))).status, path).toBe(401);
  }
  const known = await app.inject({ url: '/admin/api/v1/nope', headers: { host: HOST, cookie: await login(app) } });
  expect(known.statusCode).toBe(404);
  expect(known.json()).toMatchObject({ error: { code: 'not_found' } });
});

test('a login counts as a request of its address, however it is spelt', async () => {
  const { listen } = await passwordApp({ SERVICE_RATE_LIMIT_ADDRESS: '3' });
  const base = await listen();
  const path = '/admin/api/v1/auth/me';
  const targets = [path, `http://localhost${path}`, path.replace('admin', '%61dmin'), `${path}/`];
  const statuses: number[] = [];
  for (const target of targets) statuses.push((await raw(base, requestText('GET', target))).status);
  expect(statuses).toEqual([200, 200, 200, 429]);
});
