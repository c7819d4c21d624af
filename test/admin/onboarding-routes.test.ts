import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ECHO } from '../support/agents.ts';
import { writeFiles } from '../support/app.ts';
import { runEvents, runInput, textOf } from '../support/runs.ts';
import { empty, type Json, withAgent } from './support.ts';

const scan = '/onboarding/scan';
const PICK = { framework: 'LANGGRAPH', filePath: 'agent.ts', variableName: 'graph' };
const noConfig = { env: { SERVICE_CONFIG_PATH: './none.yaml' } };

test.each<[string, Record<string, string>, string, number]>([
  ['no source', { 'README.md': 'x' }, 'EMPTY', 0],
  ['sources without an agent', { 'a.ts': 'export const a = 1;' }, 'NO_SUPPORTED', 0],
  ['one agent', { 'agent.ts': ECHO }, 'ONE_DETECTED', 1],
  ['two agents', { 'agent.ts': ECHO, 'b.ts': ECHO }, 'MANY_DETECTED', 2],
])('scan: %s', async (_, files, state, count) => {
  const { admin, root } = await empty({ files, ...noConfig });
  const { status, body } = await admin.post(scan);
  expect(status).toBe(200);
  expect(body).toMatchObject({ state, currentAgent: null, current_agent: null, scanResult: { root } });
  expect(body.scanResult.detected).toHaveLength(count);
  expect(body.detected).toEqual(body.scanResult.detected);
  expect(body).toMatchObject({ hasPythonFiles: false, has_python_files: false, has_service_config: false });
  expect(body.scanResult).toMatchObject({ has_python_files: false, hasServiceConfig: false });
  expect(body.scanResult.scanDurationMs).toEqual(expect.any(Number));
});

test('scan: configured already, and the scan runs all the same', async () => {
  const { admin } = await withAgent();
  const { body } = await admin.post(scan);
  expect(body).toMatchObject({ state: 'ALREADY_CONFIGURED', current_agent: { name: 'agent' } });
  expect(body.currentAgent).toEqual((await admin.get('/agent')).body);
  expect(body.detected).toHaveLength(1);
});

test('what was found is registered and answers', async () => {
  const { admin, app } = await empty({ files: { 'agent.ts': ECHO }, ...noConfig });
  const { detected } = (await admin.post(scan)).body;
  expect(detected).toMatchObject([PICK]);
  const made = await admin.post('/onboarding/create-from-detection', {
    framework: 'LANGGRAPH',
    file_path: 'agent.ts',
    variable_name: 'graph',
  });
  expect(made).toMatchObject({
    status: 200,
    body: { reload: { status: 'reloaded' }, data: { name: detected[0].inferredName } },
  });
  expect(made.body.data.baseEngineConfig.agent.config.graph_definition).toBe('agent.ts:graph');
  expect(textOf(await runEvents(app, runInput('hi')))).toBe('you said: hi');
  const second = await admin.post('/onboarding/create-from-detection', PICK);
  expect(second).toMatchObject({ status: 409, body: { error: { code: 'conflict' } } });
  expect((await admin.post('/onboarding/create-starter', { framework: 'LANGGRAPH' })).status).toBe(409);
});

test('a pick that is not there any more, or that cannot start', async () => {
  const { admin, root } = await empty({ files: { 'agent.ts': ECHO }, ...noConfig });
  for (const pick of [
    { ...PICK, variableName: 'other' },
    { ...PICK, filePath: '../agent.ts' },
    { ...PICK, framework: 'ADK' },
  ]) {
    expect((await admin.post('/onboarding/create-from-detection', pick)).status, JSON.stringify(pick)).toBe(409);
  }
  for (const pick of [{}, { ...PICK, framework: 'X' }, { ...PICK, filePath: 5 }]) {
    expect((await admin.post('/onboarding/create-from-detection', pick)).status, JSON.stringify(pick)).toBe(422);
  }
  writeFiles(root, { 'agent.ts': `${ECHO}\nthrow new Error('no');` });
  const refused = await admin.post('/onboarding/create-from-detection', PICK);
  expect(refused).toMatchObject({ status: 422, body: { error: { code: 'reload_failed' } } });
  expect((await admin.get('/agent')).status).toBe(404);
  writeFiles(root, { 'agent.ts': ECHO });
  expect((await admin.post('/onboarding/create-from-detection', PICK)).status).toBe(200);
});

test('a starter is written, and talks at once', async () => {
  const { admin, app, root } = await empty(noConfig);
  const made = await admin.post('/onboarding/create-starter', { framework: 'LANGGRAPH', name: ' Café Desk ' });
  expect(made).toMatchObject({ status: 200, body: { data: { name: 'Café Desk', status: 'draft' } } });
  expect(made.body.data.baseEngineConfig.agent.config.name).toMatch(/^caf_desk$/);
  expect(textOf(await runEvents(app, runInput('hello')))).not.toBe('');
  expect(readdirSync(root).length).toBeGreaterThanOrEqual(5);
});

test('the starter has a name by itself', async () => {
  const { admin } = await empty(noConfig);
  const { data } = (await admin.post('/onboarding/create-starter', { framework: 'LANGGRAPH' })).body;
  expect(data.name).toBe('Starter Agent');
});

test('of starters asked for at once one is made', async () => {
  const { admin } = await empty(noConfig);
  const answers = await Promise.all(
    Array.from({ length: 4 }, () => admin.post('/onboarding/create-starter', { framework: 'LANGGRAPH' })),
  );
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409]);
  expect((await admin.get('//health')).body.agent_ready).toBe(true);
});

test.each<[string, Record<string, string>, Json, number]>([
  ['a file in the way', { 'README.md': 'mine' }, {}, 409],
  ['an empty name', {}, { name: '' }, 422],
  ['a long name', {}, { name: 'x'.repeat(81) }, 422],
  ['no framework', {}, { framework: undefined }, 422],
  ['an unknown framework', {}, { framework: 'CREWAI' }, 422],
  ['a framework that is not built yet', {}, { framework: 'ADK' }, 422],
  ['a rule that cannot start', {}, {}, 422],
])('no starter is written: %s', async (what, files, more, status) => {
  const { admin, root } = await empty({ files, ...noConfig });
  if (what.startsWith('a rule')) {
    // What cannot go live with it: a memory whose folder is a file.
    writeFiles(root, { file: '' });
    const memory = { type: 'sqlite', db_url: 'sqlite:///./file/m.db' };
    expect((await admin.patch('/memory', { agentFramework: 'LANGGRAPH', memory })).status).toBe(200);
  }
  const before = readdirSync(root).sort();
  const answer = await admin.post('/onboarding/create-starter', { framework: 'LANGGRAPH', ...more });
  expect(answer.status).toBe(status);
  if (status === 409) expect(answer.body.detail).toContain('README.md');
  expect(readdirSync(root).sort()).toEqual(before);
  expect(existsSync(join(root, 'agent.ts'))).toBe(false);
  expect((await admin.get('/agent')).status).toBe(404);
});
