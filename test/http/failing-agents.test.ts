import { expect, test } from 'vitest';
import { modelAgent, SCRIPTED_MODEL } from '../support/agents.ts';
import { createTestApp, type TestApp, type TestAppOptions } from '../support/app.ts';
import { createGate } from '../support/gates.ts';
import { ofType, parseEvents, runEvents, runInput, textOf, type WireEvent } from '../support/runs.ts';
import { terminal } from '../support/streams.ts';

/** Text only the agent's exceptions hold. No body may show it. */
const SECRET = 'sk-planted-51HxQ';

/** A one-node graph; `work` is the node's source, told what to do by the last message. */
function nodeAgent(work: string, top = ''): string {
  return `
import { END, MessagesAnnotation, START, StateGraph, Annotation, interrupt } from '@langchain/langgraph';
import { AIMessage, ToolMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { z } from 'zod';
import * as helpers from 'agent-engine-server/agent';
const Base = MessagesAnnotation;
const fine = () => ({ messages: [new AIMessage('fine')] });
const asked = (state) => String(state.messages.at(-1).content);
${top}
export const graph = new StateGraph(typeof State === 'undefined' ? Base : State)
  .addNode('work', ${work})
  .addEdge(START, 'work')
  .addEdge('work', END);
`;
}

async function serve(agent: string, options: TestAppOptions = {}): Promise<TestApp> {
  return createTestApp({
    ...options,
    files: { 'scripted.ts': SCRIPTED_MODEL, 'agent.ts': agent, ...options.files },
    agent: 'agent.ts',
  });
}

/** Runs once where it goes wrong and once more on the same thread where it must not; looks into both bodies. */
async function failThenWork({ app, root }: TestApp, wrong = 'go wrong'): Promise<WireEvent[]> {
  const input = runInput(wrong);
  const response = await app.inject({ method: 'POST', url: '/agent/run', payload: input });
  expect(response.statusCode).toBe(200);
  expectNoLeak(response.body, root);
  const events = parseEvents(response.body);
  expect(events[0]?.type).toBe('RUN_STARTED');
  expect(terminal(events)).toHaveLength(1);
  expect(terminal(events)[0]).toBe(events.at(-1));
  const next = await runEvents(app, runInput('again', { threadId: input.threadId }));
  expect(next.at(-1)).toMatchObject({ type: 'RUN_FINISHED' });
  expect(textOf(next)).toContain('fine');
  return events;
}

function expectNoLeak(body: string, root: string): void {
  expect(body).not.toContain(SECRET);
  expect(body).not.toContain(root);
  expect(body).not.toMatch(/node_modules|\.ts:\d|at async/);
}

test('a model that throws in mid-token ends the run with FRAMEWORK_ERROR after what was said', async () => {
  const server = await serve(modelAgent(`[['Hel', 'lo', new Error('${SECRET}')], ['fine']]`));
  const events = await failThenWork(server);
  expect(textOf(events)).toBe('Hello');
  expect(events.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'FRAMEWORK_ERROR' });
  expect(events.at(-1)?.message).not.toBe('');
  // What the client may not see is in the log, under the run.
  expect(JSON.stringify(server.logs)).toContain(SECRET);
});

test('a model that throws before its first token', async () => {
  const events = await failThenWork(await serve(modelAgent(`[[new Error('${SECRET}')], ['fine']]`)));
  expect(events.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'FRAMEWORK_ERROR' });
});

test.each([
  ['an Error', `throw new Error('${SECRET}')`],
  ['a string', `throw '${SECRET}'`],
  ['undefined', 'throw undefined'],
  ['null', 'throw null'],
  ['an object with a hostile message', `throw { get message() { throw new Error('${SECRET}'); } }`],
  ['a frozen error', `throw Object.freeze(new Error('${SECRET}'))`],
])('a node that throws %s', async (_name, statement) => {
  const work = `(state) => { if (asked(state) === 'go wrong') { ${statement}; } return fine(); }`;
  const events = await failThenWork(await serve(nodeAgent(work)));
  expect(events.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'FRAMEWORK_ERROR' });
});

