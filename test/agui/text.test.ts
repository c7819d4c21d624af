import { expect, test } from 'vitest';
import { snapshotOf, stage } from '../support/client.ts';
import { IMPORTS, messagesGraph, oneModel } from '../support/graphs.ts';
import { ofType, textOf } from '../support/runs.ts';

test('a streamed answer is one triplet inside its step', async () => {
  const { client } = await stage(oneModel(`new ScriptedModel([[{ id: 'a1', content: 'Hel' }, 'lo', '', ' you']])`));
  const user = client();
  const { lines } = await user.say('hi');
  expect(lines).toEqual([
    'RUN_STARTED',
    'STEP_STARTED model',
    'TEXT_MESSAGE_START a1',
    'TEXT_MESSAGE_CONTENT a1 "Hel"',
    'TEXT_MESSAGE_CONTENT a1 "lo"',
    'TEXT_MESSAGE_CONTENT a1 " you"',
    'TEXT_MESSAGE_END a1',
    'STEP_FINISHED model',
    'STATE_SNAPSHOT',
    'MESSAGES_SNAPSHOT u1 a1',
    'RUN_FINISHED success',
  ]);
  expect(user.messages).toEqual([
    { id: 'u1', role: 'user', content: 'hi' },
    { id: 'a1', role: 'assistant', content: 'Hello you' },
  ]);
});

test('RUN_STARTED and RUN_FINISHED name the thread and the run, and echo the protocol version', async () => {
  const { client } = await stage(oneModel(`new ScriptedModel([['Hello']])`));
  const user = client({ threadId: 'th-1' });
  const { events } = await user.say('hi', { runId: 'run-1' });
  expect(events[0]).toEqual({ type: 'RUN_STARTED', threadId: 'th-1', runId: 'run-1', protocolVersion: '1.0' });
  expect(events.at(-1)).toEqual({
    type: 'RUN_FINISHED',
    threadId: 'th-1',
    runId: 'run-1',
    outcome: { type: 'success' },
  });
  const older = await client({ threadId: 'th-2', old: true }).say('hi', { runId: 'run-2' });
  expect(older.events[0]).toEqual({ type: 'RUN_STARTED', threadId: 'th-2', runId: 'run-2' });
});

test.each([
  ['no id at all', `['Hel', 'lo']`],
  ['an id on the first chunk only', `[{ id: 'a1', content: 'Hel' }, 'lo']`],
  ['an id on every chunk', `[{ id: 'a1', content: 'Hel' }, { id: 'a1', content: 'lo' }]`],
  ['an id on a later chunk only', `['Hel', { id: 'a1', content: 'lo' }]`],
  ['an id before any text', `[{ id: 'a1' }, 'Hel', 'lo']`],
  ['another id on each chunk', `[{ id: 'a1', content: 'Hel' }, { id: 'a2', content: 'lo' }]`],
])('streams under the id the state keeps: %s', async (_, chunks) => {
  const { client } = await stage(oneModel(`new ScriptedModel([${chunks}])`));
  const user = client();
  const { events } = await user.say('hi');
  const starts = ofType(events, 'TEXT_MESSAGE_START');
  expect(starts).toHaveLength(1);
  expect(user.messages).toEqual([
    { id: 'u1', role: 'user', content: 'hi' },
    { id: starts[0]?.messageId, role: 'assistant', content: 'Hello' },
  ]);
});

test('a chunk that holds both content and the finish reason loses nothing', async () => {
  const last = `{ content: 'lo', response_metadata: { finish_reason: 'stop' }, usage_metadata: { input_tokens: 1, output_tokens: 2, total_tokens: 3 } }`;
  const { client } = await stage(oneModel(`new ScriptedModel([['Hel', ${last}]])`));
  const { events } = await client().say('hi');
  expect(textOf(events)).toBe('Hello');
});

test('content in parts is streamed as its text', async () => {
  const parts = `[{ content: [{ type: 'text', text: 'Hel', index: 0 }] }, { content: [{ type: 'text_delta', text: 'lo', index: 0 }] }]`;
  const { client } = await stage(oneModel(`new ScriptedModel([${parts}])`));
  const user = client();
  const { events } = await user.say('hi');
  expect(textOf(events)).toBe('Hello');
  expect(user.messages.at(-1)?.content).toBe('Hello');
});

test('an answer with no text at all sends no triplet', async () => {
  const { client } = await stage(oneModel(`new ScriptedModel([[{ id: 'a1' }, '']])`));
  const { lines } = await client().say('hi');
  expect(lines).toEqual([
    'RUN_STARTED',
    'STEP_STARTED model',
    'STEP_FINISHED model',
    'STATE_SNAPSHOT',
    'MESSAGES_SNAPSHOT u1 a1',
    'RUN_FINISHED success',
  ]);
});

