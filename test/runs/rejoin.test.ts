import { expect, test } from 'vitest';
import { createTestApp } from '../support/app.ts';
import { expectVerified, interruptsOf } from '../support/client.ts';
import { createGate, until } from '../support/gates.ts';
import { GRAPH_FILES, messagesGraph } from '../support/graphs.ts';
import { parseEvents, runInput } from '../support/runs.ts';
import { openEvents, openRun } from '../support/streams.ts';
import { endsAsAsked, everything, PIECE, stopping } from './agents.ts';
import { cancelRun, endOf, framesOf, heldAfter, saidIn, streamText } from './support.ts';

async function server(agent: string, env: Record<string, string> = {}) {
  const made = await createTestApp({ files: { ...GRAPH_FILES, 'agent.ts': agent }, agent: 'agent.ts', env });
  return { ...made, base: await made.listen() };
}

test('the frames of a run are numbered from 1, without gaps', async () => {
  const { base } = await server(everything());
  const stream = await openRun(base, runInput('hi'));
  await stream.all();
  const ids = framesOf(stream.text).map(({ id }) => id);
  expect(ids.length).toBeGreaterThan(30);
  expect(ids).toEqual(ids.map((_, index) => index + 1));
});

test.each(['Last-Event-ID', 'after'])('a finished run goes on after every event (%s), to the letter', async (way) => {
  const { app, base } = await server(everything());
  const input = runInput('hi');
  const stream = await openRun(base, input);
  await stream.all();
  const frames = framesOf(stream.text);
  const uncut = await heldAfter(stream.text, input.messages);
  expect(uncut.state).toMatchObject({ found: { tools: 2 } });
  for (let seen = 0; seen <= frames.length; seen += 1) {
    const url = `/agent/runs/${input.runId}/events${way === 'after' ? `?after=${seen}` : ''}`;
    const rest = await streamText(app, url, way === 'after' ? {} : { 'last-event-id': String(seen) });
    const later = framesOf(rest);
    expect(saidIn(later), `after ${seen}`).toEqual(saidIn(frames.slice(seen)));
    expect(later.at(-1)?.id ?? seen, `after ${seen}`).toBe(frames.length);
    const ids = later.map(({ id }) => Number(id));
    expect(
      ids.every((id, index) => id > (ids[index - 1] ?? seen)),
      `ascending after ${seen}: ${ids}`,
    ).toBe(true);
    const before = frames.slice(0, seen).map(({ text }) => text);
    expect(await heldAfter(before.join('') + rest, input.messages), `after ${seen}`).toEqual(uncut);
  }
});

test.each(Object.entries(PIECE))('a running run is told up to now and then live (%s)', async (_, piece) => {
  const gate = createGate();
  const { base } = await server(everything({ [piece]: gate.name }));
  const input = runInput('hi');
  const first = await openRun(base, input);
  await until(() => gate.arrived === 1);
  const { runId } = input;
  const path = `/agent/runs/${runId}/events`;
  const whole = await openEvents(base, path);
  await until(() => framesOf(whole.text).at(-1)?.id === framesOf(first.text).at(-1)?.id, 'the events up to now');
  const known = framesOf(first.text);
  const later = await Promise.all(
    known.map((_frame, index) => openEvents(base, path, { 'last-event-id': String(index + 1) })),
  );
  gate.open();
  await first.all();
  await whole.all();
  const uncut = await heldAfter(first.text, input.messages);
  expect(await heldAfter(whole.text, input.messages)).toEqual(uncut);
  for (const [index, stream] of later.entries()) {
    await stream.all();
    const before = known.slice(0, index + 1).map(({ text }) => text);
    expect(saidIn(framesOf(stream.text))).toEqual(saidIn(framesOf(first.text).slice(index + 1)));
    expect(await heldAfter(before.join('') + stream.text, input.messages), `after ${index + 1}`).toEqual(uncut);
  }
});

