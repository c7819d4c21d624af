import { expect, test } from 'vitest';
import { interruptsOf, stage } from '../support/client.ts';
import { IMPORTS } from '../support/graphs.ts';
import { textOf } from '../support/runs.ts';

const BUILDER = `new StateGraph(MessagesAnnotation)
  .addNode('count', (state) => ({ messages: [new AIMessage(String(state.messages.length))] }))
  .addEdge(START, 'count').addEdge('count', END)`;

test.each([
  ['an uncompiled graph', `export const graph = ${BUILDER};`],
  ['a compiled graph', `export const graph = (${BUILDER}).compile();`],
  [
    'a compiled graph with a memory of its own',
    `export const graph = (${BUILDER}).compile({ checkpointer: new MemorySaver() });`,
  ],
  ['a default export', `export default (${BUILDER}).compile();`],
  ['a function', `export function make() { return ${BUILDER}; }`],
  ['an async function', `export const make = async () => (${BUILDER}).compile();`],
  [
    'a function that compiles with the memory it is given',
    `export const make = ({ checkpointer }) => (${BUILDER}).compile({ checkpointer });`,
  ],
])('%s keeps the conversation', async (_, source) => {
  const user = (await stage(IMPORTS + source)).client();
  await user.say('one');
  await user.say('two');
  expect(user.messages.map(({ content }) => content)).toEqual(['one', '1', 'two', '3']);
});

test.each(['agent.js', 'agent.mjs', 'agent.mts'])('an agent in %s runs', async (file) => {
  const source = `${IMPORTS}export const graph = ${BUILDER};`;
  const { client } = await stage('', { agent: file, files: { [file]: source } });
  expect(textOf((await client().say('hi')).events)).toBe('1');
});

const REACT = (more = ''): string => `${IMPORTS}
import { createAgent } from 'langchain';
const look = tool(async ({ q }) => 'found ' + q, { name: 'look', description: 'looks', schema: z.object({ q: z.string() }) });
const model = new ScriptedModel([[{ id: 'a1', content: 'Let me look.' }, call(0, 'c1', 'look', '{"q":"x"}')], [{ id: 'a2', content: 'Found ' }, 'it.']]);
export const agent = createAgent({ model, tools: [look]${more} });
`;

