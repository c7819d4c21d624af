import { expect, test } from 'vitest';
import { stage } from '../support/client.ts';
import { IMPORTS } from '../support/graphs.ts';
import { ofType } from '../support/runs.ts';

/** A graph with a plan that grows, a secret the output schema leaves out, and one node for each of \`nodes\`. */
function planner(...nodes: string[]): string {
  const names = nodes.map((_, index) => `n${index + 1}`);
  const edges = [...names, 'END'].map((name, index) => {
    const from = index === 0 ? 'START' : `'n${index}'`;
    return `.addEdge(${from}, ${name === 'END' ? 'END' : `'${name}'`})`;
  });
  return `${IMPORTS}
const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  plan: Annotation({ reducer: (left, right) => left.concat(right), default: () => [] }),
  title: Annotation(),
  secret: Annotation(),
});
const Output = Annotation.Root({ plan: State.spec.plan, title: State.spec.title });
export const graph = new StateGraph({ state: State, input: State, output: Output })
  ${nodes.map((node, index) => `.addNode('n${index + 1}', ${node})`).join('\n  ')}
  ${edges.join('\n  ')};
`;
}

test('snapshots hold the keys of the output schema and the conversation, nothing else', async () => {
  const source = planner(
    `() => ({ plan: ['search'], title: 'Trip', secret: 's3cret', messages: [new AIMessage({ id: 'a1', content: 'ok' })] })`,
  );
  const user = (await stage(source)).client();
  const { events } = await user.say('hi');
  for (const { snapshot } of ofType(events, 'STATE_SNAPSHOT')) expect(snapshot).not.toHaveProperty('secret');
  expect(user.state).toEqual({
    plan: ['search'],
    title: 'Trip',
    messages: [
      { id: 'u1', role: 'user', content: 'hi' },
      { id: 'a1', role: 'assistant', content: 'ok' },
    ],
  });
});

test('the key tools is shown although the output schema leaves it out', async () => {
  const source = `${IMPORTS}
const State = Annotation.Root({ ...MessagesAnnotation.spec, tools: Annotation(), title: Annotation() });
const Output = Annotation.Root({ title: State.spec.title });
export const graph = new StateGraph({ state: State, input: State, output: Output })
  .addNode('n1', (state) => ({ title: String(state.tools.length) })).addEdge(START, 'n1').addEdge('n1', END);
`;
  const user = (await stage(source)).client();
  await user.say('hi', { tools: [{ name: 'confirm', description: 'asks', parameters: { type: 'object' } }] });
  expect(user.state).toMatchObject({ title: '1', tools: [{ name: 'confirm', description: 'asks' }] });
});

test('a snapshot is sent when the state has changed, and always one at the end', async () => {
  const source = planner(`() => ({ plan: ['search'] })`, `() => ({})`, `() => ({ plan: ['book'] })`);
  const { events } = await (await stage(source)).client().say('hi');
  const plans = ofType(events, 'STATE_SNAPSHOT').map(({ snapshot }) => (snapshot as { plan: string[] }).plan);
  expect(plans).toEqual([[], ['search'], ['search', 'book'], ['search', 'book']]);
});

test('no snapshot is sent while a message is being streamed', async () => {
  const source = `${IMPORTS}
const State = Annotation.Root({ ...MessagesAnnotation.spec, title: Annotation() });
let arrived; const arrival = new Promise((resolve) => { arrived = resolve; });
let release; const released = new Promise((resolve) => { release = resolve; });
let chunks = 0;
const model = new ScriptedModel([[{ id: 'a1', content: 'Hel' }, 'lo']], { gate: async () => { chunks += 1; if (chunks === 2) { arrived(); await released; } } });
const child = new StateGraph(State)
  .addNode('fast', async () => { await arrival; return { title: 'changed' }; })
  .addNode('after', async () => { setTimeout(release, 30); return {}; })
  .addEdge(START, 'fast').addEdge('fast', 'after').addEdge('after', END).compile();
export const graph = new StateGraph(State)
  .addNode('slow', async (state) => ({ messages: [await model.invoke(state.messages)] }))
  .addNode('child', child)
  .addEdge(START, 'slow').addEdge(START, 'child').addEdge('slow', END).addEdge('child', END);
`;
  const user = (await stage(source)).client();
  // That none is sent inside a message is checked of every run.
  const { lines } = await user.say('hi');
  expect(lines.at(-1)).toBe('RUN_FINISHED success');
  expect(user.state).toMatchObject({ title: 'changed' });
});

test('what the client changed in the state reaches the graph, what it sent back unchanged does not', async () => {
  const source = planner(`(state) => ({ plan: ['step ' + (state.plan.length + 1)] })`);
  const user = (await stage(source)).client();
  await user.say('one');
  expect(user.state.plan).toEqual(['step 1']);
  const { input } = await user.say('two');
  expect(input.state).toMatchObject({ plan: ['step 1'] });
  expect(user.state.plan).toEqual(['step 1', 'step 2']);
  user.agent.setState({ ...user.state, title: 'Mine' });
  await user.say('three');
  expect(user.state).toMatchObject({ plan: ['step 1', 'step 2', 'step 3'], title: 'Mine' });
});

