import type { FastifyInstance } from 'fastify';
import { expect, test } from 'vitest';
import { ECHO } from '../support/agents.ts';
import { createTestApp } from '../support/app.ts';

async function serve(): Promise<FastifyInstance> {
  const { app } = await createTestApp({ files: { 'agent.ts': ECHO }, agent: 'agent.ts' });
  return app;
}

interface Media {
  schema?: Schema;
  example?: unknown;
  examples?: unknown;
}
interface Schema {
  $ref?: string;
  examples?: unknown[];
  example?: unknown;
  [key: string]: unknown;
}
interface Operation {
  summary?: string;
  description?: string;
  operationId?: string;
  tags?: string[];
  deprecated?: boolean;
  requestBody?: { required?: boolean; content: Record<string, Media> };
  parameters?: { name: string; in: string; required?: boolean; schema: Schema }[];
  responses: Record<string, { description?: string; content?: Record<string, Media> }>;
}
interface OpenApi {
  openapi: string;
  info: { title: string; version: string };
  tags: { name: string; description?: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

async function openApi(app: FastifyInstance): Promise<OpenApi> {
  const response = await app.inject('/openapi.json');
  expect(response.statusCode).toBe(200);
  expect(response.headers['content-type']).toMatch(/^application\/json/);
  return response.json();
}

function operations(document: OpenApi): [string, Operation][] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]): [string, Operation] => [
      `${method.toUpperCase()} ${path}`,
      operation,
    ]),
  );
}

const TAGS = [
  'Runtime',
  'Agent Configuration',
  'Auth & SSO',
  'Dashboard',
  'Integrations & Tools',
  'Observability',
  'Traces',
];

test('the description is OpenAPI 3.1 with the title and the seven tags of the specification', async () => {
  const document = await openApi(await serve());
  expect(document.openapi).toMatch(/^3\.1\.\d$/);
  expect(document.info.title).toBe('Agent Engine Server');
  expect(document.info.version).toMatch(/^\d+\.\d+\.\d+/);
  expect(document.tags.map(({ name }) => name)).toEqual(TAGS);
  for (const [name, { tags }] of operations(document)) {
    expect(tags, name).toHaveLength(1);
    expect(TAGS, name).toContain(tags?.[0]);
  }
});

/** Routes that are pages or plumbing and not part of the API. */
const HIDDEN = /^(?:HEAD|OPTIONS) |^GET (?:\/|\*|\/docs.*|\/redoc.*|\/openapi\.json|\/runtime-config\.js)$/;

/** The routes of an app as `METHOD path`, read out of the tree Fastify prints. */
function registeredRoutes(app: FastifyInstance): string[] {
  const routes: string[] = [];
  const path: string[] = [];
  for (const line of app.printRoutes({ commonPrefix: false }).split('\n')) {
    const match = /^([│ ]*)[├└]── (\S*)(?: \(([A-Z, ]+)\))?/.exec(line);
    if (match === null) continue;
    const [, indent = '', part = '', methods] = match;
    path.splice(indent.length / 4);
    path.push(part);
    for (const method of methods?.split(', ') ?? []) routes.push(`${method} ${path.join('')}`);
  }
  return routes;
}

test('every registered route is described, and nothing else', async () => {
  const app = await serve();
  const expected = registeredRoutes(app)
    .filter((route) => !HIDDEN.test(route))
    .map((route) => route.replace(/:(\w+)/g, '{$1}'))
    .sort();
  expect(expected.length).toBeGreaterThan(12);
  const document = await openApi(app);
  expect(
    operations(document)
      .map(([name]) => name)
      .sort(),
  ).toEqual(expected);
});

test('the routes of the specification are all there', async () => {
  const names = operations(await openApi(await serve())).map(([name]) => name);
  for (const name of [
    'GET /agent/capabilities',
    'GET /agent/sessions',
    'GET /agent/sessions/{session_id}',
    'POST /agent/run',
    'GET /agent/graph',
    'GET /agent/graph/mermaid',
    'GET /agent/graph/ascii',
    'GET /agent/config',
    'POST /agent/stream',
    'POST /agent/clientkit/stream',
    'POST /agent/invoke',
    'GET /health',
    'POST /reload',
    'GET /_engine/info',
  ]) {
    expect(names).toContain(name);
  }
});

