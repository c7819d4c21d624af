import { expect, test } from 'vitest';
import { createTestApp } from '../support/app.ts';
import { expectVerified } from '../support/client.ts';
import { createGate, gatedAgent, until } from '../support/gates.ts';
import { GRAPH_FILES, messagesGraph } from '../support/graphs.ts';
import { ofType, runInput, textOf } from '../support/runs.ts';
import { openEvents, openRun } from '../support/streams.ts';
import { everything, PIECE, twoSteps } from './agents.ts';
import { cancelRun, endOf, getJson, runsOf, streamText, textsOf, untilRun } from './support.ts';

async function server(agent: string, env: Record<string, string> = {}) {
  const made = await createTestApp({ files: { ...GRAPH_FILES, 'agent.ts': agent }, agent: 'agent.ts', env });
  return { ...made, base: await made.listen() };
}

/** A model that does not look at its signal: it passes the gate `token` before each token, and `hold` before the 20th. */
const talker = (token: string, hold: string): string =>
  messagesGraph(
    `.addNode('model', async (state) => ({ messages: [await model.invoke(state.messages)] }))
    .addEdge(START, 'model').addEdge('model', END)`,
    `class Talker extends ScriptedModel {
  async *_streamResponseChunks(messages, _options, runManager) {
    for (const [index, chunk] of this.next(messages).entries()) {
      await globalThis.testGates.pass('${token}');
      if (index === 19) await globalThis.testGates.pass('${hold}');
      yield* new ScriptedModel([[chunk]])._streamResponseChunks(messages, {}, runManager);
    }
  }
}
const model = new Talker([(messages) => {
  const asked = messages.at(-1).content;
  return asked === 'talk' ? Array.from({ length: 1_000 }, (_, index) => 'word' + index + ' ') : ['you said: ' + asked];
}]);`,
  );

test('a cancel from another connection stops the model within one token', async () => {
  const [token, hold] = [createGate(), createGate()];
  token.open();
  const { base } = await server(talker(token.name, hold.name));
  const input = runInput('talk');
  const stream = await openRun(base, input);
  await until(() => hold.arrived === 1);
  const { status, body } = await cancelRun(base, input.runId);
  expect(status).toBe(200);
  expect(body).toMatchObject({ runId: input.runId, status: 'cancelled', errorCode: 'CANCELLED' });
  expect(body.finishedAt).not.toBeNull();
  const events = await stream.all();
  expect(events.at(-1)).toEqual({
    type: 'RUN_FINISHED',
    threadId: input.threadId,
    runId: input.runId,
    outcome: { type: 'cancelled' },
  });
  await expectVerified(events);
  expect(ofType(events, 'TEXT_MESSAGE_CONTENT')).toHaveLength(19);
  expect(ofType(events, 'TEXT_MESSAGE_END')).toHaveLength(1);
  // The model goes on from where it was held; whoever reads it does not. The next message is answered meanwhile.
  hold.open();
  const next = await (await openRun(base, runInput('hello', { threadId: input.threadId }))).all();
  expect(textOf(next)).toBe('you said: hello');
  expect(token.arrived, 'tokens of both answers').toBeLessThanOrEqual(20 + 1);
});

test.each(Object.entries(PIECE))('whatever is open is closed first (%s)', async (_, piece) => {
  const gate = createGate();
  const { app, base } = await server(everything({ [piece]: gate.name }));
  const input = runInput('hi');
  const stream = await openRun(base, input);
  await until(() => gate.arrived === 1);
  await cancelRun(base, input.runId);
  const events = await stream.all();
  await expectVerified(events);
  expect(endOf(events)).toBe('cancelled');
  const count = (pattern: RegExp): number => events.filter(({ type }) => pattern.test(type)).length;
  expect(count(/_END$|STEP_FINISHED/)).toBe(count(/(?<!RUN)_START(ED)?$/));
  const connected = await streamText(app, `/agent/threads/${input.threadId}/events`);
  expect(connected).toContain('RUN_FINISHED');
});

