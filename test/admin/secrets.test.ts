import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ECHO } from '../support/agents.ts';
import { createTestApp, tempFolder } from '../support/app.ts';
import {
  type Admin,
  adminOf,
  banList,
  empty,
  guardrail,
  type Json,
  mcp,
  ref,
  slack,
  UNKNOWN_ID,
  withAgent,
} from './support.ts';

/** Every secret of {@link fill} holds this. */
const MARK = 'S3CRET';

const server = (more: Json = {}) =>
  mcp('Clock', {
    url: `https://user:${MARK}-url@tools.example.org/mcp?api_key=${MARK}-query&page=1`,
    headers: { Authorization: `Bearer ${MARK}-header`, 'X-Api-Key': `${MARK}-api`, Accept: 'text/plain' },
    env: { SERVICE_TOKEN: `${MARK}-env`, MODE: 'fast' },
    ...more,
  });

/** Puts a secret into each place that can hold one. @returns the ids of the records. */
async function fill(admin: Admin): Promise<Record<'rail' | 'server' | 'team', string>> {
  const rail = { ...guardrail('Rail', ['omega']), guardrail: banList(['omega'], { api_key: `${MARK}-rail` }) };
  const config = { botToken: `${MARK}-bot`, signingSecret: `${MARK}-signing` };
  const ids = {
    rail: (await admin.post('/guardrails', rail)).body.data.id,
    server: (await admin.post('/mcp-servers', server())).body.data.id,
    team: (await admin.post('/integrations', slack('Team', { integration: { provider: 'SLACK', config } }))).body.data
      .id,
  };
  const langfuse = { provider: 'LANGFUSE', enabled: false, config: { secretKey: `${MARK}-langfuse` } };
  await admin.patch('/observability', { observability: [langfuse] });
  const memory = { type: 'sqlite', db_url: `sqlite:///./chat.db?token=${MARK}-db` };
  await admin.patch('/memory', { agentFramework: 'LANGGRAPH', memory });
  return ids;
}

/** All bytes of the files in the server's data folder, the key's aside. */
function bytesOf(root: string): string {
  const data = join(root, 'data');
  const files = readdirSync(data).filter((file) => file.startsWith('service.db'));
  expect(files.length).toBeGreaterThan(0);
  return files.map((file) => readFileSync(join(data, file), 'latin1')).join('\n');
}

test('no secret is in the database, neither while it is open nor afterwards', async () => {
  const { admin, app, root } = await withAgent();
  const { server: id } = await fill(admin);
  await admin.patch(`/mcp-servers/${id}`, server({ headers: { Cookie: `${MARK}-cookie` } }));
  expect(bytesOf(root)).not.toContain(MARK);
  await app.close();
  expect(bytesOf(root)).not.toContain(MARK);
});

test('no answer and no line of the log shows a secret', async () => {
  const { admin, logs } = await withAgent();
  const ids = await fill(admin);
  const paths = [
    ...['/guardrails', '/mcp-servers', '/integrations', '/observability', '/memory', '/agent', '/runtime/status'],
    ...[`/guardrails/${ids.rail}`, `/mcp-servers/${ids.server}`, `/integrations/${ids.team}`],
    ...['/config/materialized', '/config/export', '/revisions', '/revisions/2', '/revisions/6/diff?against=0'],
    ...['/revisions/3', '/revisions/4/diff', '/revisions/5', '/revisions/6', '//agent/config', '//health'],
  ];
  for (const path of paths) {
    const answer = await admin.get(path);
    expect(answer.status, path).toBe(200);
    expect(JSON.stringify(answer.body), path).not.toContain(MARK);
  }
  // Writes that answer with the record, and writes that are refused.
  const renamed = await admin.patch(`/mcp-servers/${ids.server}`, { name: 'Other' });
  const socket = server({ transport: 'websocket', url: `wss://user:${MARK}-socket@tools.example.org` });
  const refused = await admin.patch(`/mcp-servers/${ids.server}`, { ...socket, enabled: true });
  const wrong = await admin.patch(`/mcp-servers/${ids.server}`, server({ transport: 'x' }));
  const gone = await admin.patch(`/mcp-servers/${UNKNOWN_ID}`, server());
  const clear = `${JSON.stringify({ id: 5, headers: { Authorization: `${MARK}-x` } }).slice(0, -1)}`;
  const cut = await admin.call('POST', '/mcp-servers', clear, { 'content-type': 'application/json' });
  const memory = { type: 'sqlite', db_url: `sqlite:///./agent.ts/nowhere/x.db?token=${MARK}-dark` };
  const dark = await admin.patch('/memory', { agentFramework: 'LANGGRAPH', memory });
  expect([renamed, refused, wrong, gone, cut, dark].map(({ status }) => status)).toEqual([
    200, 422, 422, 404, 422, 422,
  ]);
  for (const { body } of [renamed, refused, wrong, gone, cut]) expect(JSON.stringify(body)).not.toContain(MARK);
  const { id: agentId } = (await admin.get('/agent')).body;
  const managed = await admin.call('PUT', `//api/v1/agents/${agentId}/status`, { status: 'active' });
  expect(JSON.stringify(managed.body)).not.toContain(MARK);
  expect(JSON.stringify(logs.filter(({ msg }) => !String(msg).includes('nowhere')))).not.toMatch(/S3CRET-(?!x)/);
});

