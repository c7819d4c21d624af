import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ECHO } from '../support/agents.ts';
import { tempFolder } from '../support/app.ts';
import { textOf } from '../support/runs.ts';
import { SQLITE_CONFIG } from './agents.ts';
import { startServer } from './command.ts';
import { serveWeb } from './web.ts';

const CONFIG = 'agent: { type: LANGGRAPH, config: { name: bare, graph_definition: "./agent.ts:graph" } }';

test('the engine alone keeps no database and no sessions', async () => {
  const cwd = tempFolder({ 'agent.ts': ECHO, 'bare.yaml': CONFIG });
  const server = await startServer(['agent', 'serve', '--source', 'file', '--path', 'bare.yaml'], { cwd });
  expect(textOf(await server.say('hello'))).toBe('you said: hello');
  expect(await server.get('/agent/sessions')).toMatchObject({
    status: 501,
    body: { detail: { agent_type: 'LangGraph' } },
  });
  expect(existsSync(join(cwd, 'data'))).toBe(false);
});

test('the engine alone remembers where its configuration says so', async () => {
  const cwd = tempFolder({ 'agent.ts': ECHO, 'config.yaml': SQLITE_CONFIG });
  const server = await startServer(['agent', 'serve'], { cwd });
  await server.say('hello', 'thread-1');
  expect((await server.get('/agent/sessions')).body).toMatchObject([{ id: 'thread-1' }]);
  expect(existsSync(join(cwd, 'data/chat.db'))).toBe(true);
  expect(existsSync(join(cwd, 'data/service.db'))).toBe(false);
});

test('the configuration comes from a manager that knows the key', async () => {
  const asked: Record<string, unknown>[] = [];
  const SERVICE_MANAGER_HOST = await serveWeb((request, response) => {
    const { auth, authorization } = request.headers;
    asked.push({ url: request.url, auth, authorization });
    response.end(`engine_config:\n  ${CONFIG}\n`);
  });
  const env = { SERVICE_MANAGER_HOST, SERVICE_AGENT_API_KEY: 'key-1' };
  const server = await startServer(['agent', 'serve', '--source', 'manager'], {
    cwd: tempFolder({ 'agent.ts': ECHO }),
    env,
  });
  const expected = { url: '/api/v1/agents/config', auth: 'Bearer key-1', authorization: 'Bearer key-1' };
  expect(asked).toEqual([expected]);
  expect((await server.get('/health')).body).toMatchObject({ status: 'ok', agent_name: 'bare' });

  expect((await server.post('/reload')).status).toBe(200);
  expect(asked).toEqual([expected, expected]);
});

test('a manager that cannot be reached leaves the server up with the reason', async () => {
  // Port 9 (discard) is closed on any machine that runs tests, and fetch refuses it outright where it is not.
  const env = { SERVICE_MANAGER_HOST: 'http://127.0.0.1:9', SERVICE_AGENT_API_KEY: 'key-1' };
  const server = await startServer(['agent', 'serve', '--source', 'manager'], { cwd: tempFolder(), env });
  expect((await server.get('/health')).body).toMatchObject({
    status: 'degraded',
    reason: 'The manager cannot be reached.',
  });
  expect(server.output()).not.toContain('key-1');
});
