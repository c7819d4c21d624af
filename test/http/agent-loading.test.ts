import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ECHO, SCRIPTED_MODEL } from '../support/agents.ts';
import { createTestApp, type TestApp, tempFolder, writeFiles } from '../support/app.ts';
import { runEvents, runInput, textOf } from '../support/runs.ts';

/** Text only exceptions of agent code hold; nothing may show it. */
const SECRET = 'planted-sk-12345';

interface Health {
  status: string;
  agent_ready: boolean;
  agent_name: string | null;
  reason?: string;
}

async function health({ app }: Pick<TestApp, 'app'>): Promise<Health> {
  const response = await app.inject('/health');
  expect(response.statusCode).toBe(200);
  return response.json();
}

const GET_ROUTES = [
  '/agent/capabilities',
  '/agent/config',
  '/agent/graph',
  '/agent/graph/mermaid',
  '/agent/graph/ascii',
  '/agent/sessions',
  '/agent/sessions/some-thread',
];

/** Shows that every agent route answers 503 with this message. */
async function expectNotReady({ app, root }: TestApp, message: string): Promise<void> {
  const chat = { session_id: 's', query: 'q' };
  const answers = [
    ...(await Promise.all(GET_ROUTES.map((url) => app.inject(url)))),
    await app.inject({ method: 'POST', url: '/agent/run', payload: runInput('hi') }),
    await app.inject({ method: 'POST', url: '/agent/clientkit/stream', payload: runInput('hi') }),
    await app.inject({ method: 'POST', url: '/agent/invoke', payload: chat }),
    await app.inject({ method: 'POST', url: '/agent/stream', payload: chat }),
  ];
  for (const response of answers) {
    expect(response.statusCode).toBe(503);
    expect(response.headers['content-type']).toMatch(/^application\/json/);
    expect(response.json()).toEqual({ detail: { error: { code: 'agent_not_ready', message } } });
    expect(response.body).not.toContain(SECRET);
    expect(response.body).not.toContain(root);
  }
}

/** Boots with an agent that cannot be loaded and gives the reason, seen on /health and on every agent route. */
async function reasonFor(
  agent: string,
  files: Record<string, string> = {},
  prepare?: (root: string) => void,
): Promise<string> {
  const root = tempFolder(files);
  prepare?.(root);
  const server = await createTestApp({ root, agent });
  const { reason = '', ...rest } = await health(server);
  expect(rest).toMatchObject({ status: 'degraded', agent_ready: false, agent_name: null });
  expect(reason).not.toContain(root);
  expect(reason).not.toContain(SECRET);
  expect(reason).not.toContain('node_modules');
  expect(reason).toMatch(/\.$/);
  expect((await server.app.inject('/health?strict=1')).statusCode).toBe(503);
  await expectNotReady(server, reason);
  return reason;
}

test('without any configuration the server is degraded, gives no reason, and says so on every agent route', async () => {
  const server = await createTestApp();
  expect(await health(server)).toEqual({
    status: 'degraded',
    service: 'service-agent-engine',
    version: expect.stringMatching(/^\d+\.\d+\.\d+/),
    agent_ready: false,
    agent_name: null,
  });
  expect((await server.app.inject('/health?strict=1')).statusCode).toBe(503);
  const response = await server.app.inject('/agent/config');
  const { message } = (response.json() as { detail: { error: { message: string } } }).detail.error;
  expect(message).toMatch(/configured/);
  await expectNotReady(server, message);
});

test('a missing file', async () => {
  expect(await reasonFor('nope.ts')).toBe('Agent module nope.ts does not exist.');
});

test('a directory', async () => {
  const reason = await reasonFor('agents', {}, (root) => mkdirSync(join(root, 'agents')));
  expect(reason).toBe('Agent module agents is not a file.');
});

test('a Python agent', async () => {
  const reason = await reasonFor('agent.py:graph', { 'agent.py': 'graph = 1' });
  expect(reason).toMatch(/agent\.py.*Python.*JavaScript and TypeScript/);
});

test.each(['agent.txt', 'agent', 'agent.json', 'agent.tsx'])('a file of a wrong kind: %s', async (name) => {
  expect(await reasonFor(name, { [name]: '{}' })).toMatch(
    new RegExp(`${name} must be a \\.ts, \\.mts, \\.js or \\.mjs`),
  );
});

