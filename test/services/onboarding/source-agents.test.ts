import { expect, test } from 'vitest';
import { findAgents } from '../../../src/services/onboarding/source-agents.ts';
import { createTestApp } from '../../support/app.ts';
import { runEvents, runInput, textOf } from '../../support/runs.ts';

const ECHO = `
import { AIMessage } from '@langchain/core/messages';
const echo = (state) => ({ messages: [new AIMessage('you said: ' + state.messages.at(-1).content)] });
`;
const IMPORT = `import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';`;
const GRAPH = `new StateGraph(MessagesAnnotation).addNode('echo', echo).addEdge(START, 'echo').addEdge('echo', END)`;

/** Sources that export one agent, which the server must be able to run: name, source, the export, the file if not agent.ts. */
const SERVED: [form: string, source: string, name: string, file?: string][] = [
  ['a builder', `${IMPORT}${ECHO} export const graph = ${GRAPH};`, 'graph'],
  ['a compiled graph', `${IMPORT}${ECHO} export const graph = ${GRAPH}.compile();`, 'graph'],
  [
    'a builder and its compiled graph',
    `${IMPORT}${ECHO} export const b = ${GRAPH}; export const graph = b.compile({});`,
    'graph',
  ],
  ['let with a value later', `${IMPORT}${ECHO} export let graph; graph = ${GRAPH};`, 'graph'],
  ['an export list before the value', `${IMPORT} export { made as graph }; ${ECHO} const made = ${GRAPH};`, 'graph'],
  ['a default expression', `${IMPORT}${ECHO} export default ${GRAPH}.compile();`, 'default'],
  ['the same by name and by default', `${IMPORT}${ECHO} export const graph = ${GRAPH}; export default graph;`, 'graph'],
  ['default first', `${IMPORT}${ECHO} const g = ${GRAPH}; export { g as default, g as graph, g as again };`, 'graph'],
  ['a function', `${IMPORT}${ECHO} export function make(context) { return ${GRAPH}; }`, 'make'],
  [
    'an async function',
    `${IMPORT}${ECHO} export async function make() { const g = ${GRAPH}; return g.compile(); }`,
    'make',
  ],
  [
    'a default function without a name',
    `${IMPORT}${ECHO} export default async function () { return ${GRAPH}; }`,
    'default',
  ],
  ['a default arrow', `${IMPORT}${ECHO} export default () => ${GRAPH};`, 'default'],
  [
    'an async arrow',
    `${IMPORT}${ECHO} export const make = async () => { if (!START) throw 1; else return ${GRAPH}; };`,
    'make',
  ],
  [
    'a call of a local function',
    `${IMPORT}${ECHO} function make() { return ${GRAPH}; } export const graph = make();`,
    'graph',
  ],
  [
    'a method of what a local function returns',
    `${IMPORT}${ECHO} const make = () => ${GRAPH}; export const graph = make().compile();`,
    'graph',
  ],
  [
    'an awaited call',
    `${IMPORT}${ECHO} async function make() { return ${GRAPH}; } export const graph = await make();`,
    'graph',
  ],
  [
    'a function called where it is',
    `${IMPORT}${ECHO} export const graph = await (async () => { return ${GRAPH}; })();`,
    'graph',
  ],
  [
    'a function and what it made',
    `${IMPORT}${ECHO} export const make = () => ${GRAPH}; export const graph = make();`,
    'graph',
  ],
  ['types around it', `${IMPORT}${ECHO} export const graph = ((${GRAPH} as any) satisfies object)!;`, 'graph'],
  [
    'statements on the builder',
    `${IMPORT}${ECHO} const b = new StateGraph(MessagesAnnotation); b.addNode('echo', echo).addEdge(START, 'echo').addEdge('echo', END); export const graph = b.compile();`,
    'graph',
  ],
  [
    'a configured graph',
    `${IMPORT}${ECHO} export const graph = ${GRAPH}.compile().withConfig({ tags: ['a'] });`,
    'graph',
  ],
  [
    'another name for the class',
    `import { END, MessagesAnnotation, START, StateGraph as SG } from '@langchain/langgraph';${ECHO} export const graph = ${GRAPH.replace('StateGraph', 'SG')};`,
    'graph',
  ],
  [
    'the whole module',
    `import * as lg from '@langchain/langgraph';${ECHO} const { END, START, MessagesAnnotation } = lg; export const graph = ${GRAPH.replace('StateGraph', 'lg.StateGraph')};`,
    'graph',
  ],
  [
    'a subpath',
    `import { StateGraph } from '@langchain/langgraph/web'; import { END, MessagesAnnotation, START } from '@langchain/langgraph';${ECHO} export const graph = ${GRAPH};`,
    'graph',
  ],
  [
    "a class of one's own",
    `${IMPORT}${ECHO} class Mine extends StateGraph {} export const graph = ${GRAPH.replace('StateGraph', 'Mine')};`,
    'graph',
  ],
  [
    'a module loaded in the function',
    `${ECHO} export async function make() { const { END, MessagesAnnotation, START, StateGraph } = await import('@langchain/langgraph'); return ${GRAPH}; }`,
    'make',
  ],
  ['a name beyond ASCII', `${IMPORT}${ECHO} export const граф$1 = ${GRAPH};`, 'граф$1'],
  ['plain JavaScript', `${IMPORT}${ECHO} export const graph = ${GRAPH};`, 'graph', 'agent.js'],
  ['.mjs', `${IMPORT}${ECHO} export const graph = ${GRAPH};`, 'graph', 'agent.mjs'],
  ['.mts', `${IMPORT}${ECHO} export const graph: unknown = ${GRAPH};`, 'graph', 'agent.mts'],
  ['.cts', `${IMPORT}${ECHO} export const graph: unknown = ${GRAPH};`, 'graph', 'agent.cts'],
  [
    'createReactAgent',
    `import { createReactAgent } from '@langchain/langgraph/prebuilt'; import { FakeListChatModel } from '@langchain/core/utils/testing'; export const agent = createReactAgent({ llm: new FakeListChatModel({ responses: ['you said: hello'] }), tools: [] });`,
    'agent',
  ],
  [
    'createAgent',
    `import { createAgent } from 'langchain'; import { FakeListChatModel } from '@langchain/core/utils/testing'; export const agent = createAgent({ model: new FakeListChatModel({ responses: ['you said: hello'] }), tools: [] });`,
    'agent',
  ],
  [
    'the graph of createAgent',
    `import { createAgent } from 'langchain'; import { FakeListChatModel } from '@langchain/core/utils/testing'; export const agent = createAgent({ model: new FakeListChatModel({ responses: ['you said: hello'] }), tools: [] }).graph;`,
    'agent',
  ],
];