test.each(['x', '-1', '1.5', '1e3', '9'.repeat(20)])('an event id that cannot be (%s) is 422', async (id) => {
  const { app, base } = await server(everything());
  const input = runInput('hi');
  await (await openRun(base, input)).all();
  const url = `/agent/runs/${input.runId}/events`;
  const header = await app.inject({ url, headers: { 'last-event-id': id } });
  expect(header.statusCode).toBe(422);
  expect(header.json()).toMatchObject({ detail: [{ loc: expect.arrayContaining(['last-event-id']) }] });
  expect((await app.inject({ url: `${url}?after=${encodeURIComponent(id)}` })).statusCode).toBe(422);
});

test('a run that never was is 404', async () => {
  const { app } = await server(everything());
  for (const path of ['', '/events']) expect((await app.inject({ url: `/agent/runs/no${path}` })).statusCode).toBe(404);
  expect((await app.inject({ method: 'POST', url: '/agent/runs/no/cancel' })).statusCode).toBe(404);
});

test('an id from beyond the end gets a snapshot, of a running run and of a finished one', async () => {
  const gate = createGate();
  const { app, base } = await server(everything({ [PIECE.text]: gate.name }));
  const input = runInput('hi');
  const first = await openRun(base, input);
  await until(() => gate.arrived === 1);
  const early = await openEvents(base, `/agent/runs/${input.runId}/events?after=999`);
  await early.event(({ type }) => type === 'MESSAGES_SNAPSHOT');
  gate.open();
  await Promise.all([first.all(), early.all()]);
  const uncut = await heldAfter(first.text, input.messages);
  expect(await heldAfter(early.text)).toEqual(uncut);
  const late = await streamText(app, `/agent/runs/${input.runId}/events?after=999`);
  expect(await heldAfter(late)).toEqual(uncut);
});

test.each([
  ['answer', 'success'],
  ['fail', 'FRAMEWORK_ERROR'],
  ['wait', 'cancelled'],
  ['ask', 'interrupt'],
])('a run that is no longer kept is told by a snapshot and its real end (%s)', async (text, end) => {
  const gate = createGate();
  const { app, base } = await server(endsAsAsked(gate.name), { SERVICE_RUN_RETENTION_SECONDS: '0' });
  const input = runInput(text);
  const stream = await openRun(base, input);
  if (text === 'wait') {
    await until(() => gate.arrived === 1);
    await cancelRun(base, input.runId);
  }
  const events = await stream.all();
  expect(endOf(events)).toBe(end);
  for (const query of ['', '?after=2', '?after=999']) {
    const replay = await streamText(app, `/agent/runs/${input.runId}/events${query}`);
    const told = parseEvents(replay);
    await expectVerified(told);
    expect(told[0]).toMatchObject({ type: 'RUN_STARTED', runId: input.runId, threadId: input.threadId });
    expect(told.map(({ type }) => type)).toEqual(expect.arrayContaining(['MESSAGES_SNAPSHOT', 'STATE_SNAPSHOT']));
    expect(endOf(told)).toBe(end);
    if (text === 'ask') expect(interruptsOf({ events: told })).toEqual(interruptsOf({ events }));
    if (text === 'answer' || text === 'ask') {
      expect(await heldAfter(replay)).toEqual(await heldAfter(stream.text, input.messages));
    }
  }
  // The same run posted again is shown, not run.
  const again = await (await openRun(base, input)).all();
  expect(endOf(again)).toBe(end);
});