test('an export that is not there: the others are listed', async () => {
  const reason = await reasonFor('agent.ts:graph', { 'agent.ts': 'export const flow = 1; export const other = 2;' });
  expect(reason).toMatch(/agent\.ts has no export named graph\. It exports: flow, other\./);
  expect(await reasonFor('agent.ts:graph', { 'agent.ts': 'const flow = 1;' })).toMatch(/exports nothing/);
});

test('several agents and none named', async () => {
  const two = ECHO.replace('const graph', 'const first').concat('export const second = first.compile();');
  const reason = await reasonFor('agent.ts', { 'agent.ts': two });
  expect(reason).toMatch(/several agents/);
  expect(reason).toContain('agent.ts:first');
  expect(reason).toContain('agent.ts:second');
});

test('no agent among the exports', async () => {
  expect(await reasonFor('agent.ts', { 'agent.ts': 'export const settings = {};' })).toMatch(/exports no agent/);
  expect(await reasonFor('agent.ts', { 'agent.ts': '' })).toMatch(/exports no agent/);
});

test('a syntax error is named with its line', async () => {
  const reason = await reasonFor('agent.ts', { 'agent.ts': 'const a = 1;\n\nexport const graph = new (;\n' });
  expect(reason).toMatch(/agent\.ts.*line 3/);
  expect(reason).toMatch(/[Ss]yntax/);
});

test('a syntax error in a helper names the helper', async () => {
  const reason = await reasonFor('agent.ts', {
    'agent.ts': "import { x } from './helper.ts';\nexport const graph = x;",
    'helper.ts': 'export const y = 1;\nexport const x = (;\n',
  });
  expect(reason).toMatch(/helper\.ts/);
  expect(reason).toMatch(/line 2/);
});

test.each([
  ['an error', `throw new TypeError('${SECRET}');`, /TypeError/],
  ['a string', `throw '${SECRET}';`, /agent\.ts/],
  ['nothing', 'throw undefined;', /agent\.ts/],
])('code that throws %s at the top level is named with its line, not with its text', async (_name, code, kind) => {
  const reason = await reasonFor('agent.ts', { 'agent.ts': `const a = 1;\n\n\n${code}\nexport const graph = a;` });
  expect(reason).toMatch(/agent\.ts/);
  expect(reason).toMatch(kind);
  if (code.includes('TypeError')) expect(reason).toMatch(/line 4/);
});

test('the exception itself is in the log', async () => {
  const files = { 'agent.ts': `throw new Error('${SECRET}');` };
  const { logs } = await createTestApp({ files, agent: 'agent.ts' });
  expect(JSON.stringify(logs)).toContain(SECRET);
});

test.each([
  ['left-pad-that-is-not', 'left-pad-that-is-not'],
  ['@nobody/nothing', '@nobody/nothing'],
  ['@nobody/nothing/deep/path.js', '@nobody/nothing'],
])('a package that is not installed: %s', async (id, name) => {
  const reason = await reasonFor('agent.ts', { 'agent.ts': `import x from '${id}';\nexport const graph = x;` });
  expect(reason).toContain(`npm install ${name}"`);
});

test('a package that is not installed, imported by a helper', async () => {
  const reason = await reasonFor('agent.ts', {
    'agent.ts': "import { x } from './helper.ts';\nexport const graph = x;",
    'helper.ts': "import x from 'left-pad-that-is-not';\nexport { x };",
  });
  expect(reason).toContain('npm install left-pad-that-is-not');
});

test('a relative file that is not there', async () => {
  const reason = await reasonFor('agent.ts', {
    'agent.ts': "import { x } from './tools/nope.ts';\nexport const graph = x;",
  });
  expect(reason).toMatch(/agent\.ts.*imports.*nope\.ts.*does not exist/);
});

test('a name a package does not export', async () => {
  const reason = await reasonFor('agent.ts', {
    'agent.ts': "import { NoSuchThing } from '@langchain/langgraph';\nexport const graph = new NoSuchThing();",
  });
  expect(reason).toMatch(/agent\.ts/);
  expect(reason).toMatch(/line 2|NoSuchThing/);
});

