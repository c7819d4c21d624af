import { expect, test } from 'vitest';
import { ownMark } from '../../src/services/access/caller.ts';
import { create } from '../../src/services/config/change.ts';
import { prompts } from '../../src/services/resources/prompts.ts';
import { withAgent } from '../admin/support.ts';
import { ECHO } from '../support/agents.ts';
import { createTestApp } from '../support/app.ts';
import { runEvents, runInput, textOf } from '../support/runs.ts';

const BROKEN = 'Dear {{ user }},\n{% if vip %}welcome back.';
const FAULT = 'line 2, column 1: {% if %} has no {% endif %}';

test('a template that does not parse is refused where it is written', async () => {
  const { admin } = await withAgent();
  const refused = await admin.post('/prompts', { promptId: 'letter', content: BROKEN });
  expect(refused.status).toBe(422);
  expect(refused.body.detail).toEqual([{ loc: ['body', 'content'], msg: FAULT, type: 'value_error' }]);
  const unknown = await admin.post('/prompts', { prompt_id: 'letter', content: '{% include "x" %}' });
  expect(unknown.body.detail[0].msg).toBe(
    'line 1, column 1: the tag "include" is not known; there are if, for, comment and raw',
  );
  expect((await admin.post('/prompts', { promptId: 'p', content: 'x'.repeat(1_000_001) })).status).toBe(422);
  expect((await admin.get('/prompts')).body).toEqual([]);
  expect(await admin.revision()).toBe(1);
  for (const content of ['', 'plain {', 'a'.repeat(1_000_000), '{{ user }}']) {
    expect((await admin.post('/prompts', { promptId: 'fine', content })).status).toBe(201);
  }
});

const FILE = `agent: { type: LANGGRAPH, config: { name: a, graph_definition: './agent.ts:graph' } }
prompts:
  - { prompt_id: fine, version: 1, content: 'Hello {{ user }}' }
  - prompt_id: letter
    version: 1
    content: |
      Dear {{ user }},
      {% if vip %}welcome back.
`;

test('so it is in a file, an import and a check of one', async () => {
  const { admin } = await withAgent();
  for (const path of ['/config/import', '/validate']) {
    const refused = await admin.post(path, { yaml: FILE });
    expect(refused.status, path).toBe(422);
    expect(refused.body.detail, path).toEqual([
      { loc: ['config', 'prompts', 1, 'content'], msg: `line 6: ${FAULT}`, type: 'value_error' },
    ]);
  }
  expect((await admin.get('/prompts')).body).toEqual([]);
});

test.each([false, true])(
  'a server starts without an agent rather than with such a file (engine only: %s)',
  async (engineOnly) => {
    const { app } = await createTestApp({ files: { 'agent.ts': ECHO, 'config.yaml': FILE }, engineOnly });
    const health = (await app.inject('/health')).json() as { boot_error?: string };
    expect(JSON.stringify(health)).toContain(`prompts.1.content: ${FAULT}`);
  },
);

test('one that was stored before fails only when it is rendered, and can be put right', async () => {
  const agent = ECHO.replace(
    "'you said: '",
    "(state.messages.at(-1).content === 'look' ? getPrompt('letter').content : getPrompt(state.messages.at(-1).content).format({ user: 'A' }))",
  );
  const { app, admin, logs } = await withAgent({
    files: { 'agent.ts': `import { getPrompt } from 'agent-engine-server/agent';\n${agent}` },
  });
  const { reconfigure } = app.services.admin ?? expect.unreachable();
  const body = { promptId: 'letter', content: BROKEN, tags: [] };
  const note = { by: ownMark('prompts.create', 'an earlier version'), resource: 'prompts', action: 'create' };
  await reconfigure.write(note, create(prompts, body, { allowStdio: false }));

  expect((await admin.post('/prompts', { promptId: 'other', content: 'Hi {{ user }} ' })).status).toBe(201);
  expect(textOf(await runEvents(app, runInput('other')))).toBe('Hi A other');
  expect((await runEvents(app, runInput('letter'))).at(-1)).toMatchObject({
    type: 'RUN_ERROR',
    code: 'FRAMEWORK_ERROR',
  });
  expect(logs.find(({ msg }) => msg === 'a run failed')).toMatchObject({
    err: { message: `Prompt letter v1 cannot be rendered: ${FAULT}` },
  });
  expect(textOf(await runEvents(app, runInput('look')))).toBe(`${BROKEN}look`);
  const [row] = (await admin.get('/prompts')).body;
  expect((await admin.patch(`/prompts/${row.id}`, { tags: ['broken'] })).body.data).toMatchObject({
    content: BROKEN,
    tags: ['broken'],
  });
  expect((await app.inject({ method: 'POST', url: '/reload' })).statusCode).toBe(200);
  await admin.post('/prompts', { promptId: 'letter', content: `${BROKEN}{% endif %} ` });
  expect((await runEvents(app, runInput('letter'))).at(-1)).toMatchObject({ type: 'RUN_ERROR' });
  await admin.post('/prompts', { promptId: 'letter', content: 'Dear {{ user }}, ' });
  expect(textOf(await runEvents(app, runInput('letter')))).toBe('Dear A, letter');
});