test('a key the input schema does not have is not taken', async () => {
  const source = `${IMPORTS}
const State = Annotation.Root({ ...MessagesAnnotation.spec, title: Annotation(), locked: Annotation() });
const Input = Annotation.Root({ ...MessagesAnnotation.spec, title: Annotation() });
export const graph = new StateGraph({ state: State, input: Input, output: State })
  .addNode('n1', (state) => ({ messages: [new AIMessage(JSON.stringify([state.title, state.locked ?? null]))] }))
  .addEdge(START, 'n1').addEdge('n1', END);
`;
  const user = (await stage(source)).client();
  user.agent.setState({ title: 'Mine', locked: 'broken', other: 1 });
  await user.say('hi');
  expect(user.messages.at(-1)?.content).toBe('["Mine",null]');
});

test('messages in the client state do not get into the conversation', async () => {
  const source = planner(`(state) => ({ messages: [new AIMessage(String(state.messages.length))] })`);
  const user = (await stage(source)).client();
  user.agent.setState({ messages: [{ id: 'x', role: 'user', content: 'smuggled' }] });
  await user.say('hi');
  expect(user.messages.at(-1)?.content).toBe('1');
});

test('context and tools reach a graph whose state has keys for them', async () => {
  const source = `${IMPORTS}
const State = Annotation.Root({ ...MessagesAnnotation.spec, context: Annotation(), tools: Annotation(), 'ag-ui': Annotation() });
export const graph = new StateGraph(State)
  .addNode('n1', (state) => ({ messages: [new AIMessage(JSON.stringify([state.context, state.tools[0].name, state['ag-ui'].context]))] }))
  .addEdge(START, 'n1').addEdge('n1', END);
`;
  const user = (await stage(source)).client();
  const context = [{ description: 'locale', value: 'fr-FR' }];
  await user.say('hi', { context, tools: [{ name: 'confirm', description: 'asks', parameters: {} }] });
  expect(JSON.parse(String(user.messages.at(-1)?.content))).toEqual([context, 'confirm', context]);
});

test('emitState shows values at once, and the next snapshot replaces them', async () => {
  const source = `import { emitState } from 'agent-engine-server/agent';${planner(`() => { emitState({ title: 'Draft', 'a/b~c': 1 }); return { title: 'Final' }; }`)}`;
  const user = (await stage(source)).client();
  const { lines } = await user.say('hi');
  expect(lines).toContain(
    'STATE_DELTA [{"op":"add","path":"/title","value":"Draft"},{"op":"add","path":"/a~1b~0c","value":1}]',
  );
  expect(user.state).toMatchObject({ title: 'Final' });
  expect(user.state).not.toHaveProperty('a/b~c');
});

test('a state that JSON cannot hold ends the run with ENCODING_ERROR', async () => {
  const source = planner(`() => ({ title: 10n })`);
  const { lines } = await (await stage(source)).client().say('hi');
  expect(lines.at(-1)).toBe('RUN_ERROR ENCODING_ERROR');
});

const PREDICTED = (metadata: string): string => `${IMPORTS}
const State = Annotation.Root({ ...MessagesAnnotation.spec, title: Annotation() });
const tools = [tool(async ({ title }, config) => new Command({ update: {
  title, messages: [new ToolMessage({ tool_call_id: config.toolCall.id, content: 'written' })],
} }), { name: 'write', description: 'writes', schema: z.object({ title: z.string() }) })];
const model = new ScriptedModel([[{ id: 'a1' }, call(0, 'c1', 'write', '{"title":'), call(0, undefined, undefined, '"Trip"}')], [{ id: 'a2', content: 'Done.' }]]);
export const graph = new StateGraph(State)
  .addNode('model', async (state) => ({ title: state.title ?? 'old', messages: [await model.invoke(state.messages, { metadata: ${metadata} })] }))
  .addNode('tools', new ToolNode(tools))
  .addEdge(START, 'model')
  .addConditionalEdges('model', (state) => (state.messages.at(-1).tool_calls?.length > 0 ? 'tools' : END))
  .addEdge('tools', 'model');
`;

test.each([
  ['predict_state', `{ predict_state: [{ state_key: 'title', tool: 'write', tool_argument: 'title' }] }`],
  ['predict-state', `{ 'predict-state': [{ state_key: 'title', tool: 'write', tool_argument: 'title' }] }`],
])('%s announces the prediction and holds snapshots back until the tool has ended', async (_, metadata) => {
  const { events, lines } = await (await stage(PREDICTED(metadata))).client().say('hi');
  const predicted = lines.findIndex((line) => line.startsWith('CUSTOM PredictState'));
  expect(lines[predicted]).toBe('CUSTOM PredictState [{"state_key":"title","tool":"write","tool_argument":"title"}]');
  const started = lines.indexOf('TOOL_CALL_START c1 write in a1');
  const ended = lines.findIndex((line) => line.startsWith('TOOL_CALL_RESULT c1'));
  expect(predicted).toBeLessThan(started);
  expect(lines.slice(started, ended)).not.toContain('STATE_SNAPSHOT');
  expect(ofType(events, 'STATE_SNAPSHOT').at(-1)?.snapshot).toMatchObject({ title: 'Trip' });
});