const TOOL_AGENT = (body: string) => `
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { ToolNode } from '@langchain/langgraph/prebuilt';
import { AIMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { z } from 'zod';
import { ScriptedModel, call } from './scripted.ts';
const break_it = tool(async () => { ${body} }, { name: 'break_it', description: 'breaks', schema: z.object({}) });
const model = new ScriptedModel([[call(0, 'c1', 'break_it', '{}')], ['fine']]);
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('model', async (state) => ({ messages: [await model.invoke(state.messages)] }))
  .addNode('tools', HANDLING)
  .addEdge(START, 'model')
  .addConditionalEdges('model', (state) => (state.messages.at(-1).tool_calls?.length ? 'tools' : END))
  .addEdge('tools', 'model');
`;

test('a tool that throws where the graph handles it: the call gets an error result and the run goes on', async () => {
  const agent = TOOL_AGENT(`throw new Error('no such file')`).replace('HANDLING', 'new ToolNode([break_it])');
  const { app } = await serve(agent);
  const events = await runEvents(app, runInput('use it'));
  expect(ofType(events, 'TOOL_CALL_RESULT')).toHaveLength(1);
  expect(ofType(events, 'TOOL_CALL_RESULT')[0]).toMatchObject({ toolCallId: 'c1' });
  expect(textOf(events)).toBe('fine');
  expect(events.at(-1)?.type).toBe('RUN_FINISHED');
});

test('a tool that throws where the graph does not handle it ends the run', async () => {
  const agent = TOOL_AGENT(`throw new Error('${SECRET}')`).replace(
    'HANDLING',
    'new ToolNode([break_it], { handleToolErrors: false })',
  );
  const { app, root } = await serve(agent);
  const response = await app.inject({ method: 'POST', url: '/agent/run', payload: runInput('use it') });
  expectNoLeak(response.body, root);
  expect(parseEvents(response.body).at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'FRAMEWORK_ERROR' });
  const next = await runEvents(app, runInput('again'));
  expect(textOf(next)).toBe('fine');
});

test.each([
  ['a cycle', 'const loop = {}; loop.self = loop; return loop;'],
  ['a bigint', 'return { n: 10n };'],
  ['a function', 'return () => 1;'],
  ['a toJSON that throws', `return { toJSON() { throw new Error('${SECRET}'); } };`],
  ['undefined', 'return undefined;'],
])('a tool result that holds %s becomes text', async (_name, body) => {
  const agent = TOOL_AGENT(body).replace('HANDLING', 'new ToolNode([break_it])');
  const { app, root } = await serve(agent);
  const response = await app.inject({ method: 'POST', url: '/agent/run', payload: runInput('use it') });
  expectNoLeak(response.body, root);
  const events = parseEvents(response.body);
  const [result] = ofType(events, 'TOOL_CALL_RESULT');
  expect(result).toMatchObject({ toolCallId: 'c1', role: 'tool' });
  expect(result?.content).toBeTypeOf('string');
  expect(terminal(events)).toHaveLength(1);
  const next = await runEvents(app, runInput('again'));
  expect(terminal(next)).toHaveLength(1);
});

const STATE_WITH = 'const State = Annotation.Root({ ...MessagesAnnotation.spec, extra: Annotation() });';

test.each([
  ['a bigint', '10n'],
  ['a toJSON that throws', `{ toJSON() { throw new Error('${SECRET}'); } }`],
])('a state that holds %s ends the run with ENCODING_ERROR', async (_name, value) => {
  const work = `(state) => asked(state) === 'go wrong' ? { extra: ${value} } : { ...fine(), extra: null }`;
  // Without a checkpointer, since that would refuse such a state before us.
  const server = await serve(nodeAgent(work, STATE_WITH), { defaultCheckpointer: undefined });
  const events = await failThenWork(server);
  expect(events.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'ENCODING_ERROR' });
});

