import type { FastifyInstance } from 'fastify';
import { expect, test } from 'vitest';
import { ECHO } from '../support/agents.ts';
import { createTestApp } from '../support/app.ts';
import { ofType, parseEvents, runEvents, runInput, textOf, type WireEvent } from '../support/runs.ts';
import { terminal } from '../support/streams.ts';

interface Fault {
  loc: (string | number)[];
  msg: string;
  type: string;
}

const JSON_TYPE = { 'content-type': 'application/json' };

/** A server with the echo agent, and a way to send it raw bodies. */
async function echoServer() {
  const { app, root } = await createTestApp({ files: { 'agent.ts': ECHO }, agent: 'agent.ts' });
  const send = (payload: string | object, headers: Record<string, string> = JSON_TYPE, url = '/agent/run') =>
    app.inject({
      method: 'POST',
      url,
      headers,
      payload: typeof payload === 'string' ? payload : JSON.stringify(payload),
    });
  return { app, root, send };
}

/** Shows that whatever was refused before left the server whole. */
async function expectNextRunWorks(app: FastifyInstance, threadId?: string): Promise<void> {
  const events = await runEvents(app, runInput('still there?', threadId === undefined ? {} : { threadId }));
  expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'success' } });
  expect(textOf(events)).toBe('you said: still there?');
}

function faults(body: string): Fault[] {
  const { detail } = JSON.parse(body) as { detail: Fault[] };
  for (const fault of detail) {
    expect(Object.keys(fault).sort()).toEqual(['loc', 'msg', 'type']);
    expect(fault.msg).not.toBe('');
  }
  return detail;
}

function places(body: string): [string, string][] {
  return faults(body).map(({ loc, type }) => [loc.join('.'), type]);
}

/** A run input as JSON text with one member replaced by raw JSON. */
function withRaw(member: string, json: string): string {
  const { [member]: _left, ...rest } = runInput('hi') as unknown as Record<string, unknown>;
  return `${JSON.stringify(rest).slice(0, -1)},"${member}":${json}}`;
}

test.each([
  ['a body that breaks off', '{"threadId":'],
  ['no JSON at all', 'threadId=1'],
])('%s is a 422 at the body', async (_name, payload) => {
  const { app, send } = await echoServer();
  const response = await send(payload);
  expect(response.statusCode).toBe(422);
  expect(response.headers['content-type']).toMatch(/^application\/json/);
  expect(response.headers['x-request-id']).toMatch(/^[\w-]{8,}$/);
  expect(places(response.body)).toEqual([['body', 'json_invalid']]);
  await expectNextRunWorks(app);
});

test('an empty body is a 422 that says the body is missing', async () => {
  const { app, send } = await echoServer();
  const response = await send('');
  expect(response.statusCode).toBe(422);
  expect(places(response.body)).toEqual([['body', 'missing']]);
  await expectNextRunWorks(app);
});

test.each([
  ['null', 'null'],
  ['a list', '[]'],
  ['a string', '"hello"'],
])('a body that is %s is a 422 at the body', async (_name, payload) => {
  const { app, send } = await echoServer();
  const response = await send(payload);
  expect(response.statusCode).toBe(422);
  expect(faults(response.body)[0]?.loc).toEqual(['body']);
  await expectNextRunWorks(app);
});

test('each missing field is named with type missing', async () => {
  const { app, send } = await echoServer();
  const response = await send({});
  expect(response.statusCode).toBe(422);
  expect(places(response.body)).toEqual([
    ['body.threadId', 'missing'],
    ['body.runId', 'missing'],
    ['body.messages', 'missing'],
  ]);
  await expectNextRunWorks(app);
});

test('each field of a wrong type is named, and the message says what was expected', async () => {
  const { app, send } = await echoServer();
  const response = await send({ threadId: 1, runId: true, messages: 'hi' });
  expect(response.statusCode).toBe(422);
  const found = faults(response.body);
  expect(found.map(({ loc }) => loc.join('.'))).toEqual(['body.threadId', 'body.runId', 'body.messages']);
  expect(found.map(({ type }) => type)).not.toContain('missing');
  expect(found[0]?.msg).toMatch(/string/);
  expect(found[2]?.msg).toMatch(/array/);
  await expectNextRunWorks(app);
});

test('an unknown role is a 422 that lists the roles', async () => {
  const { app, send } = await echoServer();
  const response = await send({ ...runInput('hi'), messages: [{ id: 'a', role: 'wizard', content: 'hi' }] });
  expect(response.statusCode).toBe(422);
  const [fault] = faults(response.body);
  expect(fault?.loc).toEqual(['body', 'messages', 0, 'role']);
  for (const role of ['developer', 'system', 'assistant', 'user', 'tool', 'activity', 'reasoning']) {
    expect(fault?.msg).toContain(role);
  }
  await expectNextRunWorks(app);
});