test('what is no secret stays readable', async () => {
  const { admin } = await empty();
  const { data } = (await admin.post('/mcp-servers', server())).body;
  expect(data.mcpServer.url).toBe('https://user:***@tools.example.org/mcp?api_key=***&page=1');
  expect(data.mcpServer.headers).toEqual({ Authorization: '***', 'X-Api-Key': '***', Accept: 'text/plain' });
  expect(data.mcpServer.env).toEqual({ SERVICE_TOKEN: '***', MODE: 'fast' });
});

/** Whether two revisions hold the same secrets: a changed one is a difference. */
const differences = async (admin: Admin): Promise<Json[]> =>
  (await admin.get(`/revisions/${await admin.revision()}/diff`)).body.diff;

test('a mask that is written back means unchanged', async () => {
  const { admin } = await withAgent();
  const ids = await fill(admin);
  for (const path of [`/guardrails/${ids.rail}`, `/mcp-servers/${ids.server}`, `/integrations/${ids.team}`]) {
    const { body } = await admin.get(path);
    expect((await admin.patch(path, body)).status, path).toBe(200);
    expect(await differences(admin), path).toEqual([]);
  }
  for (const path of ['/observability', '/memory']) {
    const { body } = await admin.get(path);
    expect((await admin.patch(path, body)).status, path).toBe(200);
    expect(await differences(admin), path).toEqual([]);
  }
  const { mcpServer } = (await admin.get(`/mcp-servers/${ids.server}`)).body;
  const headers = { ...mcpServer.headers, Accept: '*/*' };
  await admin.patch(`/mcp-servers/${ids.server}`, { mcpServer: { ...mcpServer, headers } });
  expect(await differences(admin)).toMatchObject([{ path: expect.arrayContaining(['Accept']) }]);
});

test('in a list, a mask stands for the secret of its own entry', async () => {
  const { admin } = await empty();
  const langfuse = (host: string) => ({
    provider: 'LANGFUSE',
    enabled: false,
    config: { host: `https://${host}.example`, secretKey: `${MARK}-${host}` },
  });
  await admin.patch('/observability', { observability: [langfuse('one'), langfuse('two')] });
  const [, second] = (await admin.get('/observability')).body.observability;
  const answer = await admin.patch('/observability', { observability: [second] });
  if (answer.status === 422) return;
  const clear = await admin.patch('/observability', { observability: [langfuse('two')] });
  expect(clear.status).toBe(200);
  // Host two had its own secret, so that writing it in clear changed nothing.
  expect(await differences(admin)).toEqual([]);
});

test.each<[string, Json]>([
  ['/mcp-servers', server({ headers: { Authorization: '***' } })],
  ['/mcp-servers', server({ url: 'https://user:***@x.example' })],
  [
    '/integrations',
    slack('T', { integration: { provider: 'SLACK', config: { botToken: '***', signingSecret: 's' } } }),
  ],
  ['/guardrails', { ...guardrail('G'), guardrail: banList(['a'], { api_key: '***' }) }],
])('a mask for a new record stands for nothing: %s', async (path, body) => {
  const { admin } = await empty();
  const refused = await admin.post(path, body);
  expect(refused).toMatchObject({ status: 422, body: { error: { code: 'validation_failed' } } });
  expect((await admin.get(path)).body).toEqual([]);
});