test.each([
  ['throws', `export function build() { throw new Error('${SECRET}'); }`],
  ['rejects', `export async function build() { await null; throw new Error('${SECRET}'); }`],
])('a factory that %s is named with its line', async (_name, code) => {
  const reason = await reasonFor('agent.ts', { 'agent.ts': `const a = 1;\n${code}` });
  expect(reason).toMatch(/agent\.ts/);
  expect(reason).toContain('build');
  expect(reason).toMatch(/line 2/);
});

test.each([
  ['a factory that returns nothing', 'export function graph() {}'],
  ['a factory that returns a string', "export const graph = () => 'hello';"],
  ['a plain object', 'export const graph = { nodes: [] };'],
  ['a number', 'export const graph = 42;'],
  ['null', 'export const graph = null;'],
  ['undefined', 'export const graph = undefined;'],
  ['a class', 'export class graph {}'],
  ['a proxy of everything', 'export const graph = new Proxy({}, { get: () => () => 1 });'],
])('an export that is no graph: %s', async (_name, code) => {
  const reason = await reasonFor('agent.ts:graph', { 'agent.ts': code });
  expect(reason).toMatch(/agent\.ts/);
});

test('an uncompiled graph with an edge to nowhere names the file', async () => {
  const code = ECHO.replace(".addEdge('echo', END)", ".addEdge('echo', 'nowhere')");
  expect(await reasonFor('agent.ts', { 'agent.ts': code })).toMatch(/agent\.ts|nowhere/);
});

test('files with CRLF and a byte order mark load', async () => {
  const files = { 'agent.ts': `\uFEFF${ECHO.replaceAll('\n', '\r\n')}` };
  const { app } = await createTestApp({ files, agent: 'agent.ts' });
  expect(textOf(await runEvents(app, runInput('hi')))).toBe('you said: hi');
});

const BODY = `
  .addNode('echo', (state) => ({ messages: [new AIMessage('you said: ' + state.messages.at(-1).content)] }))
  .addEdge(START, 'echo').addEdge('echo', END)`;
const IMPORTS = `
import { END, MessagesAnnotation, START, StateGraph, MemorySaver } from '@langchain/langgraph';
import { AIMessage } from '@langchain/core/messages';`;

test.each([
  ['an uncompiled graph', 'agent.ts', `${IMPORTS} export const graph = new StateGraph(MessagesAnnotation)${BODY};`],
  [
    'a compiled graph',
    'agent.ts',
    `${IMPORTS} export const graph = new StateGraph(MessagesAnnotation)${BODY}.compile();`,
  ],
  ['a default export', 'agent.ts', `${IMPORTS} export default new StateGraph(MessagesAnnotation)${BODY};`],
  [
    'the same graph by name and as default',
    'agent.ts',
    `${IMPORTS} export const graph = new StateGraph(MessagesAnnotation)${BODY}; export default graph;`,
  ],
  ['a factory', 'agent.ts', `${IMPORTS} export const make = () => new StateGraph(MessagesAnnotation)${BODY};`],
  [
    'an async factory that compiles with our checkpointer',
    'agent.ts',
    `${IMPORTS} export default async ({ checkpointer }) => new StateGraph(MessagesAnnotation)${BODY}.compile({ checkpointer });`,
  ],
  ['JavaScript', 'agent.js', `${IMPORTS} export const graph = new StateGraph(MessagesAnnotation)${BODY};`],
  ['an .mjs file', 'agent.mjs', `${IMPORTS} export const graph = new StateGraph(MessagesAnnotation)${BODY};`],
  ['an .mts file', 'agent.mts', `${IMPORTS} export const graph: object = new StateGraph(MessagesAnnotation)${BODY};`],
])('%s runs and keeps its conversation', async (_name, file, code) => {
  const server = await createTestApp({ files: { [file]: code }, agent: file });
  expect(await health(server)).toMatchObject({ status: 'ok', agent_ready: true, agent_name: 'agent' });
  const input = runInput('hi');
  expect(textOf(await runEvents(server.app, input))).toBe('you said: hi');
  const detail = await server.app.inject(`/agent/sessions/${input.threadId}`);
  expect((detail.json() as { messages: unknown[] }).messages).toHaveLength(2);
});

