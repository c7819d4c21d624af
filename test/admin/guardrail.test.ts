import { describe, expect, test } from 'vitest';
import { GRAPH_FILES, messagesGraph } from '../support/graphs.ts';
import { ofType, runEvents, runInput, textOf } from '../support/runs.ts';
import { type Admin, banList, guardrail, type Json, UNKNOWN_ID, withAgent } from './support.ts';

const say = (admin: Admin, text: string) => admin.post('//agent/run', runInput(text));

test('every route that runs the agent refuses, before any stream', async () => {
  const { admin } = await withAgent();
  await admin.post('/guardrails', { ...guardrail('a'), guardrail: banList(['alpha'], { reject_message: 'Not so.' }) });
  const legacy = { query: 'say alpha', session_id: 's1' };
  for (const [path, body] of [
    ['//agent/run', runInput('say alpha')],
    ['//agent/clientkit/stream', runInput('say alpha')],
    ['//agent/stream', legacy],
    ['//agent/invoke', legacy],
  ] as const) {
    const answer = await admin.post(path, body);
    expect(answer, path).toMatchObject({ status: 429, body: { detail: 'Not so.' } });
    expect(answer.headers['content-type'], path).toContain('application/json');
  }
});

describe('words', () => {
  test.each<[string[], string, boolean]>([
    [['alpha'], 'ALPHA!', true],
    [['Alpha'], 'say alpha.', true],
    [['alpha'], 'alphabet', false],
    [['alpha'], 'anti-alpha', true],
    [['alpha'], 'a_alpha', false],
    [['alpha, beta'], 'beta', true],
    [[' ,alpha,, '], 'nothing', false],
    [['alpha'], 'ａｌｐｈａ', true],
    [['ａｌｐｈａ'], 'alpha', true],
    [['alpha'], 'al\u200bp\u200dha', true],
    [['alpha'], 'al\u00adpha', true],
    [['alpha'], 'al\ufe0fpha', true],
    [['alpha'], 'al\u034fpha', true],
    [['two words'], 'Two \n  words', true],
    [['two words'], 'two other words', false],
    [['café'], 'cafe\u0301', true],
    [['c++'], 'I like C++', true],
    [['a.c'], 'abc', false],
    [['[x'], 'see [x', true],
    [['слово'], 'СЛОВО', true],
    [['слово'], 'словом', false],
    [['禁止'], 'これは禁止です', true],
    [['คำ'], 'ถ้อยคำนี้', true],
    [['कम'], 'कमी', false],
    [['कम'], 'बहुत कम है', true],
    [['سلام'], 'قل سلام', true],
    [['😀'], 'hi😀there', true],
    [['42'], '420', false],
    [['straße'], 'STRASSE', true],
    [[], 'anything', false],
  ])('%j in %j: %s', async (words, text, rejected) => {
    const { admin } = await withAgent();
    expect((await admin.post('/guardrails', guardrail('a', words))).status).toBe(201);
    expect((await say(admin, text)).status).toBe(rejected ? 429 : 200);
  });
});

test('the usual message, a custom one, and none while it is disabled', async () => {
  const { admin } = await withAgent();
  const { id } = (await admin.post('/guardrails', guardrail('a'))).body.data;
  const usual = await say(admin, 'alpha');
  expect(usual).toMatchObject({ status: 429, body: { detail: expect.stringMatching(/./) } });
  const message = 'Bitte anders: "ä" {{x}} <b>';
  await admin.patch(`/guardrails/${id}`, { guardrail: banList(['alpha'], { reject_message: message }) });
  expect((await say(admin, 'alpha')).body.detail).toBe(message);
  await admin.patch(`/guardrails/${id}`, { enabled: false });
  expect((await say(admin, 'alpha')).status).toBe(200);
  await admin.patch(`/guardrails/${id}`, { enabled: true });
  expect((await say(admin, 'alpha')).status).toBe(429);
  await admin.del(`/guardrails/${id}`);
  expect((await say(admin, 'alpha')).status).toBe(200);
});

test('of several, the first in order that objects speaks', async () => {
  const { admin } = await withAgent();
  const make = async (name: string, words: string[], sortOrder: number): Promise<string> => {
    const rail = { ...guardrail(name, words, { sortOrder }), guardrail: banList(words, { reject_message: name }) };
    return (await admin.post('/guardrails', rail)).body.data.id;
  };
  const late = await make('late', ['alpha'], 5);
  await make('early', ['alpha', 'beta'], 1);
  expect((await say(admin, 'alpha')).body.detail).toBe('early');
  await admin.patch(`/guardrails/${late}`, { sortOrder: 0 });
  expect((await say(admin, 'alpha')).body.detail).toBe('late');
  expect((await say(admin, 'beta')).body.detail).toBe('early');
});

test('a run that was refused may be sent again under its id', async () => {
  const { admin, app } = await withAgent();
  const { id } = (await admin.post('/guardrails', guardrail('a'))).body.data;
  const input = runInput('alpha');
  expect((await admin.post('//agent/run', input)).status).toBe(429);
  expect((await admin.post('//agent/run', input)).status).toBe(429);
  const mended = { ...input, messages: [{ id: 'm', role: 'user' as const, content: 'beta' }] };
  expect(textOf(await runEvents(app, mended))).toBe('you said: beta');
  const other = runInput('alpha');
  expect((await admin.post('//agent/run', other)).status).toBe(429);
  await admin.patch(`/guardrails/${id}`, { enabled: false });
  expect(textOf(await runEvents(app, other))).toBe('you said: alpha');
});