test.each(SERVED)('%s is found, and what is found can be served', async (_, source, name, file = 'agent.ts') => {
  expect(findAgents(file, source)).toEqual([{ framework: 'LANGGRAPH', variableName: name }]);
  const { app } = await createTestApp({ files: { [file]: source }, agent: `${file}:${name}` });
  expect(textOf(await runEvents(app, runInput('hello')))).toBe('you said: hello');
});

const COMMON = `
const { END, MessagesAnnotation, START, StateGraph } = require('@langchain/langgraph');
const { AIMessage } = require('@langchain/core/messages');
const echo = (state) => ({ messages: [new AIMessage('you said: ' + state.messages.at(-1).content)] });
const made = ${GRAPH};
`;

test.each([
  ['module.exports = {…}', `${COMMON} module.exports = { graph: made, other: 1 };`, 'graph'],
  ['exports.x', `${COMMON} exports.graph = made.compile();`, 'graph'],
  ['module.exports.x', `${COMMON} module.exports.graph = () => made;`, 'graph'],
])('%s of a CommonJS module is found and can be served', async (_, source, name) => {
  expect(findAgents('agent.cjs', source)).toEqual([{ framework: 'LANGGRAPH', variableName: name }]);
  const { app } = await createTestApp({ files: { 'agent.cjs': source }, agent: `agent.cjs:${name}` });
  expect(textOf(await runEvents(app, runInput('hello')))).toBe('you said: hello');
});

