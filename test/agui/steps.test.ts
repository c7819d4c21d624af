import { expect, test } from 'vitest';
import { stage } from '../support/client.ts';
import { IMPORTS, messagesGraph } from '../support/graphs.ts';

/** The steps of one run, `+name` for a start and `-name` for an end. */
async function steps(source: string): Promise<string[]> {
  const { lines } = await (await stage(source)).client().say('hi');
  expect(lines.at(-1)).toBe('RUN_FINISHED success');
  return lines
    .filter((line) => line.startsWith('STEP_'))
    .map((line) => line.replace('STEP_STARTED ', '+').replace('STEP_FINISHED ', '-'));
}

const SAY = (text: string): string => `() => ({ messages: [new AIMessage('${text}')] })`;

test('nodes in sequence are steps in sequence', async () => {
  const source = messagesGraph(`.addNode('one', ${SAY('1')}).addNode('two', ${SAY('2')})
    .addEdge(START, 'one').addEdge('one', 'two').addEdge('two', END)`);
  expect(await steps(source)).toEqual(['+one', '-one', '+two', '-two']);
});

test('a node that runs again is a step again', async () => {
  const source = messagesGraph(`.addNode('one', ${SAY('1')})
    .addEdge(START, 'one').addConditionalEdges('one', (state) => (state.messages.length < 4 ? 'one' : END))`);
  expect(await steps(source)).toEqual(['+one', '-one', '+one', '-one', '+one', '-one']);
});

test('parallel nodes are steps that overlap', async () => {
  const source = messagesGraph(
    `.addNode('left', async () => { meet(); await met; return {}; }).addNode('right', async () => { meet(); await met; return {}; })
    .addEdge(START, 'left').addEdge(START, 'right').addEdge('left', END).addEdge('right', END)`,
    `let arrived = 0; let open; const met = new Promise((resolve) => { open = resolve; });
     const meet = () => { arrived += 1; if (arrived === 2) open(); };`,
  );
  const told = await steps(source);
  expect(told.slice(0, 2).sort()).toEqual(['+left', '+right']);
  expect(told.slice(2).sort()).toEqual(['-left', '-right']);
});

test('a fan-out to one node is one step from the first to the last', async () => {
  const source = messagesGraph(
    `.addNode('work', async () => { meet(); await met; return { messages: [new AIMessage('done')] }; })
    .addConditionalEdges(START, () => [1, 2, 3].map((n) => new Send('work', { messages: [] })))
    .addEdge('work', END)`,
    `let arrived = 0; let open; const met = new Promise((resolve) => { open = resolve; });
     const meet = () => { arrived += 1; if (arrived === 3) open(); };`,
  );
  expect(await steps(source)).toEqual(['+work', '-work']);
});

const SUBGRAPH = (inner: string, outer: string): string => `${IMPORTS}
const child = new StateGraph(MessagesAnnotation)
  .addNode('${inner}', ${SAY('from the child')}).addEdge(START, '${inner}').addEdge('${inner}', END).compile();
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('${outer}', child).addEdge(START, '${outer}').addEdge('${outer}', END);
`;

test('a subgraph is a step around the steps of its nodes', async () => {
  expect(await steps(SUBGRAPH('inner', 'outer'))).toEqual(['+outer', '+inner', '-inner', '-outer']);
});

test('a node of a subgraph may have the name of the node around it', async () => {
  expect(await steps(SUBGRAPH('work', 'work'))).toEqual(['+work', '-work']);
});

test('a node of a subgraph may have the name of another node of the parent', async () => {
  const source = `${IMPORTS}
const child = new StateGraph(MessagesAnnotation)
  .addNode('tools', ${SAY('inner tools')}).addEdge(START, 'tools').addEdge('tools', END).compile();
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('tools', ${SAY('outer tools')}).addNode('child', child)
  .addEdge(START, 'tools').addEdge('tools', 'child').addEdge('child', END);
`;
  expect(await steps(source)).toEqual(['+tools', '-tools', '+child', '+tools', '-tools', '-child']);
});

test('what a subgraph says is told once, in its step', async () => {
  const source = `${IMPORTS}
const model = new ScriptedModel([[{ id: 'a1', content: 'Hel' }, 'lo']]);
const child = new StateGraph(MessagesAnnotation)
  .addNode('model', async (state) => ({ messages: [await model.invoke(state.messages)] }))
  .addEdge(START, 'model').addEdge('model', END).compile();
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('child', child).addEdge(START, 'child').addEdge('child', END);
`;
  const user = (await stage(source)).client();
  const { lines } = await user.say('hi');
  expect(lines).toEqual([
    'RUN_STARTED',
    'STEP_STARTED child',
    'STEP_STARTED model',
    'TEXT_MESSAGE_START a1',
    'TEXT_MESSAGE_CONTENT a1 "Hel"',
    'TEXT_MESSAGE_CONTENT a1 "lo"',
    'TEXT_MESSAGE_END a1',
    'STEP_FINISHED model',
    'STEP_FINISHED child',
    'STATE_SNAPSHOT',
    'MESSAGES_SNAPSHOT u1 a1',
    'RUN_FINISHED success',
  ]);
});

test('a graph called inside a node keeps its messages to itself, and its steps inside the node', async () => {
  const source = `${IMPORTS}
const child = new StateGraph(MessagesAnnotation)
  .addNode('inner', () => ({ messages: [new AIMessage({ id: 'i1', content: 'inner' })] }))
  .addEdge(START, 'inner').addEdge('inner', END).compile();
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('outer', async (state) => {
    const { messages } = await child.invoke({ messages: [new HumanMessage({ id: 'q1', content: 'ask' })] });
    return { messages: [new AIMessage({ id: 'a1', content: 'child said ' + messages.at(-1).content })] };
  }).addEdge(START, 'outer').addEdge('outer', END);
`;
  const user = (await stage(source)).client();
  const { lines } = await user.say('hi');
  expect(lines.filter((line) => line.startsWith('STEP_'))).toEqual([
    'STEP_STARTED outer',
    'STEP_STARTED inner',
    'STEP_FINISHED inner',
    'STEP_FINISHED outer',
  ]);
  expect(user.messages.map(({ id }) => id)).toEqual(['u1', 'a1']);
});

test('a node that fails ends the run with its step open', async () => {
  const source = messagesGraph(
    `.addNode('bad', () => { throw new Error('secret'); }).addEdge(START, 'bad').addEdge('bad', END)`,
  );
  const { lines } = await (await stage(source)).client().say('hi');
  expect(lines[0]).toBe('RUN_STARTED');
  expect(lines.at(-1)).toBe('RUN_ERROR FRAMEWORK_ERROR');
});
