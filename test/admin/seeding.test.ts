import { expect, test } from 'vitest';
import { ECHO } from '../support/agents.ts';
import { createTestApp, tempFolder, writeFiles } from '../support/app.ts';
import { adminOf, empty, type Json } from './support.ts';

const AGENT = 'agent: {type: LANGGRAPH, config: {name: desk, graph_definition: "agent.ts:graph"}}\n';
const FULL = `server: {api: {port: 9000}}
agent: {type: LANGGRAPH, config: {name: desk, graph_definition: "agent.ts:graph", checkpointer: {type: memory}}}
prompts: [{prompt_id: greeting, version: 4, content: "Hi {{ user }}", tags: [a]}]
guardrails: {input: [{config_id: ban_list, banned_words: [alpha]}, {config_id: ban_list, banned_words: [beta]}]}
mcp_servers: [{name: clock, transport: stdio, command: npx, args: [x], enabled: false}]
observability: [{provider: LANGFUSE, enabled: false, config: {}}]
sso: {enabled: false, issuer: "https://i.example", client_id: web}
`;

test('an empty database takes each block of the file; afterwards the database wins', async () => {
  const root = tempFolder({ 'agent.ts': ECHO, 'config.yaml': FULL });
  const first = await createTestApp({ root });
  const admin = adminOf(first.app);
  expect((await admin.get('/agent')).body).toMatchObject({
    name: 'desk',
    status: 'draft',
    baseEngineConfig: { server: { api: { port: 9000 } }, agent: { config: { name: 'desk' } } },
  });
  expect((await admin.get('/agent')).body.baseEngineConfig.agent.config).not.toHaveProperty('checkpointer.type');
  expect((await admin.get('/memory')).body).toMatchObject({ agentFramework: 'LANGGRAPH', memory: { type: 'memory' } });
  expect((await admin.get('/prompts')).body).toMatchObject([{ promptId: 'greeting', version: 4, tags: ['a'] }]);
  expect((await admin.get('/guardrails')).body.map((row: Json) => [row.slug, row.sortOrder])).toEqual([
    ['ban-list', 0],
    ['ban-list-2', 1],
  ]);
  // A program may be configured by the file, though not over HTTP.
  expect((await admin.get('/mcp-servers')).body).toMatchObject([{ slug: 'clock', enabled: false }]);
  expect((await admin.get('/sso')).body).toMatchObject({ sso: { clientId: 'web' } });
  expect((await admin.get('/config/materialized')).body.sources).toMatchObject({ agent: 'file' });
  await admin.patch('/agent', { name: 'Mine' });
  await first.app.close();
  writeFiles(root, { 'config.yaml': FULL.replace('name: desk', 'name: other').replace('greeting', 'farewell') });
  const second = adminOf((await createTestApp({ root })).app);
  expect((await second.get('/agent')).body.name).toBe('Mine');
  expect((await second.get('/prompts')).body).toMatchObject([{ promptId: 'greeting' }]);
  expect((await second.get('//health')).body).toMatchObject({ agent_ready: true });
});

test('a bad file seeds nothing, and /health says which line', async () => {
  const files = { 'agent.ts': ECHO, 'config.yaml': `${AGENT}guardrails:\n  input:\n    - {config_id: nope}\n` };
  const { admin } = await empty({ files });
  expect((await admin.get('//health')).body).toMatchObject({
    agent_ready: false,
    reason: expect.stringMatching(/line 4/),
  });
  expect((await admin.get('/agent')).status).toBe(404);
  expect((await admin.get('/guardrails')).body).toEqual([]);
});

test('a block that cannot be stored is named in the log, the rest goes in', async () => {
  const block =
    'guardrails: {input: [{config_id: ban_list, banned_words: [a], sort_order: -1}]}\n' +
    'mcp_servers: [{name: "日本", enabled: false, url: "https://x.example"}]\n' +
    'prompts: [{prompt_id: a, version: 1, content: b}]\n';
  const { admin, logs } = await empty({ files: { 'agent.ts': ECHO, 'config.yaml': AGENT + block } });
  expect((await admin.get('//health')).body).toMatchObject({ agent_ready: true });
  expect((await admin.get('/prompts')).body).toHaveLength(1);
  expect((await admin.get('/guardrails')).body).toEqual([]);
  // A name that gives no slug gets one all the same.
  expect((await admin.get('/mcp-servers')).body).toMatchObject([{ slug: expect.stringMatching(/^[a-z0-9-]+$/) }]);
  const errors = logs.filter(({ level }) => Number(level) >= 50);
  expect(errors).toMatchObject([{ resource: 'guardrails' }]);
});

test('POST /reload with a path replaces what is stored, all or nothing', async () => {
  const root = tempFolder({ 'agent.ts': ECHO, 'config.yaml': FULL, 'other.yaml': AGENT.replace('desk', 'other') });
  const { admin } = await empty({ root });
  writeFiles(root, {
    'bad.yaml': `${AGENT}prompts: [{prompt_id: a, version: 0, content: b}]\n`,
    'row.yaml': `${AGENT}guardrails: {input: [{config_id: ban_list, banned_words: [a], sort_order: -1}]}\n`,
    'gone.yaml': AGENT.replace('agent.ts', 'gone.ts'),
  });
  const before = await admin.revision();
  for (const path of ['bad.yaml', 'row.yaml', 'gone.yaml', 'missing.yaml', '../x.yaml', '/etc/passwd']) {
    const refused = await admin.post('//reload', { path });
    expect(refused, path).toMatchObject({ status: 422, body: { detail: expect.any(Array) } });
    expect(await admin.revision(), path).toBe(before);
  }
  expect((await admin.get('/guardrails')).body).toHaveLength(2);
  expect((await admin.post('//reload', { path: 'other.yaml' })).status).toBe(200);
  expect((await admin.get('/agent')).body.name).toBe('other');
  expect((await admin.get('/guardrails')).body).toEqual([]);
  expect((await admin.get('/revisions?limit=1')).body.items).toMatchObject([{ resource: 'configuration' }]);
});