test('a message without a role is told that the role is missing', async () => {
  const { app, send } = await echoServer();
  const response = await send({ ...runInput('hi'), messages: [{ id: 'a', content: 'hi' }] });
  expect(response.statusCode).toBe(422);
  expect(places(response.body)).toEqual([['body.messages.0.role', 'missing']]);
  await expectNextRunWorks(app);
});

test('a user message without content is told that the content is missing', async () => {
  const { app, send } = await echoServer();
  const response = await send({ ...runInput('hi'), messages: [{ id: 'a', role: 'user' }] });
  expect(response.statusCode).toBe(422);
  expect(places(response.body)).toEqual([['body.messages.0.content', 'missing']]);
  await expectNextRunWorks(app);
});

test('content of a wrong type is told what it should be', async () => {
  const { app, send } = await echoServer();
  const response = await send({ ...runInput('hi'), messages: [{ id: 'a', role: 'user', content: 42 }] });
  expect(response.statusCode).toBe(422);
  const [fault] = faults(response.body);
  expect(fault?.loc.slice(0, 4)).toEqual(['body', 'messages', 0, 'content']);
  expect(fault?.msg).toMatch(/string/);
  await expectNextRunWorks(app);
});

test('an unknown content part is told where it is and what parts there are', async () => {
  const { app, send } = await echoServer();
  const content = [
    { type: 'text', text: 'look' },
    { type: 'smell', strength: 3 },
  ];
  const response = await send({ ...runInput('hi'), messages: [{ id: 'a', role: 'user', content }] });
  expect(response.statusCode).toBe(422);
  const [fault] = faults(response.body);
  expect(fault?.loc.slice(0, 5)).toEqual(['body', 'messages', 0, 'content', 1]);
  expect(fault?.msg).toMatch(/image/);
  await expectNextRunWorks(app);
});

test.each([
  ['tools', [{ description: 'no name' }], 'body.tools.0.name'],
  ['context', [{ description: 'locale' }], 'body.context.0.value'],
  ['resume', [{ status: 'resolved' }], 'body.resume.0.interruptId'],
])('an entry of %s without its field is a 422 at the field', async (member, value, place) => {
  const { app, send } = await echoServer();
  const response = await send({ ...runInput('hi'), [member]: value });
  expect(response.statusCode).toBe(422);
  expect(places(response.body)).toEqual([[place, 'missing']]);
  await expectNextRunWorks(app);
});

test('a resume status outside the two is a 422 that names them', async () => {
  const { app, send } = await echoServer();
  const response = await send({ ...runInput('hi'), resume: [{ interruptId: 'x', status: 'maybe' }] });
  expect(response.statusCode).toBe(422);
  const [fault] = faults(response.body);
  expect(fault?.loc).toEqual(['body', 'resume', 0, 'status']);
  expect(fault?.msg).toMatch(/resolved.*cancelled/);
  await expectNextRunWorks(app);
});

test.each([
  ['threadId', ''],
  ['threadId', 'x'.repeat(513)],
  ['runId', ''],
  ['runId', 'x'.repeat(513)],
])('%s that is empty or too long is a 422', async (member, value) => {
  const { app, send } = await echoServer();
  const response = await send({ ...runInput('hi'), [member]: value });
  expect(response.statusCode).toBe(422);
  const [fault] = faults(response.body);
  expect(fault?.loc).toEqual(['body', member]);
  expect(fault?.msg).toMatch(/1|512/);
  await expectNextRunWorks(app);
});

test('a body of 11 MB is a 413', async () => {
  const { app, send } = await echoServer();
  const response = await send({ ...runInput('hi'), state: { blob: 'x'.repeat(11 * 1024 * 1024) } });
  expect(response.statusCode).toBe(413);
  expect(response.json()).toEqual({ detail: 'Request body too large' });
  await expectNextRunWorks(app);
});

test('a body just below the limit is taken', async () => {
  const { send } = await echoServer();
  const response = await send({ ...runInput('hi'), forwardedProps: { blob: 'x'.repeat(9 * 1024 * 1024) } });
  expect(response.statusCode).toBe(200);
  expect(textOf(parseEvents(response.body))).toBe('you said: hi');
});

