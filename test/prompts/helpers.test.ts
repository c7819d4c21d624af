import { expect, test } from 'vitest';
import * as helpers from '../../src/agent.ts';
import { createTestApp } from '../support/app.ts';
import { createGate, until } from '../support/gates.ts';
import { GRAPH_FILES, IMPORTS } from '../support/graphs.ts';
import { ofType, runEvents, runInput, type WireEvent } from '../support/runs.ts';

const OUTSIDE = (helper: string): string =>
  `${helper}() works inside a run of the agent only: call it in a node or tool, not as it is built.`;

test('outside a run the helpers answer what they can and refuse the rest', () => {
  expect(helpers.currentUser()).toBe('standalone');
  expect(helpers.clientTools()).toEqual([]);
  expect(helpers.clientContext()).toEqual([]);
  expect(() => helpers.currentThread()).toThrow(OUTSIDE('currentThread'));
  expect(() => helpers.emitCustom('x', 1)).toThrow(OUTSIDE('emitCustom'));
  expect(() => helpers.emitState({ x: 1 })).toThrow(OUTSIDE('emitState'));
  expect(() => helpers.getPrompt('x')).toThrow(
    'getPrompt() works inside a run of the agent, while its module loads and in its factory only.',
  );
});

/** Reports \`answers\`, the source of a list, in a run. */
const agent = (before: string, node: string): string => `${IMPORTS}
import * as helpers from 'agent-engine-server/agent';
const attempt = (work) => { try { return work() ?? null; } catch (error) { return error.message; } };
${before}
export function graph(context) {
  const factory = typeof askIn === 'function' ? [askIn(helpers), askIn(context)] : [];
  return new StateGraph(MessagesAnnotation)
    .addNode('work', async () => { ${node}; return { messages: [new AIMessage('done')] }; })
    .addEdge(START, 'work').addEdge('work', END);
}`;

const PROMPTS = (text: string): string => `
agent: { type: LANGGRAPH, config: { name: a, graph_definition: './agent.ts:graph' } }
prompts: [{ prompt_id: greet, version: 1, content: '${text} {{ user }}' }]`;

async function customOf(source: string): Promise<WireEvent[]> {
  const { app } = await createTestApp({ files: { ...GRAPH_FILES, 'agent.ts': source, 'config.yaml': PROMPTS('Hi') } });
  const events = await runEvents(app, runInput('hi', { threadId: 't-1' }), { 'x-service-user-id': 'ana' });
  expect(events.at(-1)?.type).toBe('RUN_FINISHED');
  return events;
}

test('a module and a factory are outside a run, but have the prompts', async () => {
  const events = await customOf(
    agent(
      `const askIn = (h) => [h.currentUser(), attempt(() => h.currentThread()), attempt(() => h.emitCustom('x')),
  attempt(() => h.emitState({ x: 1 })), h.clientTools(), h.clientContext(), h.getPrompt('greet').format({ user: 'you' })];
const module = askIn(helpers);`,
      `context.emitCustom('said', [module, ...factory]); context.emitCustom('x', [context.currentUser(), context.currentThread()])`,
    ),
  );
  const there = ['standalone', ...['currentThread', 'emitCustom', 'emitState'].map(OUTSIDE), [], [], 'Hi you'];
  expect(ofType(events, 'CUSTOM').map(({ value }) => value)).toEqual([
    [there, there, there],
    ['ana', 't-1'],
  ]);
});

test('what is emitted is checked where it is emitted', async () => {
  const events = await customOf(
    agent(
      '',
      `const { emitCustom, emitState } = helpers;
       emitCustom('nothing'); emitCustom('null', null); emitCustom('zero', 0); emitCustom('deep', { a: [1] });
       const refused = [() => emitCustom(''), () => emitCustom(7, 1), () => emitState([1]), () => emitState(null)].map(attempt);
       emitCustom('refused', refused);
       emitState({}); emitState({ gone: undefined }); emitState({ 'a/b~c': 1, kept: null })`,
    ),
  );
  const name = 'emitCustom(name, value) needs a name.';
  const patch = 'emitState(patch) needs an object: the new values by state key.';
  expect(ofType(events, 'CUSTOM').map(({ name: key, value }) => [key, value])).toEqual([
    ['nothing', null],
    ['null', null],
    ['zero', 0],
    ['deep', { a: [1] }],
    ['refused', [name, name, patch, patch]],
  ]);
  expect(ofType(events, 'STATE_DELTA').map(({ delta }) => delta)).toEqual([
    [
      { op: 'add', path: '/a~1b~0c', value: 1 },
      { op: 'add', path: '/kept', value: null },
    ],
  ]);
});

test('what is emitted after the run has ended goes nowhere, and the helpers still answer', async () => {
  const gate = createGate();
  const events = await customOf(
    agent(
      '',
      `void globalThis.testGates.pass('${gate.name}').then(() => {
         helpers.emitCustom('late', 1); helpers.emitState({ late: 1 });
         globalThis.afterwards = [helpers.currentUser(), helpers.currentThread(), helpers.getPrompt('greet').version];
       })`,
    ),
  );
  expect(ofType(events, 'CUSTOM')).toEqual([]);
  gate.open();
  const said = (): unknown => (globalThis as { afterwards?: unknown }).afterwards;
  await until(() => said() !== undefined);
  expect(said()).toEqual(['ana', 't-1', 1]);
  Reflect.deleteProperty(globalThis, 'afterwards');
});

test('two servers in one process have their own prompts, while they load and while they run', async () => {
  const source = agent(
    `const early = helpers.getPrompt('greet').format({ user: 'module' });
await new Promise((resolve) => setTimeout(resolve, 5));
const late = helpers.getPrompt('greet').format({ user: 'module' });`,
    `helpers.emitCustom('said', [early, late, helpers.getPrompt('greet').format({ user: 'run' })])`,
  );
  const servers = await Promise.all(
    ['Hello', 'Moin'].map((word) =>
      createTestApp({ files: { ...GRAPH_FILES, 'agent.ts': source, 'config.yaml': PROMPTS(word) } }),
    ),
  );
  const said = await Promise.all(
    servers.map(async ({ app }) => ofType(await runEvents(app, runInput('hi')), 'CUSTOM')[0]?.value),
  );
  expect(said).toEqual(['Hello', 'Moin'].map((word) => [`${word} module`, `${word} module`, `${word} run`]));
});