test('a reference to a variable is kept as one, shown, and resolved when the agent is built', async () => {
  const env = { RAIL_KEY: `${MARK}-rail`, DB: 'sqlite:///./from-variable.db', BLANK: '' };
  const { admin, root } = await withAgent({ env });
  const rail = (key: string) => ({ ...guardrail('Rail'), guardrail: banList(['a'], { api_key: key }) });
  const made = await admin.post('/guardrails', rail(ref('RAIL_KEY')));
  expect(made.body.data.guardrail.api_key).toBe(ref('RAIL_KEY'));
  expect(JSON.stringify((await admin.get('//agent/config')).body)).not.toContain(MARK);
  const memory = { agentFramework: 'LANGGRAPH', memory: { type: 'sqlite', db_url: ref('DB') } };
  expect((await admin.patch('/memory', memory)).body.data).toMatchObject(memory);
  expect(readdirSync(root)).toContain('from-variable.db');
  const revision = await admin.revision();
  const stored = (url: string) => ({ ...memory, memory: { type: 'sqlite', db_url: url } });
  const unset = await admin.patch('/memory', stored(ref('NOT_THERE')));
  expect(unset.status).toBe(422);
  expect(JSON.stringify(unset.body.detail)).toContain('NOT_THERE');
  expect(await admin.revision()).toBe(revision);
  expect((await admin.patch('/memory', stored(ref('NOT_THERE:-sqlite:///./fallback.db')))).status).toBe(200);
  // A prompt's text is the author's own; nothing in it is a reference.
  const content = `costs ${ref('NOT_THERE')}, not ${ref('RAIL_KEY')}`;
  const prompt = await admin.post('/prompts', { promptId: 'p', content });
  expect(prompt).toMatchObject({ status: 201, body: { data: { content } } });
  expect(JSON.stringify((await admin.get('/config/materialized')).body.sources)).toContain('environment');
});

describe('the key', () => {
  test('is made beside the database, for its owner only, and serves again after a restart', async () => {
    const root = tempFolder();
    const first = await createTestApp({ root });
    const ids = await fill(adminOf(first.app));
    const path = join(root, 'data', 'secret.key');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const key = readFileSync(path, 'utf8');
    const hash = createHash('sha256').update(key).digest('hex');
    await first.app.close();
    const { admin } = await empty({ root });
    expect(createHash('sha256').update(readFileSync(path)).digest('hex')).toBe(hash);
    const { body } = await admin.get(`/mcp-servers/${ids.server}`);
    await admin.patch(`/mcp-servers/${ids.server}`, body);
    expect(await differences(admin)).toEqual([]);
  });

  test('is the one of SERVICE_SECRET_KEY where that is set', async () => {
    const root = tempFolder();
    const env = { SERVICE_SECRET_KEY: 'k'.repeat(40) };
    const first = await createTestApp({ root, env });
    await fill(adminOf(first.app));
    expect(readdirSync(join(root, 'data'))).not.toContain('secret.key');
    await first.app.close();
    expect((await (await empty({ root, env })).admin.get('/mcp-servers')).body).toHaveLength(1);
  });

  test.each([
    ['no file', {}],
    ['an agent on the command line', { agent: 'agent.ts:graph' }],
    ['a configuration file', { env: { SERVICE_CONFIG_PATH: './config.yaml' } }],
  ] as [string, { agent?: string; env?: Record<string, string> }][])(
    'is another one: the server starts and says so, with %s',
    async (_, options) => {
      const yaml = 'agent: {type: LANGGRAPH, config: {name: a, graph_definition: "agent.ts:graph"}}';
      const root = tempFolder({ 'agent.ts': ECHO, ...(options.env !== undefined && { 'config.yaml': yaml }) });
      const first = await createTestApp({
        root,
        ...options,
        env: { SERVICE_SECRET_KEY: 'k'.repeat(40), ...options.env },
      });
      await fill(adminOf(first.app));
      await first.app.close();
      const { admin } = await empty({ root, ...options, env: { SERVICE_SECRET_KEY: 'z'.repeat(40), ...options.env } });
      expect((await admin.get('//health')).body).toMatchObject({
        reason: expect.stringMatching(/SERVICE_SECRET_KEY|secret\.key/),
      });
      const listed = await admin.get('/guardrails');
      expect(listed.status).toBe(500);
      expect(listed.body.detail).toMatch(/SERVICE_SECRET_KEY|secret\.key/);
    },
  );
});