test('a state that holds a cycle ends with one terminal event', async () => {
  const work = `(state) => {
    const loop = {}; loop.self = loop;
    return asked(state) === 'go wrong' ? { extra: loop } : { ...fine(), extra: null };
  }`;
  const server = await serve(nodeAgent(work, STATE_WITH), { defaultCheckpointer: undefined });
  const events = await failThenWork(server);
  expect(events.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'ENCODING_ERROR' });
});

test.each([
  ['emitCustom with a bigint', `helpers.emitCustom('x', 10n)`],
  ['emitCustom with a cycle', `const loop = {}; loop.self = loop; helpers.emitCustom('x', loop)`],
  ['emitState with a bigint', `helpers.emitState({ x: 10n })`],
])('%s ends the run with ENCODING_ERROR', async (_name, statement) => {
  const work = `(state) => { if (asked(state) === 'go wrong') { ${statement}; } return fine(); }`;
  const events = await failThenWork(await serve(nodeAgent(work)));
  expect(events.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'ENCODING_ERROR' });
});

test('an interrupt whose value cannot be encoded still ends the run with one terminal event', async () => {
  // Encodes once, which is when LangGraph looks at it, and never again.
  const work = `() => {
    let looks = 0;
    const amount = { toJSON() { looks += 1; if (looks > 1) throw new Error('${SECRET}'); return 1; } };
    return { messages: [new AIMessage(String(interrupt({ message: 'sure?', amount })))] };
  }`;
  const { app } = await serve(nodeAgent(work));
  const events = await runEvents(app, runInput('ask me'));
  expect(terminal(events)).toHaveLength(1);
  const other = await runEvents(app, runInput('ask me too'));
  expect(terminal(other)).toHaveLength(1);
});

test('a structured result that cannot be encoded still ends the run with one terminal event', async () => {
  const agent = `
import { Annotation, END, START, StateGraph } from '@langchain/langgraph';
const In = Annotation.Root({ question: Annotation() });
const Out = Annotation.Root({ answer: Annotation() });
const State = Annotation.Root({ ...In.spec, ...Out.spec });
export const graph = new StateGraph({ stateSchema: State, input: In, output: Out })
  .addNode('work', (state) => ({ answer: state.question === 'go wrong' ? 10n : 1 }))
  .addEdge(START, 'work').addEdge('work', END);
`;
  const { app } = await serve(agent, { defaultCheckpointer: undefined });
  const wrong = await runEvents(app, runInput('{"question":"go wrong"}'));
  expect(terminal(wrong)).toHaveLength(1);
  expect(wrong.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'ENCODING_ERROR' });
  const right = await runEvents(app, runInput('{"question":"fine"}'));
  expect(right.at(-1)).toMatchObject({ type: 'RUN_FINISHED', result: { answer: 1 } });
});

test('a graph that never ends is stopped by the recursion limit, in words', async () => {
  const agent = `
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { AIMessage } from '@langchain/core/messages';
const endless = (state) => state.messages.some((message) => message.content === 'again');
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('work', (state) => (endless(state) ? { messages: [new AIMessage('fine')] } : {}))
  .addEdge(START, 'work')
  .addConditionalEdges('work', (state) => (endless(state) ? END : 'work'));
`;
  const events = await failThenWork(await serve(agent));
  expect(events.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'FRAMEWORK_ERROR' });
  expect(events.at(-1)?.message).toMatch(/steps/);
});

test('a node that never resolves is stopped after SERVICE_RUN_TIMEOUT_SECONDS, and its thread is free again', async () => {
  const work = `(state) => asked(state) === 'go wrong' ? new Promise(() => {}) : fine()`;
  const startedAt = performance.now();
  const events = await failThenWork(await serve(nodeAgent(work), { env: { SERVICE_RUN_TIMEOUT_SECONDS: '1' } }));
  expect(events.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'EXECUTION_TIMEOUT' });
  const took = performance.now() - startedAt;
  expect(took).toBeGreaterThan(950);
  expect(took).toBeLessThan(6_000);
});

