import { expect, test } from 'vitest';
import { createTestApp, type TestAppOptions, writeFiles } from '../support/app.ts';
import { expectVerified, interruptsOf } from '../support/client.ts';
import { createGate, until } from '../support/gates.ts';
import { GRAPH_FILES, IMPORTS } from '../support/graphs.ts';
import { parseEvents, runInput } from '../support/runs.ts';
import { type OpenStream, openEvents, openRun } from '../support/streams.ts';
import { asksFirst, everything, PIECE, type Stops, twoSteps } from './agents.ts';
import { endOf, framesOf, heldAfter, streamText, untilRun } from './support.ts';

async function server(agent: string, options: TestAppOptions = {}) {
  const made = await createTestApp({ files: { ...GRAPH_FILES, 'agent.ts': agent }, agent: 'agent.ts', ...options });
  const base = await made.listen();
  return { ...made, base, connect: (threadId: string) => openEvents(base, `/agent/threads/${threadId}/events`) };
}

/** Waits until a reader that joined has all that the first has: its catch-up carries the number of the last event. */
async function caughtUp(reader: OpenStream, first: OpenStream): Promise<void> {
  await until(() => framesOf(reader.text).at(-1)?.id === framesOf(first.text).at(-1)?.id, 'the reader to catch up');
}

const PLACES: [name: string, stops: (gate: string) => Stops, open: string[]][] = [
  ['reasoning', (gate) => ({ [PIECE.reasoning]: gate }), ['STEP', 'REASONING', 'REASONING_MESSAGE']],
  ['text', (gate) => ({ [PIECE.text]: gate }), ['STEP', 'TEXT_MESSAGE']],
  ['a tool call', (gate) => ({ [PIECE.firstCall]: gate }), ['STEP', 'TOOL_CALL']],
  ['parallel tool calls', (gate) => ({ [PIECE.bothCalls]: gate }), ['STEP', 'TOOL_CALL', 'TOOL_CALL']],
  ['a tool, between call and result', (gate) => ({ tool: gate }), ['STEP']],
  ['the second reasoning', (gate) => ({ [PIECE.secondReasoning]: gate }), ['STEP', 'REASONING', 'REASONING_MESSAGE']],
  ['the second text', (gate) => ({ [PIECE.secondText]: gate }), ['STEP', 'TEXT_MESSAGE']],
];

test.each(PLACES)('in the middle of %s: what there is so far, then the tail', async (_, stops, open) => {
  const gate = createGate();
  const { base, connect } = await server(everything(stops(gate.name)));
  const input = runInput('hi');
  const first = await openRun(base, input);
  await until(() => gate.arrived === 1);
  const reader = await connect(input.threadId);
  await caughtUp(reader, first);
  const told = framesOf(reader.text);
  expect(told.map(({ event }) => event.type).slice(0, 3)).toEqual([
    'RUN_STARTED',
    'MESSAGES_SNAPSHOT',
    'STATE_SNAPSHOT',
  ]);
  const starts = told.map(({ event }) => event.type).filter((type) => /(?<!RUN)_START(?:ED)?$/.test(type));
  expect(starts.map((type) => type.replace(/_START(ED)?$/, ''))).toEqual(open);
  expect((await heldAfter(reader.text)).messages).toEqual((await heldAfter(first.text, input.messages)).messages);
  gate.open();
  await Promise.all([first.all(), reader.all()]);
  expect(await heldAfter(reader.text)).toEqual(await heldAfter(first.text, input.messages));
});

test('in a later run the conversation before it is there too', async () => {
  const gate = createGate();
  const { base, connect } = await server(everything({ 16: gate.name, 20: gate.name }));
  const one = runInput('hi');
  const before = await openRun(base, one);
  await before.all();
  const { messages } = await heldAfter(before.text, one.messages);
  const two = runInput('more', { threadId: one.threadId });
  const sent = [...messages, ...two.messages];
  const first = await openRun(base, { ...two, messages: sent });
  await until(() => gate.arrived === 1);
  const reader = await connect(one.threadId);
  await caughtUp(reader, first);
  gate.open();
  await Promise.all([first.all(), reader.all()]);
  const held = await heldAfter(reader.text);
  expect(held).toEqual(await heldAfter(first.text, sent));
  expect(held.messages.filter(({ role }) => role === 'user')).toHaveLength(2);
});

test('a run that waits for its turn is told from its beginning, once it begins', async () => {
  const gate = createGate();
  const { base, connect } = await server(everything({ 3: gate.name }), { env: { SERVICE_MAX_CONCURRENT_RUNS: '1' } });
  const blocking = await openRun(base, runInput('first'));
  await until(() => gate.arrived === 1);
  const input = runInput('hi');
  const waiting = openRun(base, input);
  await untilRun(base, input.runId, 'queued');
  const joining = connect(input.threadId);
  gate.open();
  const [first, reader] = await Promise.all([waiting, joining]);
  await Promise.all([blocking.all(), first.all(), reader.all()]);
  await expectVerified(reader.events());
  expect(await heldAfter(reader.text)).toEqual(await heldAfter(first.text, input.messages));
});

test('an idle thread: its snapshots and an end', async () => {
  const { app, base } = await server(everything());
  const input = runInput('hi');
  const first = await openRun(base, input);
  await first.all();
  const text = await streamText(app, `/agent/threads/${input.threadId}/events`);
  const types = parseEvents(text).map(({ type }) => type);
  expect(types[0]).toBe('RUN_STARTED');
  expect(types.slice(1).toSorted()).toEqual(['MESSAGES_SNAPSHOT', 'RUN_FINISHED', 'STATE_SNAPSHOT']);
  expect(parseEvents(text)[0]).toMatchObject({ threadId: input.threadId, runId: input.runId });
  expect(await heldAfter(text)).toEqual(await heldAfter(first.text, input.messages));
});

