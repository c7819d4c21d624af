import { describe, expect, test } from 'vitest';
import { runEvents, runInput, textOf } from '../support/runs.ts';
import { banList, empty, guardrail, type Json, mcp, slack, withAgent } from './support.ts';

const SSO = { issuer: 'https://id.example', clientId: 'web' };
const EXPORTER = { observability: { provider: 'LANGFUSE', enabled: false, config: {} } };

const socket = (name: string) => mcp(name, { transport: 'websocket', url: 'ws://127.0.0.1:1/mcp' });

/** Writes that need what this version does not have: method, path, body. */
const NOT_YET: [string, string, string, Json][] = [
  ['an enabled MCP server over a websocket', 'POST', '/mcp-servers', { ...socket('a'), enabled: true }],
  ['an enabled integration', 'POST', '/integrations', { ...slack('a'), enabled: true }],
  ['an output guardrail', 'POST', '/guardrails', { ...guardrail('a'), position: 'output' }],
  ...[
    { config_id: 'detect_pii', pii_entities: ['Email'] },
    { config_id: 'nsfw_text', threshold: 0.5 },
    { config_id: 'toxic_language', threshold: 0.5 },
    { config_id: 'gibberish_text', threshold: 0.5 },
    { config_id: 'bias_check', threshold: 0.5 },
    { config_id: 'competition_check', competitors: ['x'] },
    { config_id: 'correct_language', expected_languages: ['en'] },
    { config_id: 'restrict_to_topic', valid_topics: ['a'] },
    { config_id: 'restrict_to_topic', topics: ['a'] },
    { config_id: 'detect_jailbreak', threshold: 0.5 },
    { config_id: 'custom_llm' },
  ].map((config): [string, string, string, Json] => [
    `guardrail ${JSON.stringify(config)}`,
    'POST',
    '/guardrails',
    { name: 'a', position: 'input', guardrail: config },
  ]),
];

describe.each([
  ['with an agent', withAgent],
  ['without an agent', empty],
] as const)('%s', (_, server) => {
  test.each(NOT_YET)('%s is 422, says so, and changes nothing', async (_name, method, path, body) => {
    const { admin } = await server();
    const revision = await admin.revision();
    const answer = await admin.call(method, path, body);
    expect(answer).toMatchObject({ status: 422, body: { error: { code: 'validation_failed' } } });
    expect(JSON.stringify(answer.body.detail)).toMatch(/not supported by this version/);
    expect(await admin.revision()).toBe(revision);
    const stored = await admin.get(path);
    expect(stored.status === 404 ? [] : stored.body).toEqual([]);
  });

  test('what is disabled is stored', async () => {
    const { admin } = await server();
    expect((await admin.post('/mcp-servers', mcp('a'))).status).toBe(201);
    expect((await admin.post('/integrations', slack('a'))).status).toBe(201);
    expect((await admin.patch('/sso', { sso: { ...SSO, enabled: false } })).status).toBe(200);
    expect((await admin.patch('/observability', EXPORTER)).status).toBe(200);
    expect((await admin.post('/guardrails', { ...guardrail('a'), position: 'output', enabled: false })).status).toBe(
      201,
    );
  });

  test('what is disabled cannot be enabled later', async () => {
    const { admin } = await server();
    for (const [path, body] of [
      ['/mcp-servers', socket('a')],
      ['/integrations', slack('a')],
      ['/guardrails', { ...guardrail('a'), position: 'output', enabled: false }],
    ] as const) {
      const { id } = (await admin.post(path, body)).body.data;
      expect((await admin.patch(`${path}/${id}`, { enabled: true })).status).toBe(422);
      expect((await admin.get(`${path}/${id}`)).body.enabled).toBe(false);
    }
  });
});

test('a memory of the other framework is refused before there is an agent', async () => {
  const { admin } = await empty();
  for (const memory of [{ type: 'in_memory' }, { type: 'database', db_url: 'sqlite:///x.db' }]) {
    expect((await admin.patch('/memory', { agentFramework: 'ADK', memory })).status).toBe(422);
  }
  const vertex = { type: 'vertex_ai', project_id: 'p', location: 'l', reasoning_engine_app_name: 'r' };
  expect((await admin.patch('/memory', { agentFramework: 'ADK', memory: vertex })).status).toBe(422);
  expect((await admin.patch('/memory', { agentFramework: 'CREWAI', memory: { type: 'memory' } })).status).toBe(422);
});

test('an MCP server that is a program needs a setting, to be made as to be changed', async () => {
  const stdio = {
    name: 'P',
    enabled: false,
    mcpServer: { name: 'p', transport: 'stdio', command: 'npx', args: ['x'] },
  };
  const closed = await empty();
  const refused = await closed.admin.post('/mcp-servers', stdio);
  expect(refused.status).toBe(422);
  expect(JSON.stringify(refused.body)).toContain('SERVICE_ALLOW_STDIO_MCP');
  const http = (await closed.admin.post('/mcp-servers', mcp('H'))).body.data;
  expect((await closed.admin.patch(`/mcp-servers/${http.id}`, { mcpServer: stdio.mcpServer })).status).toBe(422);
  const yaml = 'agent: {type: LANGGRAPH, config: {name: a, graph_definition: "agent.ts:graph"}}\n';
  const imported = {
    yaml: `${yaml}mcp_servers: [{name: p, transport: stdio, command: npx, args: [x], enabled: false}]`,
  };
  const server = await withAgent();
  expect((await server.admin.post('/config/import', imported)).status).toBe(422);
  const open = await empty({ env: { SERVICE_ALLOW_STDIO_MCP: 'true' } });
  expect((await open.admin.post('/mcp-servers', stdio)).status).toBe(201);
});

test('before there is an agent the rest can be written, and the agent then starts with it', async () => {
  const { admin, app } = await empty();
  const made = await admin.post('/guardrails', guardrail('a', ['forbidden']));
  expect(made).toMatchObject({ status: 201, body: { reload: { status: 'reloaded' } } });
  expect(made.body.reload.message).toMatch(/no agent/i);
  await admin.patch('/memory', { agentFramework: 'LANGGRAPH', memory: { type: 'sqlite', db_url: 'sqlite:///./m.db' } });
  expect((await admin.get('//health')).body).toMatchObject({ agent_ready: false });
  expect((await admin.get('//health')).body).not.toHaveProperty('reason');
  expect((await admin.post('/onboarding/create-starter', { framework: 'LANGGRAPH' })).status).toBe(200);
  const input = runInput('forbidden fruit');
  expect((await app.inject({ method: 'POST', url: '/agent/run', payload: input })).statusCode).toBe(429);
  expect(textOf(await runEvents(app, runInput('hello')))).not.toBe('');
});

test('a refused write before there is an agent does not make the server look broken', async () => {
  const { admin } = await empty();
  expect((await admin.post('/mcp-servers', { ...socket('a'), enabled: true })).status).toBe(422);
  expect((await admin.get('//health')).body).not.toHaveProperty('reason');
});

test('the restriction to topics knows no member `topics`', async () => {
  const { admin } = await empty();
  expect((await admin.post('/guardrails', { ...guardrail('a'), guardrail: banList(['x']) })).status).toBe(201);
  const old = {
    name: 'b',
    enabled: false,
    position: 'input',
    guardrail: { config_id: 'restrict_to_topic', topics: [] },
  };
  expect((await admin.post('/guardrails', old)).status).toBe(422);
});