test.each(['text/plain', 'application/xml', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'])(
  'the media type %s is a 415 that says which one to use',
  async (type) => {
    const { app, send } = await echoServer();
    const response = await send(runInput('hi'), { 'content-type': type });
    expect(response.statusCode).toBe(415);
    expect((response.json() as { detail: string }).detail).toContain('application/json');
    await expectNextRunWorks(app);
  },
);

test('a body without a media type is a 415', async () => {
  const { app, send } = await echoServer();
  const response = await send(runInput('hi'), {});
  expect(response.statusCode).toBe(415);
  await expectNextRunWorks(app);
});

test('a charset on the media type is no fault', async () => {
  const { send } = await echoServer();
  const response = await send(runInput('hi'), { 'content-type': 'application/json; charset=utf-8' });
  expect(response.statusCode).toBe(200);
});

test('an empty message list runs the agent, also on a thread that has messages', async () => {
  const { app, send } = await echoServer();
  const fresh = parseEvents((await send({ ...runInput(''), messages: [] })).body);
  expect(terminal(fresh)).toHaveLength(1);
  const { threadId } = runInput('');
  await expectNextRunWorks(app, threadId);
  const again = parseEvents((await send({ ...runInput('', { threadId }), messages: [] })).body);
  expect(terminal(again)).toHaveLength(1);
  await expectNextRunWorks(app);
});

test('an optional member that is null counts as absent', async () => {
  const { send } = await echoServer();
  const nothing = { state: null, tools: null, context: null, forwardedProps: null, resume: null };
  const response = await send({
    ...runInput('hi'),
    ...nothing,
    parentRunId: null,
    protocolVersion: null,
    messages: [{ id: null, role: 'user', content: 'hi', name: null }],
  });
  expect(response.statusCode).toBe(200);
  expect(textOf(parseEvents(response.body))).toBe('you said: hi');
});

test('the least input the contract allows is enough', async () => {
  const { send } = await echoServer();
  const response = await send({ threadId: 't', runId: 'r', messages: [{ role: 'user', content: 'hi' }] });
  const events = parseEvents(response.body);
  expect(textOf(events)).toBe('you said: hi');
  const [snapshot] = ofType(events, 'MESSAGES_SNAPSHOT') as (WireEvent & { messages: { id: string }[] })[];
  expect(snapshot?.messages.every(({ id }) => typeof id === 'string' && id !== '')).toBe(true);
});

test('snake_case spellings are taken everywhere in the run input', async () => {
  const { send } = await echoServer();
  const response = await send({
    thread_id: 't-snake',
    run_id: 'r-snake',
    parent_run_id: 'p-snake',
    protocol_version: '1.0',
    forwarded_props: { include_raw: false },
    messages: [
      { id: 'u0', role: 'user', content: 'what time is it?' },
      {
        id: 'a0',
        role: 'assistant',
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'clock', arguments: '{}' } }],
      },
      { id: 't0', role: 'tool', tool_call_id: 'c1', content: 'noon' },
      { id: 'u1', role: 'user', content: 'hi' },
    ],
  });
  expect(response.statusCode).toBe(200);
  const events = parseEvents(response.body);
  expect(events[0]).toMatchObject({ threadId: 't-snake', runId: 'r-snake', parentRunId: 'p-snake' });
  const [snapshot] = ofType(events, 'MESSAGES_SNAPSHOT') as (WireEvent & { messages: unknown[] })[];
  expect(snapshot?.messages).toEqual(
    expect.arrayContaining([expect.objectContaining({ role: 'tool', toolCallId: 'c1', content: 'noon' })]),
  );
});

test('snake_case resume entries are taken', async () => {
  const { send } = await echoServer();
  const response = await send({ ...runInput('hi'), resume: [{ interrupt_id: 'nope', status: 'resolved' }] });
  expect(parseEvents(response.body).at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'INTERRUPT_UNKNOWN' });
});

test('unknown members are ignored', async () => {
  const { send } = await echoServer();
  const response = await send({ ...runInput('hi'), surprise: { a: 1 } });
  expect(textOf(parseEvents(response.body))).toBe('you said: hi');
});

test('of a key given twice the last one counts, as JSON has it', async () => {
  const { app, send } = await echoServer();
  const text = JSON.stringify(runInput('hi'));
  const response = await send(`{"threadId":"first",${text.slice(1, -1)},"threadId":"last"}`);
  expect(response.statusCode).toBe(200);
  expect(parseEvents(response.body)[0]).toMatchObject({ type: 'RUN_STARTED', threadId: 'last' });
  await expectNextRunWorks(app);
});

test.each([
  ['at the top', `{"__proto__":{"polluted":true},${JSON.stringify(runInput('hi')).slice(1)}`],
  ['in the state', withRaw('state', '{"__proto__":{"polluted":true}}')],
  ['in a message', withRaw('messages', '[{"role":"user","content":"hi","__proto__":{"polluted":true}}]')],
  ['as constructor.prototype', withRaw('state', '{"constructor":{"prototype":{"polluted":true}}}')],
])('a prototype key %s pollutes nothing, and a refusal says what is wrong', async (_name, payload) => {
  const { app, send } = await echoServer();
  const response = await send(payload);
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  if (response.statusCode === 200) {
    expect(terminal(parseEvents(response.body))).toHaveLength(1);
  } else {
    expect(response.statusCode).toBe(422);
    // The body is valid JSON; saying otherwise sends the reader looking in the wrong place.
    expect(faults(response.body)[0]?.msg).toMatch(/__proto__|constructor|key/);
  }
  await expectNextRunWorks(app);
});