test('a client from before 1.0 gets RUN_ERROR CANCELLED', async () => {
  const gate = createGate();
  const { base } = await server(twoSteps(gate.name));
  const { protocolVersion, ...input } = runInput('hi');
  const stream = await openRun(base, input as ReturnType<typeof runInput>);
  await until(() => gate.arrived === 1);
  await cancelRun(base, input.runId);
  expect((await stream.all()).at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'CANCELLED' });
  expect((await getJson(base, `/agent/runs/${input.runId}`)).body).toMatchObject({ status: 'cancelled' });
});

test('what the run had stored stays, and the next message works', async () => {
  const gate = createGate();
  const { base } = await server(twoSteps(gate.name));
  const input = runInput('one');
  const stream = await openRun(base, input);
  await until(() => gate.arrived === 1);
  await cancelRun(base, input.runId);
  await stream.all();
  expect(await textsOf(base, input.threadId)).toEqual(['one', 'begun: one']);
  gate.open();
  const next = await (await openRun(base, runInput('two', { threadId: input.threadId }))).all();
  expect(endOf(next)).toBe('success');
  expect(await textsOf(base, input.threadId)).toEqual(['one', 'begun: one', 'two', 'begun: two', 'done: two']);
});

test('cancelled twice at once and again, a run is cancelled once', async () => {
  const gate = createGate();
  const { base } = await server(twoSteps(gate.name));
  const input = runInput('hi');
  const stream = await openRun(base, input);
  await until(() => gate.arrived === 1);
  const [left, right] = await Promise.all([cancelRun(base, input.runId), cancelRun(base, input.runId)]);
  expect(left).toMatchObject({ status: 200, body: { status: 'cancelled' } });
  expect(right).toEqual(left);
  expect(await cancelRun(base, input.runId)).toEqual(left);
  expect(endOf(await stream.all())).toBe('cancelled');
});

test.each(['300', '0'])('a run that is over stays as it ended (kept for %s seconds)', async (seconds) => {
  const { base } = await server(gatedAgent('v1'), { SERVICE_RUN_RETENTION_SECONDS: seconds });
  const input = runInput('hi');
  await (await openRun(base, input)).all();
  expect(await cancelRun(base, input.runId)).toMatchObject({ status: 200, body: { status: 'finished' } });
});

test('a run that waits for its thread never begins, and the others go on', async () => {
  const gate = createGate();
  const { base } = await server(gatedAgent('v1'), { SERVICE_THREAD_POLICY: 'enqueue' });
  const first = runInput(gate.name);
  const { threadId } = first;
  const [second, third] = [runInput('second', { threadId }), runInput('third', { threadId })];
  const running = await openRun(base, first);
  await until(() => gate.arrived === 1);
  const waiting = openRun(base, second);
  await untilRun(base, second.runId, 'queued');
  const last = openRun(base, third);
  await untilRun(base, third.runId, 'queued');
  expect(await cancelRun(base, second.runId)).toMatchObject({ body: { status: 'cancelled', startedAt: null } });
  const events = await (await waiting).all();
  expect(events.map(({ type }) => type)).toEqual(['RUN_STARTED', 'RUN_FINISHED']);
  expect(endOf(events)).toBe('cancelled');
  gate.open();
  expect(endOf(await running.all())).toBe('success');
  expect(endOf(await (await last).all())).toBe('success');
  expect(await textsOf(base, threadId)).toEqual([gate.name, `v1: ${gate.name}`, 'third', 'v1: third']);
});

test('a run that waits for a place among all runs gives it up', async () => {
  const gate = createGate();
  const env = { SERVICE_MAX_CONCURRENT_RUNS: '1', SERVICE_MAX_QUEUED_RUNS: '1' };
  const { base } = await server(gatedAgent('v1'), env);
  const running = await openRun(base, runInput(gate.name));
  await until(() => gate.arrived === 1);
  const second = runInput('second');
  const waiting = openRun(base, second);
  await untilRun(base, second.runId, 'queued');
  expect((await openRun(base, runInput('third'))).status).toBe(429);
  await cancelRun(base, second.runId);
  expect(endOf(await (await waiting).all())).toBe('cancelled');
  const fourth = openRun(base, runInput('fourth'));
  gate.open();
  await running.all();
  expect(textOf(await (await fourth).all())).toBe('v1: fourth');
});

