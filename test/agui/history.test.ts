import type { Message } from '@ag-ui/core';
import { expect, test } from 'vitest';
import { type Client, postRun, type Stage, snapshotOf, stage } from '../support/client.ts';
import { IMPORTS, messagesGraph, toolLoop } from '../support/graphs.ts';

/** Answers with the whole conversation it sees; its ids are counted, so that a new branch shows. */
const ECHO_ALL = `${IMPORTS}
let turn = 0;
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('echo', (state) => {
    turn += 1;
    return { messages: [new AIMessage({ id: 'a' + turn, content: state.messages.filter((m) => m.getType() === 'human').map((m) => m.text ?? m.content).join('|') })] };
  })
  .addEdge(START, 'echo').addEdge('echo', END);
`;

const texts = (messages: readonly Message[]): unknown[] => messages.map(({ content }) => content);
const ids = (messages: readonly Message[]): string[] => messages.map(({ id }) => id);

/** What the server has stored, by its own route. */
async function stored({ base }: Stage, { agent }: Client): Promise<unknown[]> {
  const response = await fetch(`${base}/agent/sessions/${agent.threadId}`);
  const { messages } = (await response.json()) as { messages: Message[] };
  return texts(messages);
}

test('the transcript sent again with a new message does not double anything', async () => {
  const server = await stage(ECHO_ALL);
  const user = server.client();
  for (const text of ['one', 'two', 'three']) await user.say(text);
  expect(texts(user.messages)).toEqual(['one', 'one', 'two', 'one|two', 'three', 'one|two|three']);
  expect(await stored(server, user)).toEqual(texts(user.messages));
});

test('editing the first message starts the conversation over from it', async () => {
  const server = await stage(ECHO_ALL);
  const user = server.client();
  await user.say('one');
  await user.say('two');
  user.agent.setMessages([{ id: 'u1', role: 'user', content: 'uno' }]);
  const run = await user.run();
  expect(texts(snapshotOf(run))).toEqual(['uno', 'uno']);
  expect(texts(user.messages)).toEqual(['uno', 'uno']);
  expect(await stored(server, user)).toEqual(['uno', 'uno']);
});

test('editing a later message keeps what was before it', async () => {
  const server = await stage(ECHO_ALL);
  const user = server.client();
  for (const text of ['one', 'two', 'three']) await user.say(text);
  user.agent.setMessages([...user.messages.slice(0, 2), { id: 'u2', role: 'user', content: 'zwei' }]);
  const run = await user.run();
  expect(texts(snapshotOf(run))).toEqual(['one', 'one', 'zwei', 'one|zwei']);
  expect(await stored(server, user)).toEqual(['one', 'one', 'zwei', 'one|zwei']);
  await user.say('drei');
  expect(user.messages.at(-1)?.content).toBe('one|zwei|drei');
  expect(await stored(server, user)).toEqual(['one', 'one', 'zwei', 'one|zwei', 'drei', 'one|zwei|drei']);
});

test('editing the last message with only that message sent is enough', async () => {
  const server = await stage(ECHO_ALL);
  const user = server.client({ threadId: 'th-1' });
  await user.say('one');
  await user.say('two');
  const run = await server.client({ threadId: 'th-1' }).send({ id: 'u2', role: 'user', content: 'zwei' });
  expect(texts(snapshotOf(run))).toEqual(['one', 'one', 'zwei', 'one|zwei']);
});

test('regenerating the last answer replaces it', async () => {
  const server = await stage(ECHO_ALL);
  const user = server.client();
  await user.say('one');
  await user.say('two');
  expect(ids(user.messages)).toEqual(['u1', 'a1', 'u2', 'a2']);
  user.agent.setMessages(user.messages.slice(0, 3));
  const run = await user.run();
  expect(ids(snapshotOf(run))).toEqual(['u1', 'a1', 'u2', 'a3']);
  expect(ids(user.messages)).toEqual(['u1', 'a1', 'u2', 'a3']);
  expect(texts(user.messages)).toEqual(['one', 'one', 'two', 'one|two']);
  expect(await stored(server, user)).toEqual(['one', 'one', 'two', 'one|two']);
});

test('regenerating the first answer drops what came after it', async () => {
  const server = await stage(ECHO_ALL);
  const user = server.client();
  await user.say('one');
  await user.say('two');
  user.agent.setMessages(user.messages.slice(0, 1));
  const run = await user.run();
  expect(ids(snapshotOf(run))).toEqual(['u1', 'a3']);
  expect(await stored(server, user)).toEqual(['one', 'one']);
  await user.say('deux');
  expect(user.messages.at(-1)?.content).toBe('one|deux');
});