test('parts of a message are checked, and what a resumed run is answered', async () => {
  const agent = messagesGraph(
    `.addNode('ask', () => ({ messages: [new AIMessage('got ' + JSON.stringify(interrupt('Sure?')))] }))
  .addEdge(START, 'ask')
  .addEdge('ask', END)`,
  );
  const { admin, app } = await withAgent({ files: { ...GRAPH_FILES, 'agent.ts': agent } });
  await admin.post('/guardrails', guardrail('a'));
  const parts = [
    { type: 'text', text: 'say' },
    { type: 'text', text: 'ALPHA' },
  ];
  const multi = runInput('', { messages: [{ id: 'm', role: 'user', content: parts }] } as Json);
  expect((await admin.post('//agent/run', multi)).status).toBe(429);
  const first = runInput('go');
  const events = await runEvents(app, first);
  const outcome = ofType(events, 'RUN_FINISHED')[0]?.outcome as Json;
  const interruptId = outcome.interrupts[0].id;
  for (const payload of ['alpha', { text: 'say alpha' }, { deep: [{ er: 'alpha' }] }, { text: 'say\nalpha' }]) {
    const resume = [{ interruptId, status: 'resolved', payload }];
    const answer = await admin.post('//agent/run', { ...runInput(''), threadId: first.threadId, messages: [], resume });
    expect(answer.status, JSON.stringify(payload)).toBe(429);
  }
  const resume = [{ interruptId, status: 'resolved', payload: 'beta' }];
  const going = { ...runInput(''), threadId: first.threadId, messages: [], resume } as Json;
  expect(textOf(await runEvents(app, going))).toContain('beta');
});

describe('managed routes', () => {
  test('a guardrail is replaced and is live at once', async () => {
    const { admin } = await withAgent();
    const row = (await admin.post('/guardrails', guardrail('a'))).body.data;
    const body = { name: 'Managed', guardrail: banList(['omega']) };
    const answer = await admin.call('PATCH', `//api/v1/guardrails/${row.id}`, body);
    expect(answer).toMatchObject({
      status: 200,
      body: { id: row.id, name: 'Managed', guardrail: { banned_words: ['omega'] }, agent_count: 1 },
    });
    expect(answer.body.created_at).toBe(row.createdAt);
    expect(answer.body).not.toHaveProperty('reload');
    expect((await say(admin, 'omega')).status).toBe(429);
    expect((await say(admin, 'alpha')).status).toBe(200);
    expect((await admin.get(`/guardrails/${row.id}`)).body).toMatchObject({ name: 'Managed', slug: 'a' });
    await admin.patch(`/guardrails/${row.id}`, { enabled: false });
    expect((await admin.call('PATCH', `//api/v1/guardrails/${row.id}`, body)).body.agent_count).toBe(0);
  });

  test('what is wrong with the request', async () => {
    const { admin } = await withAgent();
    const { id } = (await admin.post('/guardrails', guardrail('a'))).body.data;
    const good = { name: 'x', guardrail: banList(['y']) };
    for (const path of [UNKNOWN_ID, 'nonsense']) {
      const answer = await admin.call('PATCH', `//api/v1/guardrails/${path}`, good);
      expect(answer).toMatchObject({ status: 404, body: { detail: expect.any(String) } });
    }
    const bad: Json[] = [
      {},
      { name: 'x' },
      { guardrail: good.guardrail },
      { ...good, name: '' },
      { ...good, guardrail: {} },
    ];
    for (const body of [...bad, { ...good, guardrail: { config_id: 'detect_pii', pii_entities: [] } }]) {
      const answer = await admin.call('PATCH', `//api/v1/guardrails/${id}`, body);
      expect(answer, JSON.stringify(body)).toMatchObject({ status: 422, body: { detail: expect.any(Array) } });
    }
    expect((await admin.get(`/guardrails/${id}`)).body.name).toBe('a');
  });

  test('the status of the agent is noted without a reload', async () => {
    const { admin } = await withAgent();
    const { id } = (await admin.get('/agent')).body;
    await admin.patch('/agent', { name: 'Desk' });
    const { generation } = (await admin.get('/runtime/status')).body;
    for (const status of ['active', 'inactive', 'deprecated', 'error', 'draft', 'draft']) {
      const answer = await admin.call('PUT', `//api/v1/agents/${id}/status`, { status });
      expect(answer).toMatchObject({ status: 200, body: { id, name: 'Desk', status } });
      expect(answer.body.engine_config.agent.config.graph_definition).toBe('agent.ts:graph');
      expect((await admin.get('/agent')).body.status).toBe(status);
      expect((await say(admin, 'hi')).status).toBe(200);
    }
    expect((await admin.get('/runtime/status')).body.generation).toBe(generation);
    for (const [path, body, status] of [
      [UNKNOWN_ID, { status: 'active' }, 404],
      ['x', { status: 'active' }, 404],
      [id, { status: 'ACTIVE' }, 422],
      [id, {}, 422],
      [id, { status: null }, 422],
    ] as const) {
      expect((await admin.call('PUT', `//api/v1/agents/${path}/status`, body)).status).toBe(status);
    }
  });
});