test('createAgent of langchain: a whole run', async () => {
  const user = (await stage(REACT())).client();
  const { lines } = await user.say('hi');
  expect(lines.filter((line) => !line.startsWith('STEP_'))).toEqual([
    'RUN_STARTED',
    'TEXT_MESSAGE_START a1',
    'TEXT_MESSAGE_CONTENT a1 "Let me look."',
    'TEXT_MESSAGE_END a1',
    'TOOL_CALL_START c1 look in a1',
    'TOOL_CALL_ARGS c1 {"q":"x"}',
    'TOOL_CALL_END c1',
    'TOOL_CALL_RESULT c1 #1 "found x"',
    'TEXT_MESSAGE_START a2',
    'TEXT_MESSAGE_CONTENT a2 "Found "',
    'TEXT_MESSAGE_CONTENT a2 "it."',
    'TEXT_MESSAGE_END a2',
    'STATE_SNAPSHOT',
    'MESSAGES_SNAPSHOT u1 a1 #1 a2',
    'RUN_FINISHED success',
  ]);
  expect(user.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
});

test('createAgent of langchain: the conversation is kept', async () => {
  const user = (await stage(REACT())).client();
  await user.say('one');
  const { lines } = await user.say('two');
  expect(lines.at(-1)).toBe('RUN_FINISHED success');
  expect(user.messages.filter(({ role }) => role === 'user')).toHaveLength(2);
});

test('createAgent of langchain: a system prompt stays out of the conversation', async () => {
  const user = (await stage(REACT(`, systemPrompt: 'Be brief.'`))).client();
  await user.say('hi');
  expect(user.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
});

test('createAgent of langchain: approval by its middleware is an interrupt, and the call goes on after it', async () => {
  const source = REACT(
    `, checkpointer: new MemorySaver(), middleware: [humanInTheLoopMiddleware({ interruptOn: { look: true } })]`,
  ).replace('import { createAgent }', 'import { createAgent, humanInTheLoopMiddleware }');
  const user = (await stage(source)).client();
  const first = await user.say('hi');
  const interrupts = interruptsOf(first);
  expect(interrupts).toHaveLength(1);
  const payload = { decisions: [{ type: 'approve' }] };
  const second = await user.run({ resume: [{ interruptId: interrupts[0]?.id ?? '', status: 'resolved', payload }] });
  expect(second.lines).toContain('TOOL_CALL_RESULT c1 #1 "found x"');
  expect(second.lines.filter((line) => line.startsWith('TOOL_CALL_START'))).toEqual([]);
  expect(user.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
});

test('a prebuilt agent of langgraph runs too', async () => {
  const source = REACT()
    .replace(
      `import { createAgent } from 'langchain';`,
      `import { createReactAgent } from '@langchain/langgraph/prebuilt';`,
    )
    .replace('createAgent({ model,', 'createReactAgent({ llm: model,');
  const user = (await stage(source)).client();
  const { lines } = await user.say('hi');
  expect(lines).toContain('TOOL_CALL_RESULT c1 #1 "found x"');
  expect(user.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
});

test('a graph over a plain messages channel of its own runs', async () => {
  const source = `${IMPORTS}
const State = z.object({ messages: z.custom().default(() => []).register ? z.any() : z.any() });
const Own = Annotation.Root({ messages: Annotation({ reducer: messagesStateReducer, default: () => [] }) });
export const graph = new StateGraph(Own)
  .addNode('say', () => ({ messages: [new AIMessage({ id: 'a1', content: 'Hello' })] })).addEdge(START, 'say').addEdge('say', END);
`;
  const user = (await stage(source)).client();
  await user.say('hi');
  expect(user.messages.map(({ id }) => id)).toEqual(['u1', 'a1']);
});

test('a node that removes messages takes them out of the snapshot', async () => {
  const source = `${IMPORTS}
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('say', () => ({ messages: [new AIMessage({ id: 'a1', content: 'Hello' })] }))
  .addNode('trim', (state) => ({ messages: [new RemoveMessage({ id: state.messages[0].id })] }))
  .addEdge(START, 'say').addEdge('say', 'trim').addEdge('trim', END);
`;
  const user = (await stage(source)).client();
  const { lines } = await user.say('hi');
  expect(lines.at(-2)).toBe('MESSAGES_SNAPSHOT a1');
  expect(lines.filter((line) => line.startsWith('TEXT_MESSAGE_START'))).toEqual(['TEXT_MESSAGE_START a1']);
});

test('a node that rewrites a message changes the snapshot without telling it again', async () => {
  const source = `${IMPORTS}
const model = new ScriptedModel([[{ id: 'a1', content: 'draft' }]]);
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('say', async (state) => ({ messages: [await model.invoke(state.messages)] }))
  .addNode('tidy', () => ({ messages: [new AIMessage({ id: 'a1', content: 'draft' })] }))
  .addEdge(START, 'say').addEdge('say', 'tidy').addEdge('tidy', END);
`;
  const { lines } = await (await stage(source)).client().say('hi');
  expect(lines.filter((line) => line.startsWith('TEXT_MESSAGE_START'))).toEqual(['TEXT_MESSAGE_START a1']);
});

test('a subgraph that hands over to a node of its parent is heard once', async () => {
  const source = `${IMPORTS}
const child = new StateGraph(MessagesAnnotation)
  .addNode('ask', () => new Command({ goto: 'desk', graph: Command.PARENT, update: { messages: [new AIMessage({ id: 'a1', content: 'Over to the desk.' })] } }))
  .addEdge(START, 'ask').compile();
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('child', child, { ends: ['desk'] })
  .addNode('desk', () => ({ messages: [new AIMessage({ id: 'a2', content: 'Desk here.' })] }))
  .addEdge(START, 'child').addEdge('desk', END);
`;
  const user = (await stage(source)).client();
  const { lines } = await user.say('hi');
  expect(lines.at(-1)).toBe('RUN_FINISHED success');
  expect(lines.filter((line) => line.startsWith('TEXT_MESSAGE_CONTENT'))).toEqual([
    'TEXT_MESSAGE_CONTENT a1 "Over to the desk."',
    'TEXT_MESSAGE_CONTENT a2 "Desk here."',
  ]);
  expect(user.messages.map(({ id }) => id)).toEqual(['u1', 'a1', 'a2']);
});

test('a tool that hands over to another node is told with its result', async () => {
  const source = `${IMPORTS}
const tools = [tool(async (_, config) => new Command({ goto: 'desk', graph: Command.PARENT, update: { messages: [
  new ToolMessage({ tool_call_id: config.toolCall.id, name: 'transfer', content: 'transferred' }),
] } }), { name: 'transfer', description: 'transfers', schema: z.object({}) })];
const model = new ScriptedModel([[{ id: 'a1' }, call(0, 'c1', 'transfer', '{}')]]);
const child = new StateGraph(MessagesAnnotation)
  .addNode('model', async (state) => ({ messages: [await model.invoke(state.messages)] }))
  .addNode('tools', new ToolNode(tools)).addEdge(START, 'model').addEdge('model', 'tools').compile();
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('child', child, { ends: ['desk'] })
  .addNode('desk', (state) => ({ messages: [new AIMessage({ id: 'a2', content: 'Desk here.' })] }))
  .addEdge(START, 'child').addEdge('desk', END);
`;
  const { lines } = await (await stage(source)).client().say('hi');
  expect(lines.at(-1)).toBe('RUN_FINISHED success');
  expect(lines.filter((line) => line.startsWith('TOOL_CALL_RESULT'))).toEqual(['TOOL_CALL_RESULT c1 #1 "transferred"']);
  expect(lines).toContain('TEXT_MESSAGE_CONTENT a2 "Desk here."');
});

test('a conversation kept by a reducer that only appends is not doubled', async () => {
  const source = `${IMPORTS}
const model = new ScriptedModel([['One.'], ['Two.']]);
const State = Annotation.Root({ messages: Annotation({ reducer: (left, right) => left.concat(right), default: () => [] }) });
export const graph = new StateGraph(State)
  .addNode('model', async (state) => ({ messages: [await model.invoke(state.messages)] }))
  .addNode('sign', () => ({ messages: [new AIMessage('Yours, agent.')] }))
  .addEdge(START, 'model').addEdge('model', 'sign').addEdge('sign', END);
`;
  const user = (await stage(source)).client();
  const first = await user.say('hi');
  expect(first.lines.filter((line) => line.startsWith('TEXT_MESSAGE_START'))).toHaveLength(2);
  await user.say('again');
  expect(user.messages.map(({ content }) => content)).toEqual([
    'hi',
    'One.',
    'Yours, agent.',
    'again',
    'Two.',
    'Yours, agent.',
  ]);
});

test('a model that fails mid-token and is replaced by another leaves only the second answer', async () => {
  const source = `${IMPORTS}
const first = new ScriptedModel([[{ id: 'f1', content: 'Hel' }, new Error('gone')]]);
const second = new ScriptedModel([[{ id: 'a1', content: 'Hello' }]]);
const model = first.withFallbacks([second]);
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('model', async (state) => ({ messages: [await model.invoke(state.messages)] }))
  .addEdge(START, 'model').addEdge('model', END);
`;
  const user = (await stage(source)).client();
  const { lines } = await user.say('hi');
  expect(lines.at(-1)).toBe('RUN_FINISHED success');
  expect(user.messages).toEqual([
    { id: 'u1', role: 'user', content: 'hi' },
    { id: 'a1', role: 'assistant', content: 'Hello' },
  ]);
});

test('a node that is tried again is told each time, and ends well', async () => {
  const source = `${IMPORTS}
const model = new ScriptedModel([[{ id: 'f1', content: 'Hel' }, new Error('gone')], [{ id: 'a1', content: 'Hello' }]]);
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('model', async (state) => ({ messages: [await model.invoke(state.messages)] }), { retryPolicy: { maxAttempts: 2, initialInterval: 1, jitter: false, retryOn: () => true } })
  .addEdge(START, 'model').addEdge('model', END);
`;
  const user = (await stage(source)).client();
  const { lines } = await user.say('hi');
  expect(lines.at(-1)).toBe('RUN_FINISHED success');
  expect(user.messages.map(({ content }) => content)).toEqual(['hi', 'Hello']);
});

test('nodes find the thread and the user in their config', async () => {
  const source = `${IMPORTS}
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('node', (_, config) => ({ messages: [new AIMessage(config.configurable.thread_id + ' ' + config.configurable.user_id)] }))
  .addEdge(START, 'node').addEdge('node', END);
`;
  const user = (await stage(source)).client({ threadId: 'th-1', headers: { 'X-Service-User-Id': 'ana' } });
  await user.say('hi');
  expect(user.messages.at(-1)?.content).toBe('th-1 ana');
});

test('two threads at once do not mix', async () => {
  const source = `${IMPORTS}
const tick = () => new Promise((resolve) => setImmediate(resolve));
const model = new ScriptedModel([(messages) => [...messages.at(-1).content]], { gate: tick });
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('model', async (state) => ({ messages: [await model.invoke(state.messages)] }))
  .addEdge(START, 'model').addEdge('model', END);
`;
  const { client } = await stage(source);
  const users = Array.from({ length: 8 }, () => client());
  await Promise.all(users.map((user, index) => user.say(`text of ${index}`)));
  expect(users.map((user) => user.messages.at(-1)?.content)).toEqual(users.map((_, index) => `text of ${index}`));
});