test('a model that cannot stream gets its triplet made up', async () => {
  const { client } = await stage(oneModel(`new SilentModel([{ id: 'a1', content: 'Hello' }])`));
  const { lines } = await client().say('hi');
  expect(lines).toEqual([
    'RUN_STARTED',
    'STEP_STARTED model',
    'TEXT_MESSAGE_START a1',
    'TEXT_MESSAGE_CONTENT a1 "Hello"',
    'TEXT_MESSAGE_END a1',
    'STEP_FINISHED model',
    'STATE_SNAPSHOT',
    'MESSAGES_SNAPSHOT u1 a1',
    'RUN_FINISHED success',
  ]);
});

test('a model that tells bare tokens is streamed', async () => {
  const model = `new QuietModel([{ tokens: ['Hel', 'lo'], message: { content: 'Hello' } }])`;
  const { client } = await stage(oneModel(model));
  const user = client();
  const { lines } = await user.say('hi');
  expect(lines.slice(2, 6)).toEqual([
    'TEXT_MESSAGE_START #1',
    'TEXT_MESSAGE_CONTENT #1 "Hel"',
    'TEXT_MESSAGE_CONTENT #1 "lo"',
    'TEXT_MESSAGE_END #1',
  ]);
  expect(user.messages.at(-1)?.content).toBe('Hello');
});

const ONE_NODE = `.addNode('node', NODE).addEdge(START, 'node').addEdge('node', END)`;

test.each([
  [
    'an AIMessage',
    `new AIMessage({ id: 'a1', content: 'Hello' })`,
    [{ id: 'a1', role: 'assistant', content: 'Hello' }],
  ],
  [
    'a dictionary',
    `{ id: 'a1', role: 'assistant', content: 'Hello' }`,
    [{ id: 'a1', role: 'assistant', content: 'Hello' }],
  ],
  ['a pair', `['assistant', 'Hello']`, [{ role: 'assistant', content: 'Hello' }]],
  [
    'a list of several',
    `[new AIMessage({ id: 'a1', content: 'Hel' }), new AIMessage({ id: 'a2', content: 'lo' })]`,
    [
      { id: 'a1', role: 'assistant', content: 'Hel' },
      { id: 'a2', role: 'assistant', content: 'lo' },
    ],
  ],
])('a node that returns %s is heard', async (_, value, expected) => {
  const node = `() => ({ messages: ${value.startsWith('[') && !value.startsWith("['") ? value : `[${value}]`} })`;
  const { client } = await stage(messagesGraph(ONE_NODE.replace('NODE', node)));
  const user = client();
  const { events } = await user.say('hi');
  expect(textOf(events)).toBe('Hello');
  expect(ofType(events, 'TEXT_MESSAGE_START')).toHaveLength(expected.length);
  expect(user.messages.slice(1)).toMatchObject(expected);
});

test('a node that returns its message in a command is heard', async () => {
  const node = `() => new Command({ update: { messages: [new AIMessage({ id: 'a1', content: 'Hello' })] }, goto: END })`;
  const { client } = await stage(messagesGraph(`.addNode('node', ${node}, { ends: [END] }).addEdge(START, 'node')`));
  const { lines } = await client().say('hi');
  expect(lines.slice(1, 6)).toEqual([
    'STEP_STARTED node',
    'TEXT_MESSAGE_START a1',
    'TEXT_MESSAGE_CONTENT a1 "Hello"',
    'TEXT_MESSAGE_END a1',
    'STEP_FINISHED node',
  ]);
});

test('a message the model has streamed is not told again when the node returns it', async () => {
  const node = `async (state) => {
    const answer = await model.invoke(state.messages);
    return { messages: [new AIMessage({ id: answer.id, content: answer.content })] };
  }`;
  const { client } = await stage(
    messagesGraph(ONE_NODE.replace('NODE', node), `const model = new ScriptedModel([['Hel', 'lo']]);`),
  );
  const { events } = await client().say('hi');
  expect(ofType(events, 'TEXT_MESSAGE_START')).toHaveLength(1);
});

test('a model asked with stream() is streamed once', async () => {
  const node = `async (state) => {
    let answer;
    for await (const chunk of await model.stream(state.messages)) answer = answer === undefined ? chunk : answer.concat(chunk);
    return { messages: [answer] };
  }`;
  const { client } = await stage(
    messagesGraph(ONE_NODE.replace('NODE', node), `const model = new ScriptedModel([['Hel', 'lo']]);`),
  );
  const user = client();
  const { events } = await user.say('hi');
  expect(ofType(events, 'TEXT_MESSAGE_START')).toHaveLength(1);
  expect(user.messages).toHaveLength(2);
});