test('a log that outgrew its bound gives a latecomer the text so far, then the tail', async () => {
  const gate = createGate();
  const words = Array.from({ length: 400 }, (_, index) => `'word${index} '`).join(', ');
  const agent = messagesGraph(
    `.addNode('first', async (state) => ({ messages: [await model.invoke(state.messages)] }))
    .addNode('second', async (state) => ({ messages: [await model.invoke(state.messages)] }))
    .addEdge(START, 'first').addEdge('first', 'second').addEdge('second', END)`,
    `const model = new ScriptedModel([[{ id: 'one' }, ${words}], [{ id: 'two' }, 'and ', ${words}, 'the ', 'end']], ${stopping({ 500: gate.name, 803: gate.name })});`,
  );
  const { app, base } = await server(agent, { SERVICE_RUN_LOG_MAX_BYTES: '1024' });
  const input = runInput('hi');
  const first = await openRun(base, input);
  await until(() => gate.arrived === 1);
  const late = await openEvents(base, `/agent/runs/${input.runId}/events`);
  const lost = await openEvents(base, `/agent/runs/${input.runId}/events`, { 'last-event-id': '7' });
  for (const stream of [late, lost]) {
    await stream.event(({ type }) => type === 'TEXT_MESSAGE_CONTENT');
    const told = framesOf(stream.text);
    expect(told.map(({ event }) => event.type)).toEqual([
      'RUN_STARTED',
      'MESSAGES_SNAPSHOT',
      'STATE_SNAPSHOT',
      'STEP_STARTED',
      'TEXT_MESSAGE_START',
      'TEXT_MESSAGE_CONTENT',
    ]);
    expect(told.map(({ id }) => id).filter((id) => id !== undefined)).toEqual([framesOf(first.text).at(-1)?.id]);
  }
  gate.open();
  await Promise.all([first.all(), late.all(), lost.all()]);
  const uncut = await heldAfter(first.text, input.messages);
  expect(uncut.messages).toHaveLength(3);
  expect(await heldAfter(late.text)).toEqual(uncut);
  expect(await heldAfter(lost.text)).toEqual(uncut);
  const after = await streamText(app, `/agent/runs/${input.runId}/events`);
  expect(await heldAfter(after)).toEqual(uncut);
});

test('of finished runs the oldest gives way when all together are too large', async () => {
  const words = Array.from({ length: 1_000 }, (_, index) => `'word${index} '`).join(', ');
  const agent = messagesGraph(
    `.addNode('model', async (state) => ({ messages: [await model.invoke(state.messages)] }))
    .addEdge(START, 'model').addEdge('model', END)`,
    `const model = new ScriptedModel([[${words}]]);`,
  );
  const { app, base } = await server(agent, { SERVICE_RUN_LOGS_TOTAL_BYTES: '60000' });
  const inputs = [runInput('one'), runInput('two'), runInput('three')];
  const kept = async (): Promise<boolean[]> => {
    const found: boolean[] = [];
    for (const { runId } of inputs) {
      const response = await app.inject({ url: `/agent/runs/${runId}/events?after=3` });
      // What comes of the log goes on behind the third event; a snapshot starts anew.
      if (response.statusCode === 200) found.push(framesOf(response.body)[0]?.event.type !== 'RUN_STARTED');
    }
    return found;
  };
  for (const [index, input] of inputs.entries()) {
    await (await openRun(base, input)).all();
    expect((await kept()).at(index), 'the newest').toBe(true);
  }
  expect(await kept()).toEqual([false, false, true]);
});

test.each(Object.entries(PIECE))('whatever the bound has folded, latecomers end up the same (%s)', async (_, piece) => {
  const gate = createGate();
  const { app, base } = await server(everything({ [piece]: gate.name }), { SERVICE_RUN_LOG_MAX_BYTES: '1024' });
  const input = runInput('hi');
  const first = await openRun(base, input);
  await until(() => gate.arrived === 1);
  const path = `/agent/runs/${input.runId}/events`;
  const late = await openEvents(base, path);
  await until(() => framesOf(late.text).at(-1)?.id === framesOf(first.text).at(-1)?.id, 'the events up to now');
  gate.open();
  await Promise.all([first.all(), late.all()]);
  const uncut = await heldAfter(first.text, input.messages);
  expect(await heldAfter(late.text, input.messages)).toEqual(uncut);
  const last = Number(framesOf(first.text).at(-1)?.id);
  for (let seen = 0; seen <= last; seen += 1) {
    const rest = await streamText(app, `${path}?after=${seen}`);
    const anew = framesOf(rest)[0]?.event.type === 'RUN_STARTED';
    const before = framesOf(first.text).slice(0, anew ? 0 : seen);
    expect(await heldAfter(before.map(({ text }) => text).join('') + rest, input.messages), `${seen}`).toEqual(uncut);
  }
});
