import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ECHO } from '../support/agents.ts';
import { tempFolder } from '../support/app.ts';
import { textOf } from '../support/runs.ts';
import { CARELESS, EXPLOSIVE } from './agents.ts';
import { inTime, startServer } from './command.ts';

test('a lone agent file in an empty folder is served, and reloaded when it is saved', async () => {
  const cwd = tempFolder({ 'agent.ts': ECHO });
  const server = await startServer(['serve', 'agent.ts', '--watch'], { cwd });
  expect(await server.get('/health')).toMatchObject({ status: 200, body: { status: 'ok', agent_name: 'agent' } });
  expect(textOf(await server.say('hello'))).toBe('you said: hello');
  expect(existsSync(join(cwd, 'data/service.db'))).toBe(true);

  await server.logged((line) => line.msg.startsWith('watching'));
  writeFileSync(join(cwd, 'agent.ts'), ECHO.replace('you said', 'now you said'));
  await server.logged((line) => line.msg === 'agent is live' && line.generation === 2);
  expect(textOf(await server.say('hello'))).toBe('now you said: hello');
});

test('without any configuration the server is up and says that there is no agent', async () => {
  const server = await startServer(['serve'], { cwd: tempFolder() });
  const health = await server.get('/health');
  expect(health.body).toMatchObject({ status: 'degraded', agent_ready: false });
  expect(health.body).not.toHaveProperty('reason');
  expect((await server.get('/health?strict=1')).status).toBe(503);
  const run = await server.post('/agent/run', {
    threadId: 't',
    runId: 'r',
    messages: [{ role: 'user', content: 'x' }],
  });
  expect(run.status).toBe(503);
  expect(await run.json()).toMatchObject({ detail: { error: { code: 'agent_not_ready' } } });
});

test('an agent that cannot be loaded leaves the server up with the reason, until it is mended', async () => {
  const cwd = tempFolder();
  const server = await startServer(['serve', 'agent.ts'], { cwd });
  expect((await server.get('/health')).body).toMatchObject({
    status: 'degraded',
    reason: 'Agent module agent.ts does not exist.',
  });
  writeFileSync(join(cwd, 'agent.ts'), ECHO);
  expect((await server.post('/reload')).status).toBe(200);
  expect(textOf(await server.say('hello'))).toBe('you said: hello');
});

test('config.yaml is served with its variables, from the environment and from .env', async () => {
  const cwd = tempFolder({
    'agent.ts': ECHO,
    '.env': 'AGENT_FILE=./agent.ts\nAGENT_NAME=from .env\nSERVICE_LOG_LEVEL=debug\n',
    'config.yaml': `agent: { type: LANGGRAPH, config: { name: "\${AGENT_NAME}", graph_definition: "\${AGENT_FILE}:graph" } }`,
  });
  const server = await startServer(['serve'], { cwd, env: { AGENT_NAME: 'from the shell' } });
  expect((await server.get('/health')).body).toMatchObject({ agent_name: 'from the shell' });
  expect(textOf(await server.say('hello'))).toBe('you said: hello');
});

test('a promise that agent code forgot to await does not end the server', async () => {
  const server = await startServer(['serve', 'agent.ts'], { cwd: tempFolder({ 'agent.ts': CARELESS }) });
  expect(textOf(await server.say('one'))).toBe('answered');
  const line = await server.logged(({ msg }) => msg === 'a promise was rejected and nobody handled it');
  expect(line.err).toMatchObject({ message: 'forgotten' });
  expect(textOf(await server.say('two'))).toBe('answered');
});

test('an error that nothing can catch ends the server, but not the stream under way', async () => {
  const server = await startServer(['serve', 'agent.ts'], { cwd: tempFolder({ 'agent.ts': EXPLOSIVE }) });
  expect(textOf(await server.say('one'))).toBe('answered');
  const line = await server.logged(({ msg }) => msg.startsWith('an error was thrown outside any run'));
  expect(line).toMatchObject({ level: 60, err: { message: 'too late to catch' } });
  expect(await inTime(server.exited, () => 'the exit')).toBe(1);
});