test('every operation has a summary, a description of each answer, and its errors', async () => {
  const document = await openApi(await serve());
  for (const [name, operation] of operations(document)) {
    expect(operation.summary, name).toMatch(/\S/);
    const statuses = Object.keys(operation.responses);
    expect(statuses.includes('200') || statuses.includes('201'), name).toBe(true);
    for (const [status, response] of Object.entries(operation.responses)) {
      expect(response.description, `${name} ${status}`).toMatch(/\S/);
      expect(response.description, `${name} ${status}`).not.toBe('Default Response');
    }
    const [method, path = ''] = name.split(' ');
    if (path.startsWith('/agent/')) expect(statuses, name).toContain('503');
    if (operation.requestBody !== undefined) {
      for (const status of ['403', '413', '415', '422']) expect(statuses, name).toContain(status);
      expect(['POST', 'PUT', 'PATCH']).toContain(method);
    }
    if (path.startsWith('/agent/sessions')) expect(statuses, name).toContain('501');
    if (path.includes('{')) expect(statuses, name).toContain('404');
  }
  for (const path of ['/agent/invoke', '/agent/stream', '/agent/clientkit/stream']) {
    expect(document.paths[path]?.post?.deprecated, path).toBe(true);
  }
});

test('every body and every answer has an example', async () => {
  const document = await openApi(await serve());
  const hasExample = (media: Media | undefined): boolean => {
    if (media?.example !== undefined || media?.examples !== undefined) return true;
    const has = (schema: Schema | undefined, depth = 0): boolean => {
      if (schema === undefined || depth > 5) return false;
      if (schema.example !== undefined || (Array.isArray(schema.examples) && schema.examples.length > 0)) return true;
      if (schema.$ref !== undefined)
        return has(document.components.schemas[schema.$ref.split('/').at(-1) ?? ''], depth + 1);
      const items = schema.items as Schema | undefined;
      const options = (schema.anyOf ?? schema.oneOf) as Schema[] | undefined;
      return has(items, depth + 1) || (options?.some((option) => has(option, depth + 1)) ?? false);
    };
    return has(media?.schema);
  };
  const without: string[] = [];
  for (const [name, operation] of operations(document)) {
    const medias: [string, Media][] = [
      ...Object.entries(operation.requestBody?.content ?? {}).map(([type, media]): [string, Media] => [
        `body ${type}`,
        media,
      ]),
      ...Object.entries(operation.responses).flatMap(([status, { content }]) =>
        Object.entries(content ?? {}).map(([type, media]): [string, Media] => [`${status} ${type}`, media]),
      ),
    ];
    expect(medias.length, name).toBeGreaterThan(0);
    for (const [place, media] of medias) if (!hasExample(media)) without.push(`${name}: ${place}`);
  }
  expect(without).toEqual([]);
});