test('a CommonJS agent runs, or is told to use import', async () => {
  const code = `
const { END, MessagesAnnotation, START, StateGraph } = require('@langchain/langgraph');
const { AIMessage } = require('@langchain/core/messages');
exports.graph = new StateGraph(MessagesAnnotation)${BODY};`;
  const server = await createTestApp({ files: { 'agent.js': code }, agent: 'agent.js' });
  const { agent_ready, reason } = await health(server);
  if (agent_ready) expect(textOf(await runEvents(server.app, runInput('hi')))).toBe('you said: hi');
  else expect(reason).toMatch(/agent\.js.*import/);
});

test('what createAgent makes is an agent', async () => {
  const code = `
import { createAgent } from 'langchain';
import { ScriptedModel } from './scripted.ts';
export const agent = createAgent({ model: new ScriptedModel([['hello']]), tools: [] });`;
  const { app } = await createTestApp({
    files: { 'agent.ts': code, 'scripted.ts': SCRIPTED_MODEL },
    agent: 'agent.ts',
  });
  expect(textOf(await runEvents(app, runInput('hi')))).toBe('hello');
});

test('one of several agents can be named', async () => {
  const code = `${IMPORTS}
const make = (word: string) => new StateGraph(MessagesAnnotation)
  .addNode('echo', () => ({ messages: [new AIMessage(word)] })).addEdge(START, 'echo').addEdge('echo', END);
export const first = make('one');
export const second = make('two');
export const $third = make('three');`;
  for (const [name, word] of [
    ['first', 'one'],
    ['second', 'two'],
    ['$third', 'three'],
  ] as const) {
    const { app } = await createTestApp({ files: { 'agent.ts': code }, agent: `agent.ts:${name}` });
    expect(textOf(await runEvents(app, runInput('hi')))).toBe(word);
  }
});

test('TypeScript that is more than types, and imports without an extension, work', async () => {
  const { app, root } = await createTestApp({ noBoot: true, agent: 'src/agent.ts' });
  mkdirSync(join(root, 'src/lib/words'), { recursive: true });
  writeFileSync(
    join(root, 'src/agent.ts'),
    `${IMPORTS}
import { greet, type Greeting } from './lib/greet';
import { words } from './lib/words';
import { Loudness } from './lib/greet.js';
import data from './data.json';
enum Mood { Calm = 'calm', Wild = 'wild' }
namespace Numbers { export const three = 3; }
class Speaker { constructor(private readonly word: string, public loud = Loudness.Quiet) {} say(): Greeting { return greet(this.word); } }
const here = import.meta.url.startsWith('file:') && typeof import.meta.dirname;
const text = [new Speaker('hi').say(), Mood.Wild, Numbers.three, words.join('+'), Loudness[Loudness.Loud], data.n, here] satisfies unknown[];
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('echo', () => ({ messages: [new AIMessage(text.join(' '))] }))
  .addEdge(START, 'echo').addEdge('echo', END);`,
  );
  writeFileSync(
    join(root, 'src/lib/greet.ts'),
    "export type Greeting = string;\nexport enum Loudness { Quiet, Loud }\nexport function greet(word: string): Greeting { return 'greet:' + word; }",
  );
  writeFileSync(join(root, 'src/lib/words/index.ts'), "export const words: readonly string[] = ['a', 'b'] as const;");
  writeFileSync(join(root, 'src/data.json'), '{"n":7}');
  await app.services.configurator.boot();
  expect(textOf(await runEvents(app, runInput('hi')))).toBe('greet:hi wild 3 a+b Loud 7 string');
});

test('edits of helper files, JSON and deeper helpers are seen after a reload', async () => {
  const files = {
    'agent.ts': `${IMPORTS}
import { word } from './helper';
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('echo', () => ({ messages: [new AIMessage(word)] })).addEdge(START, 'echo').addEdge('echo', END);`,
    'helper.ts':
      "import { deep } from './deep.ts';\nimport data from './data.json';\nexport const word = 'a' + deep + data.n;",
    'deep.ts': "export const deep = 'b';",
    'data.json': '{"n":1}',
  };
  const { app, root } = await createTestApp({ files, agent: 'agent.ts' });
  const say = async (): Promise<string> => textOf(await runEvents(app, runInput('hi')));
  const reload = async (): Promise<void> => {
    const response = await app.inject({ method: 'POST', url: '/reload' });
    expect(response.statusCode).toBe(200);
  };
  expect(await say()).toBe('ab1');
  writeFiles(root, { 'deep.ts': "export const deep = 'c';" });
  expect(await say()).toBe('ab1');
  await reload();
  expect(await say()).toBe('ac1');
  writeFiles(root, { 'data.json': '{"n":2}' });
  await reload();
  expect(await say()).toBe('ac2');
  // Same size and, possibly, same time: only the text tells the difference.
  writeFiles(root, { 'deep.ts': "export const deep = 'd';" });
  await reload();
  expect(await say()).toBe('ad2');
});