test('a thread that waits at a question tells it in both forms', async () => {
  const act = createGate();
  act.open();
  const { app, base } = await server(asksFirst(act.name));
  const input = runInput('hi');
  const first = await openRun(base, input);
  const asked = interruptsOf({ events: await first.all() });
  const url = `/agent/threads/${input.threadId}/events`;
  const text = await streamText(app, url);
  const events = parseEvents(text);
  expect(interruptsOf({ events })).toEqual(asked);
  expect(events.filter(({ name }) => name === 'on_interrupt')).toEqual(
    first.events().filter(({ name }) => name === 'on_interrupt'),
  );
  expect(await heldAfter(text)).toEqual(await heldAfter(first.text, input.messages));
  // Once answered it is gone.
  const resume = [{ interruptId: asked[0]?.id ?? '', status: 'resolved' as const, payload: 'yes' }];
  await (await openRun(base, runInput('', { threadId: input.threadId, messages: input.messages, resume }))).all();
  expect(endOf(parseEvents(await streamText(app, url)))).toBe('success');
});

test('after a reload the thread is told as before, idle or in mid-run', async () => {
  const gate = createGate();
  const { app, base, root, connect } = await server(everything({ [PIECE.text]: gate.name }), {
    defaultCheckpointer: { type: 'sqlite', db_url: 'sqlite:///chat.db' },
  });
  const input = runInput('hi');
  const first = await openRun(base, input);
  await until(() => gate.arrived === 1);
  writeFiles(root, { 'agent.ts': everything() });
  expect((await fetch(`${base}/reload`, { method: 'POST' })).status).toBe(200);
  const reader = await connect(input.threadId);
  await caughtUp(reader, first);
  gate.open();
  await Promise.all([first.all(), reader.all()]);
  const uncut = await heldAfter(first.text, input.messages);
  expect(await heldAfter(reader.text)).toEqual(uncut);
  expect(await heldAfter(await streamText(app, `/agent/threads/${input.threadId}/events`))).toEqual(uncut);
});

test('an agent without memory: no snapshots when idle, what it has while it runs', async () => {
  const gate = createGate();
  const { app, base, connect } = await server(twoSteps(gate.name), { defaultCheckpointer: undefined });
  const input = runInput('hi');
  const first = await openRun(base, input);
  await until(() => gate.arrived === 1);
  const reader = await connect(input.threadId);
  await caughtUp(reader, first);
  gate.open();
  await Promise.all([first.all(), reader.all()]);
  const uncut = await heldAfter(first.text, input.messages);
  expect(uncut.messages.map(({ content }) => content)).toEqual(['hi', 'begun: hi', 'done: hi']);
  expect(await heldAfter(reader.text)).toEqual(uncut);
  const idle = parseEvents(await streamText(app, `/agent/threads/${input.threadId}/events`));
  expect(idle.map(({ type }) => type)).toEqual(['RUN_STARTED', 'RUN_FINISHED']);
});

test('a structured agent has a state, and of messages what it was asked', async () => {
  const gate = createGate();
  const agent = `${IMPORTS}
const Input = z.object({ to: z.string() });
const Output = z.object({ price: z.number() });
const State = z.object({ ...Input.shape, ...Output.partial().shape });
export const graph = new StateGraph({ state: State, input: Input, output: Output })
  .addNode('quote', () => ({ price: 7 }))
  .addNode('check', async () => {
    await globalThis.testGates.pass('${gate.name}');
    return { price: 8 };
  })
  .addEdge(START, 'quote').addEdge('quote', 'check').addEdge('check', END);
`;
  const { app, base, connect } = await server(agent);
  const input = runInput('{"to":"Nice"}');
  const first = await openRun(base, input);
  await until(() => gate.arrived === 1);
  const reader = await connect(input.threadId);
  await caughtUp(reader, first);
  expect((await heldAfter(reader.text)).state).toEqual({ price: 7 });
  gate.open();
  await Promise.all([first.all(), reader.all()]);
  expect(reader.events().at(-1)).toEqual(first.events().at(-1));
  expect(await heldAfter(reader.text)).toEqual(await heldAfter(first.text, input.messages));
  const idle = await heldAfter(await streamText(app, `/agent/threads/${input.threadId}/events`));
  expect(idle).toEqual({ messages: [], state: { price: 8 } });
});

test('a thread that never was is 404', async () => {
  const { app } = await server(everything());
  for (const path of ['events', 'runs']) {
    expect((await app.inject({ url: `/agent/threads/no/${path}` })).statusCode).toBe(404);
  }
});

test('a run that goes back to an edited message is joined as it is', async () => {
  const gate = createGate();
  const { base, connect } = await server(everything({ [16 + PIECE.text]: gate.name }));
  const input = runInput('hi', { threadId: 'th' });
  await (await openRun(base, input)).all();
  const [message] = input.messages;
  const edited = runInput('', {
    threadId: 'th',
    messages: [{ ...message, content: 'hello' } as typeof message & object],
  });
  const first = await openRun(base, edited);
  await until(() => gate.arrived === 1);
  const reader = await connect('th');
  await caughtUp(reader, first);
  gate.open();
  await Promise.all([first.all(), reader.all()]);
  expect(await heldAfter(reader.text)).toEqual(await heldAfter(first.text, edited.messages));
});