test('every reference resolves, and streams and JSON are told apart', async () => {
  const document = await openApi(await serve());
  const refs = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(([, ref]) => ref ?? '');
  expect(refs.length).toBeGreaterThan(0);
  for (const ref of refs) {
    expect(ref).toMatch(/^#\/components\/schemas\//);
    expect(document.components.schemas, ref).toHaveProperty([ref.split('/').at(-1) ?? '']);
  }
  for (const path of ['/agent/run', '/agent/stream', '/agent/clientkit/stream']) {
    expect(Object.keys(document.paths[path]?.post?.responses['200']?.content ?? {})).toEqual(['text/event-stream']);
  }
  const run = document.paths['/agent/run']?.post;
  expect(Object.keys(run?.requestBody?.content ?? {})).toEqual(['application/json']);
  expect(run?.requestBody?.required).toBe(true);
  expect(document.paths['/reload']?.post?.requestBody?.required ?? false).toBe(false);
});

test('the schema of the run input asks for what the contract asks for, and for no more', async () => {
  const document = await openApi(await serve());
  const schema = document.components.schemas.RunAgentInput;
  expect([...((schema?.required as string[] | undefined) ?? [])].sort()).toEqual(['messages', 'runId', 'threadId']);
  // Old drafts of JSON Schema in the document would break generators.
  expect(JSON.stringify(document)).not.toMatch(/"nullable":true|"\$schema"/);
});

test('the examples in the description fit what the server takes and gives', async () => {
  const app = await serve();
  const document = await openApi(app);
  const example = (name: string): unknown => document.components.schemas[name]?.examples?.[0];
  const run = await app.inject({
    method: 'POST',
    url: '/agent/run',
    headers: { 'content-type': 'application/json' },
    payload: JSON.stringify(example('RunAgentInput')),
  });
  expect(run.statusCode).toBe(200);
  const invoke = await app.inject({
    method: 'POST',
    url: '/agent/invoke',
    headers: { 'content-type': 'application/json' },
    payload: JSON.stringify(example('ChatRequest')),
  });
  expect(invoke.statusCode).toBe(200);
});

test('the header that says whose sessions they are is described', async () => {
  const document = await openApi(await serve());
  for (const [path, method] of [
    ['/agent/run', 'post'],
    ['/agent/sessions', 'get'],
    ['/agent/sessions/{session_id}', 'get'],
  ] as const) {
    const headers = document.paths[path]?.[method]?.parameters?.filter(({ in: place }) => place === 'header');
    expect(
      headers?.map(({ name }) => name.toLowerCase()),
      path,
    ).toContain('x-service-user-id');
  }
});

/** Addresses a page would load from: attributes and CSS, not prose. */
function loadedFrom(html: string): string[] {
  return [
    ...html.matchAll(/(?:src|href|action|data)\s*=\s*["']?([^"'\s>]+)/gi),
    ...html.matchAll(/url\(\s*["']?([^"')]+)/gi),
    ...html.matchAll(/@import\s+["']([^"']+)/gi),
  ].map(([, address]) => address ?? '');
}

function expectOwnHostOnly(addresses: string[]): void {
  for (const address of addresses) expect(address).not.toMatch(/^(?:[a-z][a-z0-9+.-]*:)?\/\//i);
}

function expectTightPolicy(policy: string | undefined): void {
  expect(policy).toBeTruthy();
  for (const directive of (policy ?? '').split(';')) {
    const [name = '', ...sources] = directive.trim().split(/\s+/);
    for (const source of sources) {
      expect(source, name).not.toMatch(/^(?:https?:|\*|[a-z0-9.-]+\.[a-z]{2,})/i);
    }
  }
}

test('/docs loads from this server only', async () => {
  const app = await serve();
  const first = await app.inject('/docs');
  const page =
    first.statusCode === 302 || first.statusCode === 301 ? await app.inject(String(first.headers.location)) : first;
  expect(page.statusCode).toBe(200);
  expect(page.headers['content-type']).toMatch(/^text\/html/);
  const base = new URL(String(first.headers.location ?? '/docs'), 'http://localhost').href;
  const addresses = loadedFrom(page.body);
  expect(addresses.length).toBeGreaterThan(2);
  expectOwnHostOnly(addresses);
  for (const address of addresses) {
    const { pathname } = new URL(address, base.endsWith('/') || base.includes('/static/') ? base : `${base}/`);
    const asset = await app.inject(pathname);
    expect(asset.statusCode, pathname).toBe(200);
  }
  expectTightPolicy(page.headers['content-security-policy'] as string | undefined);
});

test('/docs asks no outside validator about the document', async () => {
  const app = await serve();
  const script = await app.inject('/docs/static/swagger-initializer.js');
  expect(script.statusCode).toBe(200);
  expect(script.body).toMatch(/"?validatorUrl"?\s*:\s*(?:null|"none"|false)/);
});

test('/redoc loads from this server only, and its script is served', async () => {
  const app = await serve();
  const page = await app.inject('/redoc');
  expect(page.statusCode).toBe(200);
  expect(page.headers['content-type']).toMatch(/^text\/html/);
  const addresses = loadedFrom(page.body);
  expectOwnHostOnly(addresses);
  expect(addresses.length).toBeGreaterThan(0);
  const script = addresses.find((address) => address.endsWith('.js')) ?? '';
  const asset = await app.inject(script);
  expect(asset.statusCode).toBe(200);
  expect(asset.headers['content-type']).toMatch(/javascript.*utf-8/i);
  expect(asset.body.length).toBeGreaterThan(100_000);
  expect(page.body).toContain('/openapi.json');
  expectTightPolicy(page.headers['content-security-policy'] as string | undefined);
});