test('author helpers resolve in any folder and answer for the run', async () => {
  const code = `${IMPORTS}
import { currentUser, currentThread, emitCustom, emitState, clientTools, clientContext } from 'agent-engine-server/agent';
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('echo', async () => {
    await new Promise((resolve) => setImmediate(resolve));
    emitCustom('note', { deep: [1] });
    emitState({ 'a/b~c': 1 });
    const said = [currentUser(), currentThread(), clientTools().map((tool) => tool.name), clientContext().map((item) => item.value)];
    return { messages: [new AIMessage(JSON.stringify(said))] };
  })
  .addEdge(START, 'echo').addEdge('echo', END);
export const outside = currentUser();`;
  const { app } = await createTestApp({ files: { 'agent.ts': code }, agent: 'agent.ts:graph' });
  const input = runInput('hi', {
    tools: [{ name: 'pick', description: 'picks', parameters: {} }],
    context: [{ description: 'locale', value: 'fr-FR' }],
  });
  const events = await runEvents(app, input, { 'x-service-user-id': 'ana' });
  expect(JSON.parse(textOf(events))).toEqual(['ana', input.threadId, ['pick'], ['fr-FR']]);
  expect(events).toContainEqual({ type: 'CUSTOM', name: 'note', value: { deep: [1] } });
  expect(events).toContainEqual({ type: 'STATE_DELTA', delta: [{ op: 'add', path: '/a~1b~0c', value: 1 }] });
  const anonymous = await runEvents(app, runInput('hi'));
  expect((JSON.parse(textOf(anonymous)) as unknown[])[0]).toBe('standalone');
});

test('runs side by side do not see each other’s user', async () => {
  const code = `${IMPORTS}
import { currentUser } from 'agent-engine-server/agent';
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('echo', async () => {
    const before = currentUser();
    for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    return { messages: [new AIMessage(before + ' ' + currentUser())] };
  })
  .addEdge(START, 'echo').addEdge('echo', END);`;
  const { app } = await createTestApp({ files: { 'agent.ts': code }, agent: 'agent.ts' });
  const users = Array.from({ length: 20 }, (_, index) => `user-${index}`);
  const said = await Promise.all(
    users.map(async (user) => textOf(await runEvents(app, runInput('hi'), { 'x-service-user-id': user }))),
  );
  expect(said).toEqual(users.map((user) => `${user} ${user}`));
});

test('a factory receives name, settings, prompts and checkpointer', async () => {
  const code = `${IMPORTS}
export default (context) => {
  const said = [
    context.name, context.settings, context.tools, typeof context.checkpointer?.put,
    context.prompts.get('greet')?.content, context.prompts.get('greet', { version: 1 })?.content,
    context.prompts.get('greet', { tag: 'old' })?.version, context.prompts.get('none') ?? null,
  ];
  return new StateGraph(MessagesAnnotation)
    .addNode('echo', () => ({ messages: [new AIMessage(JSON.stringify(said))] }))
    .addEdge(START, 'echo').addEdge('echo', END);
};`;
  const config = `
agent:
  type: LANGGRAPH
  config: { name: desk, graph_definition: agent.ts, checkpointer: { type: memory }, settings: { prompt_id: mine, deep: { a: [1] } } }
prompts:
  - { prompt_id: greet, version: 1, content: "Hello", tags: [old] }
  - { promptId: greet, version: 2, content: "Hi {{ who }}" }
`;
  const { app } = await createTestApp({ files: { 'agent.ts': code, 'config.yaml': config } });
  expect(JSON.parse(textOf(await runEvents(app, runInput('hi'))))).toEqual([
    'desk',
    { prompt_id: 'mine', deep: { a: [1] } },
    [],
    'function',
    'Hi {{ who }}',
    'Hello',
    1,
    null,
  ]);
});