test('two models that speak at once do not mix', async () => {
  const source = messagesGraph(
    `.addNode('left', async (state) => ({ messages: [await left.invoke(state.messages)] }))
     .addNode('right', async (state) => ({ messages: [await right.invoke(state.messages)] }))
     .addEdge(START, 'left').addEdge(START, 'right').addEdge('left', END).addEdge('right', END)`,
    `const tick = () => new Promise((resolve) => setImmediate(resolve));
     const left = new ScriptedModel([[{ id: 'l', content: 'a' }, 'b', 'c']], { gate: tick });
     const right = new ScriptedModel([[{ id: 'r', content: '1' }, '2', '3']], { gate: tick });`,
  );
  const { client } = await stage(source);
  const user = client();
  await user.say('hi');
  expect(user.messages).toMatchObject([{ id: 'u1' }, { id: 'l', content: 'abc' }, { id: 'r', content: '123' }]);
});

test.each([
  ['emit-messages', `{ metadata: { 'emit-messages': false } }`],
  ['the nostream tag', `{ tags: ['nostream'] }`],
  ['the langsmith:nostream tag', `{ tags: ['langsmith:nostream'] }`],
])('%s keeps a model quiet until the snapshot', async (_, options) => {
  const { client } = await stage(oneModel(`new ScriptedModel([[{ id: 'a1', content: 'Hello' }]])`, options));
  const user = client();
  const { lines } = await user.say('hi');
  expect(lines).toEqual([
    'RUN_STARTED',
    'STEP_STARTED model',
    'STEP_FINISHED model',
    'STATE_SNAPSHOT',
    'MESSAGES_SNAPSHOT u1 a1',
    'RUN_FINISHED success',
  ]);
  expect(user.messages.at(-1)).toEqual({ id: 'a1', role: 'assistant', content: 'Hello' });
});

test('a model whose answer does not reach the state is still streamed', async () => {
  const node = `async (state) => { await model.invoke(state.messages); return {}; }`;
  const { client } = await stage(
    messagesGraph(ONE_NODE.replace('NODE', node), `const model = new ScriptedModel([['Hello']]);`),
  );
  const { events, lines } = await client().say('hi');
  expect(textOf(events)).toBe('Hello');
  expect(lines.at(-2)).toBe('MESSAGES_SNAPSHOT u1');
});

test('usage is summed for each provider and model', async () => {
  const usage = (input: number, output: number, more = '') =>
    `usage_metadata: { input_tokens: ${input}, output_tokens: ${output}, total_tokens: ${input + output}${more} }`;
  const source = messagesGraph(
    `.addNode('first', async (state) => ({ messages: [await small.invoke(state.messages)] }))
     .addNode('second', async (state) => ({ messages: [await small.invoke(state.messages)] }))
     .addNode('third', async (state) => ({ messages: [await large.invoke(state.messages)] }))
     .addEdge(START, 'first').addEdge('first', 'second').addEdge('second', 'third').addEdge('third', END)`,
    `const small = named(new ScriptedModel([
       ['a', { ${usage(10, 2, ', input_token_details: { cache_read: 4, cache_creation: 1 }')} }],
       ['b', { ${usage(20, 3, ', output_token_details: { reasoning: 2 }')} }],
     ]), 'acme', 'small');
     const large = named(new SilentModel([{ content: 'c', ${usage(5, 5)} }]), 'acme', 'large');`,
  );
  const { client } = await stage(source);
  const { events } = await client().say('hi');
  expect(events.at(-1)?.usage).toEqual([
    {
      provider: 'acme',
      model: 'small',
      inputTokens: 30,
      outputTokens: 5,
      totalTokens: 35,
      reasoningTokens: 2,
      cachedInputTokens: 4,
      cacheWriteInputTokens: 1,
    },
    { provider: 'acme', model: 'large', inputTokens: 5, outputTokens: 5, totalTokens: 10 },
  ]);
});

test('the snapshot and the next run keep the conversation of both runs', async () => {
  const source = `${IMPORTS}
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('echo', (state) => ({ messages: [new AIMessage(state.messages.map((m) => m.content).join('|'))] }))
  .addEdge(START, 'echo').addEdge('echo', END);
`;
  const { client } = await stage(source);
  const user = client();
  await user.say('one');
  await user.say('two');
  expect(user.messages.map(({ content }) => content)).toEqual(['one', 'one', 'two', 'one|one|two']);
});

test('a client that sends only the newest message gets the whole conversation back', async () => {
  const { client } = await stage(
    messagesGraph(
      ONE_NODE.replace('NODE', `(state) => ({ messages: [new AIMessage(String(state.messages.length))] })`),
    ),
  );
  await client({ threadId: 'th-1' }).say('one');
  const run = await client({ threadId: 'th-1' }).send({ id: 'u2', role: 'user', content: 'two' });
  expect(snapshotOf(run).map(({ content }) => content)).toEqual(['one', '1', 'two', '3']);
});
