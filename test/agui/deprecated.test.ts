import { expect, test } from 'vitest';
import { stage } from '../support/client.ts';
import { messagesGraph, oneModel, toolLoop } from '../support/graphs.ts';
import { runInput } from '../support/runs.ts';

const HEADERS = { deprecation: 'true', link: '</agent/run>; rel="successor-version"' };

const post = (base: string, path: string, body: object): Promise<Response> =>
  fetch(base + path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });

type Frame = Record<string, unknown>;

const frames = (text: string): Frame[] =>
  text
    .split('\n\n')
    .filter((frame) => frame.startsWith('data: '))
    .map((frame) => JSON.parse(frame.slice(6)) as Frame);

const TOOLS = toolLoop(
  `new ScriptedModel([[{ id: 'a1' }, call(0, 'c1', 'look', '{"q":"x"}')], [{ id: 'a2', content: 'Do' }, 'ne.']])`,
  `[tool(async ({ q }) => 'found ' + q, { name: 'look', description: 'looks', schema: z.object({ q: z.string() }) })]`,
);

test('/agent/invoke answers with the text of the last message', async () => {
  const { base } = await stage(TOOLS);
  const response = await post(base, '/agent/invoke', { session_id: 'th-1', query: 'hello' });
  expect(response.status).toBe(200);
  expect(Object.fromEntries(response.headers)).toMatchObject(HEADERS);
  expect(await response.json()).toEqual({ session_id: 'th-1', response: 'Done.' });
});

test('/agent/invoke keeps the conversation of its session', async () => {
  const source = messagesGraph(
    `.addNode('count', (state) => ({ messages: [new AIMessage(String(state.messages.length))] })).addEdge(START, 'count').addEdge('count', END)`,
  );
  const { base, client } = await stage(source);
  await post(base, '/agent/invoke', { session_id: 'th-1', query: 'one' });
  const second = await post(base, '/agent/invoke', { session_id: 'th-1', query: 'two' });
  expect(await second.json()).toEqual({ session_id: 'th-1', response: '3' });
  const user = client({ threadId: 'th-1' });
  await user.send({ id: 'u9', role: 'user', content: 'three' });
  expect(user.messages).toHaveLength(6);
});

test('/agent/invoke answers 500 without exception text when the agent fails', async () => {
  const { base } = await stage(oneModel(`new ScriptedModel([[new Error('s3cret')]])`));
  const response = await post(base, '/agent/invoke', { session_id: 'th-1', query: 'hello' });
  expect(response.status).toBe(500);
  const body = await response.text();
  expect(JSON.parse(body)).toEqual({ detail: 'The agent could not complete this run.' });
});

test.each(['/agent/invoke', '/agent/stream'])('%s needs both members', async (path) => {
  const { base } = await stage(TOOLS);
  const response = await post(base, path, { session_id: 'th-1' });
  expect(response.status).toBe(422);
  expect(await response.json()).toMatchObject({ detail: [{ loc: ['body', 'query'], type: 'missing' }] });
});

test('/agent/stream sends the older form: snake_case, nulls written out, no results', async () => {
  const { base } = await stage(TOOLS);
  const response = await post(base, '/agent/stream', { session_id: 'th-1', query: 'hello' });
  expect(response.status).toBe(200);
  expect(Object.fromEntries(response.headers)).toMatchObject({ ...HEADERS, 'content-type': 'text/event-stream' });
  const events = frames(await response.text());
  expect(events.map(({ type }) => type)).toEqual([
    'RUN_STARTED',
    'STEP_STARTED',
    'TOOL_CALL_START',
    'TOOL_CALL_ARGS',
    'TOOL_CALL_END',
    'STEP_FINISHED',
    'STEP_STARTED',
    'STEP_FINISHED',
    'STEP_STARTED',
    'TEXT_MESSAGE_START',
    'TEXT_MESSAGE_CONTENT',
    'TEXT_MESSAGE_CONTENT',
    'TEXT_MESSAGE_END',
    'STEP_FINISHED',
    'STATE_SNAPSHOT',
    'MESSAGES_SNAPSHOT',
    'RUN_FINISHED',
  ]);
  expect(events[0]).toEqual({
    type: 'RUN_STARTED',
    timestamp: null,
    raw_event: null,
    thread_id: 'th-1',
    run_id: expect.stringMatching(/^run_/),
  });
  expect(events[2]).toMatchObject({ tool_call_id: 'c1', tool_call_name: 'look', parent_message_id: 'a1' });
  expect(events[10]).toMatchObject({ message_id: 'a2', delta: 'Do' });
  const { messages } = events.at(-2) as { messages: Frame[] };
  expect(messages[1]).toMatchObject({ tool_calls: [{ id: 'c1' }] });
  expect(messages[2]).toMatchObject({ role: 'tool', tool_call_id: 'c1' });
});

test('/agent/stream tells reasoning by its older names', async () => {
  const model = `new ScriptedModel([[{ id: 'a1' }, { content: [{ index: 0, type: 'thinking', thinking: 'Hm.', signature: 'sig1' }] }, { content: [{ index: 1, type: 'text', text: 'Hi' }] }]])`;
  const { base } = await stage(oneModel(model));
  const events = frames(await (await post(base, '/agent/stream', { session_id: 'th-1', query: 'hello' })).text());
  expect(events.map(({ type }) => type).slice(2, 8)).toEqual([
    'THINKING_START',
    'THINKING_TEXT_MESSAGE_START',
    'THINKING_TEXT_MESSAGE_CONTENT',
    'THINKING_TEXT_MESSAGE_END',
    'THINKING_END',
    'TEXT_MESSAGE_START',
  ]);
  expect(events.map(({ type }) => type)).not.toContain('REASONING_ENCRYPTED_VALUE');
});

test('/agent/stream ends with RUN_ERROR when the agent fails', async () => {
  const { base } = await stage(oneModel(`new ScriptedModel([[new Error('s3cret')]])`));
  const text = await (await post(base, '/agent/stream', { session_id: 'th-1', query: 'hello' })).text();
  expect(frames(text).at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'FRAMEWORK_ERROR' });
  expect(text).not.toContain('s3cret');
});

test('/agent/clientkit/stream is /agent/run under another name', async () => {
  const { base, client } = await stage(oneModel(`new ScriptedModel([[{ id: 'a1', content: 'Hello' }]])`));
  const { lines } = await client().say('hi');
  expect((await client({ path: '/agent/clientkit/stream' }).say('hi')).lines).toEqual(lines);
  const response = await post(base, '/agent/clientkit/stream', runInput('hi'));
  expect(Object.fromEntries(response.headers)).toMatchObject({ ...HEADERS, 'content-type': 'text/event-stream' });
  await response.text();
});

test('/agent/run itself is not deprecated', async () => {
  const { base } = await stage(oneModel(`new ScriptedModel([['Hello']])`));
  const response = await post(base, '/agent/run', runInput('hi'));
  expect(response.headers.get('deprecation')).toBeNull();
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  expect(response.headers.get('cache-control')).toBe('no-cache, no-transform');
  expect(response.headers.get('x-accel-buffering')).toBe('no');
  await response.text();
});