test.each(['Agent', 'LlmAgent', 'SequentialAgent', 'ParallelAgent', 'LoopAgent', 'Workflow'])(
  'an ADK %s is found',
  (kind) => {
    const found = (source: string) => findAgents('agent.ts', source);
    expect(found(`import { ${kind} } from '@google/adk'; export const a = new ${kind}({ name: 'a' });`)).toEqual([
      { framework: 'ADK', variableName: 'a' },
    ]);
    expect(found(`import * as adk from '@google/adk'; export default () => new adk.${kind}({});`)).toEqual([
      { framework: 'ADK', variableName: 'default' },
    ]);
    expect(found(`import { ${kind} as K } from '@google/adk'; const a = new K({}); export { a as root };`)).toEqual([
      { framework: 'ADK', variableName: 'root' },
    ]);
  },
);

test('several agents of one file are found in the order of its text', () => {
  const source = `${IMPORT} import { LlmAgent } from '@google/adk';
    export const one = new StateGraph({}), two = new StateGraph({}).compile();
    export const three = new LlmAgent({ subAgents: [] });
    const builder = new StateGraph({});
    export const four = builder.compile(), five = builder.compile({ interruptBefore: ['x'] });`;
  expect(findAgents('agent.ts', source).map(({ variableName }) => variableName)).toEqual([
    'one',
    'two',
    'three',
    'four',
    'five',
  ]);
});

test.each([
  ['what is not exported', `${IMPORT} const graph = new StateGraph({});`],
  ['a class of another module', `import { StateGraph } from './mine.ts'; export const graph = new StateGraph({});`],
  ['a class of that name in the file', `class StateGraph {} export const graph = new StateGraph({});`],
  [
    'a class imported as a type',
    `import type { StateGraph } from '@langchain/langgraph'; export const graph = new StateGraph();`,
  ],
  ['an exported type', `${IMPORT} export type graph = StateGraph; export type { StateGraph };`],
  ['what is exported again', `export { graph } from './other.ts'; export * from '@langchain/langgraph';`],
  [
    'the class itself',
    `import { StateGraph } from '@langchain/langgraph'; export { StateGraph }; export default class extends StateGraph {}`,
  ],
  ['the answer of a graph', `${IMPORT} export const answer = await new StateGraph({}).compile().invoke({});`],
  ['the drawing of a graph', `${IMPORT} export const drawing = new StateGraph({}).compile().getGraph();`],
  ['a function that returns a function', `${IMPORT} export const make = () => () => new StateGraph({});`],
  ['a generator', `${IMPORT} export function* make() { return new StateGraph({}); }`],
  [
    'a return of an inner function or method',
    `${IMPORT} export function make() { const o = { m() { return new StateGraph({}); } }; o.m(() => { return new StateGraph({}); }); return 1; }`,
  ],
  [
    'what is handed to the function',
    `${IMPORT} const g = new StateGraph({}); export const make = (g) => g; export function other({ g }) { return g; }`,
  ],
  [
    'a comment and a text',
    `${IMPORT} // export const graph = new StateGraph({});\nexport const text = 'export const graph = new StateGraph({})';`,
  ],
  ['a name that no definition can hold', `${IMPORT} const g = new StateGraph({}); export { g as 'a graph' };`],
  [
    'a circle',
    `${IMPORT} export const a = b, b = a; export function f() { return g(); } export function g() { return f(); }`,
  ],
  [
    'a declaration',
    `import { CompiledGraph, StateGraph } from '@langchain/langgraph'; export declare const graph: StateGraph; export declare function make(): StateGraph;`,
  ],
])('%s is no agent', (_, source) => {
  expect(findAgents('agent.ts', source)).toEqual([]);
});

test('a function that leads to itself and to a graph is an agent', () => {
  const source = `${IMPORT} export function make(n) { return n > 0 ? make(n - 1) : new StateGraph({}); }`;
  expect(findAgents('agent.ts', source)).toEqual([{ framework: 'LANGGRAPH', variableName: 'make' }]);
});

test('a CommonJS module that is an agent has no export to name it by', () => {
  expect(findAgents('agent.cjs', `${COMMON} module.exports = made;`)).toEqual([]);
});

test('what cannot be parsed throws', () => {
  expect(() => findAgents('agent.ts', `${IMPORT} export const graph = new StateGraph(`)).toThrow(SyntaxError);
  expect(() => findAgents('agent.js', `${IMPORT} export const graph: number = 1;`)).toThrow(SyntaxError);
});