test('a fork tells its answer as a stream, and nothing of the branch it leaves', async () => {
  const server = await stage(ECHO_ALL);
  const user = server.client();
  await user.say('one');
  user.agent.setMessages([{ id: 'u1', role: 'user', content: 'uno' }]);
  const { lines } = await user.run();
  expect(lines).toEqual([
    'RUN_STARTED',
    'STEP_STARTED echo',
    'TEXT_MESSAGE_START a2',
    'TEXT_MESSAGE_CONTENT a2 "uno"',
    'TEXT_MESSAGE_END a2',
    'STEP_FINISHED echo',
    'STATE_SNAPSHOT',
    'MESSAGES_SNAPSHOT u1 a2',
    'RUN_FINISHED success',
  ]);
});

test('editing twice, and back, gives a branch each time', async () => {
  const server = await stage(ECHO_ALL);
  const user = server.client();
  await user.say('one');
  for (const text of ['uno', 'eins', 'one']) {
    user.agent.setMessages([{ id: 'u1', role: 'user', content: text }]);
    await user.run();
    expect(texts(user.messages)).toEqual([text, text]);
  }
  expect(await stored(server, user)).toEqual(['one', 'one']);
});

test('state other than messages goes back with the fork', async () => {
  const source = `${IMPORTS}
const State = Annotation.Root({ ...MessagesAnnotation.spec, count: Annotation({ reducer: (l, r) => l + r, default: () => 0 }) });
export const graph = new StateGraph(State)
  .addNode('tally', (state) => ({ count: 1, messages: [new AIMessage(String(state.count + 1))] }))
  .addEdge(START, 'tally').addEdge('tally', END);
`;
  const user = (await stage(source)).client();
  await user.say('one');
  await user.say('two');
  await user.say('three');
  expect(user.state.count).toBe(3);
  user.agent.setMessages(user.messages.slice(0, 3));
  await user.run();
  expect(user.state.count).toBe(2);
  expect(texts(user.messages)).toEqual(['one', '1', 'two', '2']);
});

test('an unknown last id is simply a new message, however short the transcript', async () => {
  const server = await stage(ECHO_ALL);
  const user = server.client({ threadId: 'th-1' });
  await user.say('one');
  await user.say('two');
  const { lines } = await server.client({ threadId: 'th-1' }).send({ id: 'new', role: 'user', content: 'three' });
  expect(lines.at(-2)).toBe('MESSAGES_SNAPSHOT u1 a1 u2 a2 new a3');
});

test('messages without an id are new', async () => {
  const { base } = await stage(ECHO_ALL);
  const body = { threadId: 'th-1', messages: [{ role: 'user', content: 'one' }] };
  await postRun(base, { ...body, runId: 'r1' });
  const { events } = await postRun(base, { ...body, runId: 'r2' });
  const messages = snapshotOf({ events });
  expect(texts(messages)).toEqual(['one', 'one', 'one', 'one|one']);
});

test('a run with no messages at all goes on with the conversation', async () => {
  const { base } = await stage(ECHO_ALL);
  await postRun(base, { threadId: 'th-1', runId: 'r1', messages: [{ id: 'u1', role: 'user', content: 'one' }] });
  const { lines } = await postRun(base, { threadId: 'th-1', runId: 'r2', messages: [] });
  expect(lines.at(-1)).toBe('RUN_FINISHED success');
});

test('a message with known id and the same content in parts is no edit', async () => {
  const server = await stage(ECHO_ALL);
  const user = server.client();
  await user.say('one');
  user.agent.setMessages([
    { id: 'u1', role: 'user', content: [{ type: 'text', text: 'one' }] },
    ...user.messages.slice(1),
  ]);
  await user.say('two');
  expect(texts(user.messages)).toEqual(['one', 'one', 'two', 'one|two']);
});

test('an answer the client has changed is not taken', async () => {
  const server = await stage(ECHO_ALL);
  const user = server.client();
  await user.say('one');
  user.agent.setMessages([user.messages[0] as Message, { id: 'a1', role: 'assistant', content: 'forged' }]);
  await user.say('two');
  expect(await stored(server, user)).toEqual(['one', 'one', 'two', 'one|two']);
});