test('an agent that blocks its abort signal out is left behind at the timeout', async () => {
  // Swallows every abort and goes on; its late answer must reach nobody.
  const gate = createGate();
  const work = `async (state) => {
    if (asked(state) !== 'go wrong') return fine();
    for (;;) { try { await globalThis.testGates.pass('${gate.name}'); break; } catch {} }
    helpers.emitCustom('too late', 1);
    return fine();
  }`;
  const server = await serve(nodeAgent(work), { env: { SERVICE_RUN_TIMEOUT_SECONDS: '1' } });
  const events = await failThenWork(server);
  expect(events.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'EXECUTION_TIMEOUT' });
  gate.open();
  const next = await runEvents(server.app, runInput('again'));
  expect(next.filter(({ name }) => name === 'too late')).toEqual([]);
});

test('a run without a limit is not stopped', async () => {
  const gate = createGate();
  const work = `async () => { await globalThis.testGates.pass('${gate.name}'); return fine(); }`;
  const { app } = await serve(nodeAgent(work), { env: { SERVICE_RUN_TIMEOUT_SECONDS: '0' } });
  const running = runEvents(app, runInput('hi'));
  gate.open();
  expect(textOf(await running)).toBe('fine');
});

test('output after the end of a node is dropped, not an unhandled rejection', async () => {
  const work = `(state) => {
    const scope = helpers.currentThread();
    setTimeout(() => helpers.emitCustom('late', scope), 20);
    return fine();
  }`;
  const { app } = await serve(nodeAgent(work));
  const events = await runEvents(app, runInput('hi'));
  expect(events.at(-1)?.type).toBe('RUN_FINISHED');
  const next = await runEvents(app, runInput('hi'));
  expect(next.filter(({ name }) => name === 'late')).toEqual([]);
});

test('an agent that emits events out of order cannot break the stream', async () => {
  const work = `async (state, config) => {
    const { dispatchCustomEvent } = await import('@langchain/core/callbacks/dispatch');
    await dispatchCustomEvent('manually_emit_message', { message_id: 'm', message: 'one' }, config);
    await dispatchCustomEvent('manually_emit_message', { message_id: 'm', message: 'two' }, config);
    await dispatchCustomEvent('manually_emit_message', null, config);
    await dispatchCustomEvent('manually_emit_tool_call', 'nonsense', config);
    await dispatchCustomEvent('manually_emit_state', 42, config);
    return fine();
  }`;
  const { app } = await serve(nodeAgent(work));
  const events = await runEvents(app, runInput('hi'));
  expect(terminal(events)).toHaveLength(1);
  expect(events.at(-1)?.type).toBe('RUN_FINISHED');
});

test('a second run on a busy thread is THREAD_BUSY and does not disturb the first', async () => {
  const gate = createGate();
  const work = `async (state) => {
    await globalThis.testGates.pass(asked(state));
    return fine();
  }`;
  const { app } = await serve(nodeAgent(work));
  const input = runInput(gate.name);
  const first = runEvents(app, input);
  await expect.poll(() => gate.arrived).toBe(1);
  const second = await runEvents(app, runInput('me too', { threadId: input.threadId }));
  expect(second.map(({ type }) => type)).toEqual(['RUN_STARTED', 'RUN_ERROR']);
  expect(second[1]).toMatchObject({ code: 'THREAD_BUSY' });
  const elsewhere = await runEvents(app, runInput('another thread'));
  expect(elsewhere.at(-1)?.type).toBe('RUN_FINISHED');
  gate.open();
  expect((await first).at(-1)?.type).toBe('RUN_FINISHED');
  const third = await runEvents(app, runInput('now', { threadId: input.threadId }));
  expect(third.at(-1)?.type).toBe('RUN_FINISHED');
});