const DEEP = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;

test.each([
  ['messages', DEEP],
  ['state', DEEP],
  ['state', `{"deep":${DEEP}}`],
  ['forwardedProps', DEEP],
  ['tools', `[{"name":"t","description":"d","parameters":{"deep":${DEEP}}}]`],
  ['resume', `[{"interruptId":"x","status":"resolved","payload":${DEEP}}]`],
  ['context', `[{"description":"d","value":${DEEP}}]`],
])('20000 levels of nesting in %s are answered', async (member, json) => {
  const { app, send } = await echoServer();
  const response = await send(withRaw(member, json));
  if (response.statusCode === 200) expect(terminal(parseEvents(response.body))).toHaveLength(1);
  else {
    expect(response.statusCode).toBe(422);
    expect(response.body.length).toBeLessThan(10_000);
  }
  await expectNextRunWorks(app);
});

test('deep nesting under a key of the agent’s state ends with one terminal event', async () => {
  const agent = `
    import { Annotation, END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
    const State = Annotation.Root({ ...MessagesAnnotation.spec, notes: Annotation() });
    export const graph = new StateGraph(State)
      .addNode('work', () => ({}))
      .addEdge(START, 'work').addEdge('work', END);`;
  const { app } = await createTestApp({ files: { 'agent.ts': agent }, agent: 'agent.ts' });
  const payload = withRaw('state', `{"notes":${DEEP}}`);
  const response = await app.inject({ method: 'POST', url: '/agent/run', headers: JSON_TYPE, payload });
  expect(response.statusCode).toBe(200);
  expect(terminal(parseEvents(response.body))).toHaveLength(1);
  const events = await runEvents(app, runInput('next'));
  expect(events.at(-1)?.type).toBe('RUN_FINISHED');
});

test('resume of an interrupt nobody asked is INTERRUPT_UNKNOWN', async () => {
  const { app, send } = await echoServer();
  const input = runInput('hi');
  const response = await send({ ...input, resume: [{ interruptId: 'nope', status: 'resolved', payload: 1 }] });
  const events = parseEvents(response.body);
  expect(events.map(({ type }) => type)).toEqual(['RUN_STARTED', 'RUN_ERROR']);
  expect(events[1]).toMatchObject({ code: 'INTERRUPT_UNKNOWN' });
  const legacy = await runEvents(app, { ...runInput('hi'), forwardedProps: { command: { resume: 'yes' } } });
  expect(legacy.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'INTERRUPT_UNKNOWN' });
  await expectNextRunWorks(app, input.threadId);
});

test('body faults are told before the missing agent', async () => {
  const { app } = await createTestApp();
  const bad = await app.inject({ method: 'POST', url: '/agent/run', payload: {} });
  expect(bad.statusCode).toBe(422);
  const good = await app.inject({ method: 'POST', url: '/agent/run', payload: runInput('hi') });
  expect(good.statusCode).toBe(503);
});

test.each(['/agent/invoke', '/agent/stream'])('%s names the missing fields', async (url) => {
  const { send } = await echoServer();
  const response = await send({}, JSON_TYPE, url);
  expect(response.statusCode).toBe(422);
  expect(places(response.body)).toEqual([
    ['body.session_id', 'missing'],
    ['body.query', 'missing'],
  ]);
});

test('a query value outside its choices is a 422 at the query', async () => {
  const { app } = await echoServer();
  const response = await app.inject('/health?strict=perhaps');
  expect(response.statusCode).toBe(422);
  expect(faults(response.body)[0]?.loc).toEqual(['query', 'strict']);
});

test('the request id of the caller is kept if it is a plain one, else replaced', async () => {
  const { send } = await echoServer();
  const kept = await send('{', { ...JSON_TYPE, 'x-request-id': 'my-request.1' });
  expect(kept.headers['x-request-id']).toBe('my-request.1');
  const replaced = await send('{', { ...JSON_TYPE, 'x-request-id': '<script>alert(1)</script>' });
  expect(replaced.headers['x-request-id']).toMatch(/^[\w-]{8,}$/);
});

test('a refused request is in the log under its request id', async () => {
  const { app, logs } = await createTestApp({ files: { 'agent.ts': ECHO }, agent: 'agent.ts' });
  // Makes the server fail inside: the thread index is gone.
  await app.services.close();
  const response = await app.inject({
    method: 'GET',
    url: '/agent/sessions',
    headers: { 'x-request-id': 'find-me' },
  });
  expect(response.statusCode).toBeGreaterThanOrEqual(500);
  expect(response.headers['x-request-id']).toBe('find-me');
  expect(logs.some((line) => line.reqId === 'find-me')).toBe(true);
});
