import { randomUUID } from 'node:crypto';
import { expect, onTestFinished, test, vi } from 'vitest';
import { currentRunScope } from '../../src/engine/run-scope.ts';
import { withAgent } from '../admin/support.ts';
import { createGate } from '../support/gates.ts';
import { runEvents, runInput, textOf } from '../support/runs.ts';
import { openRun } from '../support/streams.ts';

/** Says the greeting, waits at the gate the message names, and says it again. */
const GREETER = `
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { AIMessage } from '@langchain/core/messages';
import { emitCustom, getPrompt } from 'agent-engine-server/agent';
const greet = () => getPrompt('greeting')?.format({ user: 'Ann' }) ?? 'no greeting';
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('work', async (state) => {
    const before = greet();
    emitCustom('working', before);
    await globalThis.testGates.pass(String(state.messages.at(-1).content));
    return { messages: [new AIMessage(before + ' / ' + greet())] };
  })
  .addEdge(START, 'work')
  .addEdge('work', END);
`;

test('a new version is live for the next run, and a run goes on with what it began with', async () => {
  const { app, admin, listen } = await withAgent({ files: { 'agent.ts': GREETER } });
  expect(textOf(await runEvents(app, runInput('hi')))).toBe('no greeting / no greeting');
  const first = await admin.post('/prompts', { promptId: 'greeting', content: 'Hello {{ user }}' });
  expect(first.body.data).toMatchObject({ version: 1, content: 'Hello {{ user }}' });

  const gate = createGate();
  const running = await openRun(await listen(), runInput(gate.name));
  await running.event(({ name }) => name === 'working');
  expect((await admin.post('/prompts', { promptId: 'greeting', content: 'Hi {{ user }}!' })).body.data.version).toBe(2);
  expect(textOf(await runEvents(app, runInput('hi')))).toBe('Hi Ann! / Hi Ann!');
  gate.open();
  expect(textOf(await running.all())).toBe('Hello Ann / Hello Ann');

  await admin.del(`/prompts/${(await admin.get('/prompts')).body[1].id}`);
  expect(textOf(await runEvents(app, runInput('hi')))).toBe('Hello Ann / Hello Ann');
});

/** Answers with the value of the expression \`source\` in a run. */
const asking = (source: string, before = ''): string => `
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { AIMessage } from '@langchain/core/messages';
import { getPrompt, PromptError } from 'agent-engine-server/agent';
${before}
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('work', async () => ({ messages: [new AIMessage(JSON.stringify(${source}) ?? 'undefined')] }))
  .addEdge(START, 'work')
  .addEdge('work', END);
`;

const THREE = `
agent: { type: LANGGRAPH, config: { name: a, graph_definition: './agent.ts:graph' } }
prompts:
  - { prompt_id: greet, version: 2, content: 'two {{ user }}', tags: [stable, old] }
  - { prompt_id: greet, version: 10, content: 'ten {{ user }}', tags: [draft] }
  - { promptId: greet, version: 3, content: 'three {{ user }}', tags: [stable] }
`;

test.each([
  ["getPrompt('greet').version", 10],
  ["getPrompt('greet', { version: 2 }).format({ user: 'A' })", 'two A'],
  ["getPrompt('greet', { tag: 'stable' }).version", 3],
  ["getPrompt('greet', { tag: 'old' }).version", 2],
  ["getPrompt('greet', { version: 2, tag: 'stable' }).version", 2],
  ["getPrompt('greet', { version: 3, tag: 'old' }) ?? 'none'", 'none'],
  ["getPrompt('greet', { version: 4 }) ?? 'none'", 'none'],
  ["getPrompt('greet', { tag: 'no' }) ?? 'none'", 'none'],
  ["getPrompt('other') ?? 'none'", 'none'],
  ["getPrompt('constructor') ?? 'none'", 'none'],
  [
    "getPrompt('greet')",
    { promptId: 'greet', version: 10, content: 'ten {{ user }}', tags: ['draft'], variables: ['user'] },
  ],
])('%s', async (source, expected) => {
  const { app } = await withAgent({
    agent: undefined as never,
    files: { 'agent.ts': asking(source), 'config.yaml': THREE },
  });
  expect(JSON.parse(textOf(await runEvents(app, runInput('hi'))))).toEqual(expected);
});

test('an agent without prompts finds none', async () => {
  const { app } = await withAgent({ files: { 'agent.ts': asking("getPrompt('greet') ?? 'none'") } });
  expect(textOf(await runEvents(app, runInput('hi')))).toBe('"none"');
});

test('a run knows which versions it has used, those built into the agent included', async () => {
  const uses: Record<string, unknown> = {};
  vi.stubGlobal('noteUses', (place: string) => {
    uses[place] = structuredClone(currentRunScope()?.promptsUsed);
  });
  onTestFinished(() => void vi.unstubAllGlobals());
  const before = `
const builtIn = getPrompt('greet', { tag: 'old' }).format({ user: 'module' });
const loaded = getPrompt('greet', { version: 3 });
const onlyLookedAt = getPrompt('greet');
`;
  const steps = `[
    globalThis.noteUses('at first'),
    loaded.format({ user: 'run' }), loaded.format({ user: 'again' }),
    globalThis.noteUses('rendered'),
    await Promise.resolve().then(() => getPrompt('greet').content),
    globalThis.noteUses('asked for'),
  ] && 'done'`;
  const files = { 'agent.ts': asking(steps, before), 'config.yaml': THREE };
  const { app } = await withAgent({ agent: undefined as never, files });
  const [two, three, ten] = [2, 3, 10].map((version) => ({ promptId: 'greet', version }));
  for (const threadId of [randomUUID(), randomUUID()]) {
    expect(textOf(await runEvents(app, runInput('hi', { threadId })))).toBe('"done"');
    expect(uses).toEqual({ 'at first': [two], rendered: [two, three], 'asked for': [two, three, ten] });
  }
});

test('a variable that is missing ends the run, and only the log says which', async () => {
  const { app, admin, logs } = await withAgent({
    files: { 'agent.ts': asking("getPrompt('greeting').format({ other: 'secret value' })") },
  });
  await admin.post('/prompts', { promptId: 'greeting', content: 'Hi' });
  await admin.post('/prompts', { promptId: 'greeting', content: 'Hello {{ user }}' });
  const events = await runEvents(app, runInput('hi'));
  expect(events.at(-1)).toEqual({
    type: 'RUN_ERROR',
    code: 'FRAMEWORK_ERROR',
    message: 'The agent could not complete this run.',
  });
  expect(JSON.stringify(events)).not.toContain('greeting');
  const failed = logs.find(({ msg }) => msg === 'a run failed');
  expect(failed).toMatchObject({
    err: {
      type: 'PromptError',
      message: 'Prompt greeting v2 needs a value for "user"',
      promptId: 'greeting',
      version: 2,
    },
  });
  expect(JSON.stringify(logs)).not.toContain('secret value');
});

test('an agent can catch it', async () => {
  const source = `(() => { try { getPrompt('greet').format(); } catch (error) {
    return [error instanceof PromptError, error.promptId, error.version, error.message];
  } })()`;
  const files = { 'agent.ts': asking(source), 'config.yaml': THREE };
  const { app } = await withAgent({ agent: undefined as never, files });
  expect(JSON.parse(textOf(await runEvents(app, runInput('hi'))))).toEqual([
    true,
    'greet',
    10,
    'Prompt greet v10 needs a value for "user"',
  ]);
});