test('an agent that ignores its signal does not hold the stream or the thread', async () => {
  const gate = createGate();
  const agent = messagesGraph(
    `.addNode('work', async (state) => {
      const said = state.messages.at(-1).content;
      if (said === 'hang') for (;;) {
        await globalThis.testGates.pass('${gate.name}');
        return { messages: [new AIMessage('too late')] };
      }
      return { messages: [new AIMessage('heard ' + said)] };
    }).addEdge(START, 'work').addEdge('work', END)`,
  );
  const { base } = await server(agent);
  const input = runInput('hang');
  const stream = await openRun(base, input);
  await until(() => gate.arrived === 1);
  expect((await cancelRun(base, input.runId)).body.status).toBe('cancelled');
  expect(endOf(await stream.all())).toBe('cancelled');
  gate.open();
  const next = await (await openRun(base, runInput('next', { threadId: input.threadId }))).all();
  expect(textOf(next)).toBe('heard next');
  expect(await textsOf(base, input.threadId)).toEqual(['hang', 'next', 'heard next']);
});

test('with SERVICE_ON_DISCONNECT=cancel the last reader to leave stops the run', async () => {
  const gate = createGate();
  const { base } = await server(twoSteps(gate.name), { SERVICE_ON_DISCONNECT: 'cancel' });
  const input = runInput('hi');
  const first = await openRun(base, input);
  await until(() => gate.arrived === 1);
  const second = await openEvents(base, `/agent/runs/${input.runId}/events`);
  const third = await openEvents(base, `/agent/threads/${input.threadId}/events`);
  await second.event(({ type }) => type === 'RUN_STARTED');
  await third.event(({ type }) => type === 'RUN_STARTED');
  first.destroy();
  second.destroy();
  await Promise.all([first.ended, second.ended]);
  // One is left.
  expect((await getJson(base, `/agent/runs/${input.runId}`)).body.status).toBe('running');
  third.destroy();
  await untilRun(base, input.runId, 'cancelled');
  expect((await runsOf(base, input.threadId)).map(({ status }) => status)).toEqual(['cancelled']);
});

test('with SERVICE_ON_DISCONNECT=cancel the run goes on for the reader that stays', async () => {
  const gate = createGate();
  const { base, logs } = await server(twoSteps(gate.name), { SERVICE_ON_DISCONNECT: 'cancel' });
  const input = runInput('hi');
  const first = await openRun(base, input);
  await until(() => gate.arrived === 1);
  const second = await openEvents(base, `/agent/runs/${input.runId}/events`);
  await second.event(({ type }) => type === 'RUN_STARTED');
  first.destroy();
  await until(() => logs.some(({ msg }) => String(msg).includes('reader left')), 'the server to notice');
  gate.open();
  expect(endOf(await second.all())).toBe('success');
});

test('with SERVICE_ON_DISCONNECT=cancel a reader that waits for a queued run counts', async () => {
  const gate = createGate();
  const { base, logs } = await server(gatedAgent('v1'), {
    SERVICE_ON_DISCONNECT: 'cancel',
    SERVICE_MAX_CONCURRENT_RUNS: '1',
  });
  const first = await openRun(base, runInput(gate.name));
  await until(() => gate.arrived === 1);
  const input = runInput('hi');
  const waiting = openRun(base, input);
  await untilRun(base, input.runId, 'queued');
  const joining = await openEvents(base, `/agent/threads/${input.threadId}/events`);
  (await waiting).destroy();
  await until(() => logs.some(({ msg }) => String(msg).includes('reader left')), 'the server to notice');
  gate.open();
  await first.all();
  expect(endOf(await joining.all())).toBe('success');
});