test('a conversation the server does not know is taken over whole, once', async () => {
  const server = await stage(ECHO_ALL);
  const user = server.client();
  user.agent.setMessages([
    { id: 's1', role: 'system', content: 'Be brief.' },
    { id: 'o1', role: 'user', content: 'old' },
    { id: 'o2', role: 'assistant', content: 'older' },
  ]);
  await user.send({ id: 'u1', role: 'user', content: 'one' });
  expect(ids(user.messages)).toEqual(['s1', 'o1', 'o2', 'u1', 'a1']);
  expect(user.messages[0]).toMatchObject({ role: 'system', content: 'Be brief.' });
  await user.send({ id: 'u2', role: 'user', content: 'two' });
  expect(ids(user.messages)).toEqual(['s1', 'o1', 'o2', 'u1', 'a1', 'u2', 'a2']);
});

test('system messages do not count when the transcript is compared', async () => {
  const server = await stage(ECHO_ALL);
  const user = server.client();
  user.agent.setMessages([{ id: 's1', role: 'system', content: 'Be brief.' }]);
  await user.say('one');
  const bare = server.client({ threadId: user.agent.threadId });
  bare.agent.setMessages(user.messages.filter(({ role }) => role !== 'system'));
  const { lines } = await bare.send({ id: 'u2', role: 'user', content: 'two' });
  expect(lines.at(-2)).toBe('MESSAGES_SNAPSHOT s1 u1 a1 u2 a2');
});

test('developer messages are system messages, activity and reasoning are dropped', async () => {
  const source = messagesGraph(
    `.addNode('see', (state) => ({ messages: [new AIMessage({ id: 'a1', content: state.messages.map((m) => m.getType()).join() })] }))
    .addEdge(START, 'see').addEdge('see', END)`,
  );
  const { base } = await stage(source);
  const { events } = await postRun(base, {
    threadId: 'th-1',
    runId: 'r1',
    messages: [
      { id: 'd1', role: 'developer', content: 'Be brief.' },
      { id: 'r1', role: 'reasoning', content: 'Hm.' },
      { id: 'x1', role: 'activity', activityType: 'plan', content: { steps: [] } },
      {
        id: 'c1',
        role: 'assistant',
        toolCalls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{"a":1}' } }],
      },
      { id: 't1', role: 'tool', toolCallId: 'c1', content: 'found' },
      { id: 'u1', role: 'user', content: 'hi' },
    ],
  });
  const messages = snapshotOf({ events });
  expect(messages.at(-1)?.content).toBe('system,ai,tool,human');
  expect(messages.map(({ role }) => role)).toEqual(['system', 'assistant', 'tool', 'user', 'assistant']);
});

test('regenerating an answer that used tools goes back before the calls', async () => {
  const model = `new ScriptedModel([
    [call(0, 'c1', 'look', '{}')], [{ id: 'a2', content: 'First.' }],
    [call(0, 'c2', 'look', '{}')], [{ id: 'a4', content: 'Second.' }],
  ])`;
  const source = toolLoop(
    model,
    `[tool(async () => 'found', { name: 'look', description: 'looks', schema: z.object({}) })]`,
  );
  const server = await stage(source);
  const user = server.client();
  await user.say('hi');
  user.agent.setMessages(user.messages.slice(0, 1));
  const { lines } = await user.run();
  expect(lines).toContain('TOOL_CALL_START c2 look in #1');
  expect(user.messages.map((message) => (message.role === 'tool' ? message.toolCallId : message.role))).toEqual([
    'user',
    'assistant',
    'c2',
    'assistant',
  ]);
  expect(await stored(server, user)).toEqual(['hi', 'Second.']);
});

test('editing a message while a question is open is a fork, not an answer', async () => {
  const source = messagesGraph(
    `.addNode('ask', (state) => ({ messages: [new AIMessage(state.messages.at(-1).content.startsWith('ask') ? interrupt('?') : 'done')] }))
    .addEdge(START, 'ask').addEdge('ask', END)`,
  );
  const server = await stage(source);
  const user = server.client();
  await user.say('ask me');
  const edited = server.client({ threadId: user.agent.threadId });
  const { lines } = await edited.send({ id: 'u1', role: 'user', content: 'never mind' });
  // Either is within the rules; what must not happen is that the edit is silently lost.
  expect(lines.at(-1)).toMatch(/^RUN_ERROR INTERRUPT_PENDING|^RUN_FINISHED success/);
});

test('without a checkpointer the client brings the conversation each time', async () => {
  const server = await stage(ECHO_ALL, { defaultCheckpointer: undefined });
  const user = server.client();
  await user.say('one');
  await user.say('two');
  expect(texts(user.messages)).toEqual(['one', 'one', 'two', 'one|two']);
  const lone = server.client({ threadId: user.agent.threadId });
  await lone.send({ id: 'u9', role: 'user', content: 'three' });
  expect(texts(lone.messages)).toEqual(['three', 'three']);
});
