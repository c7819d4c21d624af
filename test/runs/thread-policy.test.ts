import { expect, test } from 'vitest';
import { createTestApp } from '../support/app.ts';
import { createGate, gatedAgent, until } from '../support/gates.ts';
import { GRAPH_FILES, messagesGraph } from '../support/graphs.ts';
import { ofType, runInput, textOf, type WireEvent } from '../support/runs.ts';
import { openRun } from '../support/streams.ts';
import { twoSteps } from './agents.ts';
import { endOf, runsOf, textsOf, untilRun } from './support.ts';

async function server(agent: string, env: Record<string, string> = {}) {
  const made = await createTestApp({ files: { ...GRAPH_FILES, 'agent.ts': agent }, agent: 'agent.ts', env });
  const base = await made.listen();
  const post = async (input: ReturnType<typeof runInput>): Promise<WireEvent[]> => (await openRun(base, input)).all();
  return { ...made, base, post };
}

/** Passes the gate, which counts, and answers. */
const counting = (gate: string): string =>
  messagesGraph(
    `.addNode('work', async (state) => {
      const said = state.messages.at(-1).content;
      await globalThis.testGates.pass('${gate}');
      return { messages: [new AIMessage('answer to ' + said)] };
    }).addEdge(START, 'work').addEdge('work', END)`,
  );

const TWENTY = Array.from({ length: 20 }, (_, index) => `m${index}`);

/** Posts twenty messages at once. */
function twenty(post: (input: ReturnType<typeof runInput>) => Promise<WireEvent[]>, threadId: string) {
  const ended: WireEvent[][] = [];
  const all = TWENTY.map(async (text) => {
    const events = await post(runInput(text, { threadId }));
    ended.push(events);
    return { text, end: endOf(events) };
  });
  return { ended, all: Promise.all(all) };
}

test('reject: of twenty at once one runs, and the others may be sent again', async () => {
  const gate = createGate();
  const { base, post } = await server(counting(gate.name));
  const { ended, all } = twenty(post, 'th');
  await until(() => ended.length === 19, 'nineteen refusals');
  gate.open();
  const ends = await all;
  expect(ends.filter(({ end }) => end === 'THREAD_BUSY')).toHaveLength(19);
  const [ran] = ends.filter(({ end }) => end === 'success');
  expect(await textsOf(base, 'th')).toEqual([ran?.text, `answer to ${ran?.text}`]);
  expect(gate.arrived).toBe(1);
  // Those that were refused are not runs of the thread.
  expect((await runsOf(base, 'th')).map(({ status }) => status)).toEqual(['finished']);
});

test('a run that was refused runs when it is sent again with the same ids', async () => {
  const gate = createGate();
  const { post } = await server(counting(gate.name));
  const first = post(runInput('first', { threadId: 'th' }));
  await until(() => gate.arrived === 1);
  const second = runInput('second', { threadId: 'th' });
  expect((await post(second)).map(({ type }) => type)).toEqual(['RUN_STARTED', 'RUN_ERROR']);
  expect(endOf(await post(second))).toBe('THREAD_BUSY');
  gate.open();
  await first;
  expect(textOf(await post(second))).toBe('answer to second');
  expect(gate.arrived).toBe(2);
});

test('enqueue: all twenty run one after another', async () => {
  const gate = createGate();
  const { base, post } = await server(counting(gate.name), {
    SERVICE_THREAD_POLICY: 'enqueue',
    SERVICE_THREAD_QUEUE_MAX: '32',
  });
  const { all } = twenty(post, 'th');
  await until(async () => (await runsOf(base, 'th').catch(() => [])).length === 20, 'all to be let in');
  expect((await runsOf(base, 'th')).filter(({ status }) => status === 'queued')).toHaveLength(19);
  gate.open();
  expect((await all).map(({ end }) => end)).toEqual(TWENTY.map(() => 'success'));
  const texts = await textsOf(base, 'th');
  expect(texts).toHaveLength(40);
  for (let index = 0; index < 40; index += 2) expect(texts[index + 1]).toBe(`answer to ${texts[index]}`);
  expect(gate.arrived).toBe(20);
});

test('enqueue keeps the order in which they came', async () => {
  const gate = createGate();
  const { base, post } = await server(gatedAgent('v1'), { SERVICE_THREAD_POLICY: 'enqueue' });
  const running = [post(runInput(gate.name, { threadId: 'th' }))];
  await until(() => gate.arrived === 1);
  for (const text of TWENTY.slice(0, 10)) {
    const input = runInput(text, { threadId: 'th' });
    running.push(post(input));
    await untilRun(base, input.runId, 'queued');
  }
  gate.open();
  await Promise.all(running);
  expect((await textsOf(base, 'th')).filter((_, index) => index % 2 === 0)).toEqual([
    gate.name,
    ...TWENTY.slice(0, 10),
  ]);
});

test('enqueue: beyond the bound it is THREAD_BUSY', async () => {
  const gate = createGate();
  const { post } = await server(counting(gate.name), {
    SERVICE_THREAD_POLICY: 'enqueue',
    SERVICE_THREAD_QUEUE_MAX: '5',
  });
  const { ended, all } = twenty(post, 'th');
  await until(() => ended.length === 14, 'fourteen refusals');
  gate.open();
  const ends = (await all).map(({ end }) => end);
  expect(ends.filter((end) => end === 'success')).toHaveLength(6);
  expect(ends.filter((end) => end === 'THREAD_BUSY')).toHaveLength(14);
  expect(gate.arrived).toBe(6);
});

test.each(['interrupt', 'rollback'])('%s: of twenty at once one finishes, the others are cancelled', async (policy) => {
  const gate = createGate();
  const { base, post, logs } = await server(twoSteps(gate.name), { SERVICE_THREAD_POLICY: policy });
  const { ended, all } = twenty(post, 'th');
  await until(() => ended.length === 19, 'nineteen to be cancelled');
  gate.open();
  const ends = await all;
  expect(ends.filter(({ end }) => end === 'cancelled')).toHaveLength(19);
  const [last] = ends.filter(({ end }) => end === 'success');
  const texts = await textsOf(base, 'th');
  expect(texts.slice(-3)).toEqual([last?.text, `begun: ${last?.text}`, `done: ${last?.text}`]);
  const before = texts.slice(0, -3);
  if (policy === 'rollback') expect(before).toEqual([]);
  // What was cancelled had said something at most, and is there once.
  expect(before.filter((text) => text.startsWith('done'))).toEqual([]);
  expect(new Set(before).size).toBe(before.length);
  expect(before.filter((text) => text.startsWith('m')).length).toBeGreaterThanOrEqual(policy === 'rollback' ? 0 : 1);
  const rows = await runsOf(base, 'th');
  expect(rows.filter(({ status }) => status === 'cancelled')).toHaveLength(19);
  expect(rows.filter(({ status }) => status === 'finished')).toHaveLength(1);
  expect(logs.filter(({ level }) => Number(level) >= 50)).toEqual([]);
});

test('interrupt keeps what the first did and runs the last, not those between', async () => {
  const gate = createGate();
  const { base, post } = await server(twoSteps(gate.name));
  const onBusy = { forwardedProps: { onBusy: 'interrupt' } };
  const first = post(runInput('first', { threadId: 'th' }));
  await until(() => gate.arrived === 1);
  const others = ['second', 'third', 'last'].map((text) => post(runInput(text, { threadId: 'th', ...onBusy })));
  expect(endOf(await first)).toBe('cancelled');
  await until(() => gate.arrived >= 2);
  await until(async () => (await runsOf(base, 'th')).filter(({ finishedAt }) => finishedAt === null).length === 1);
  gate.open();
  const ends = (await Promise.all(others)).map(endOf);
  expect(ends.toSorted()).toEqual(['cancelled', 'cancelled', 'success']);
  const texts = await textsOf(base, 'th');
  expect(texts.slice(0, 2)).toEqual(['first', 'begun: first']);
  expect(texts.at(-1)).toMatch(/^done: /);
  expect(texts.filter((text) => text.startsWith('done: '))).toHaveLength(1);
});

test('forwardedProps.onBusy overrides the setting', async () => {
  const gate = createGate();
  const { post } = await server(counting(gate.name), { SERVICE_THREAD_POLICY: 'enqueue' });
  const first = post(runInput('first', { threadId: 'th' }));
  await until(() => gate.arrived === 1);
  const busy = (onBusy: unknown) => post(runInput('next', { threadId: 'th', forwardedProps: { onBusy } }));
  expect(endOf(await busy('reject'))).toBe('THREAD_BUSY');
  const next = busy('interrupt');
  expect(endOf(await first)).toBe('cancelled');
  gate.open();
  expect(endOf(await next)).toBe('success');
});

test.each(['wait', '', 7, {}])('a policy there is not (%j) is 422, on an idle thread too', async (onBusy) => {
  const { base } = await server(counting('none'));
  const stream = await openRun(base, runInput('hi', { threadId: 'th', forwardedProps: { onBusy } }));
  expect(stream.status).toBe(422);
  await stream.ended;
  expect(JSON.parse(stream.text)).toMatchObject({ detail: [{ loc: ['body', 'forwardedProps', 'onBusy'] }] });
  expect((await openRun(base, runInput('hi', { threadId: 'th' }))).status).toBe(200);
});

test.each(['300', '0'])(
  'the same run posted again, at once or later, is shown and not run (kept for %s s)',
  async (kept) => {
    const gate = createGate();
    const { base, post } = await server(counting(gate.name), { SERVICE_RUN_RETENTION_SECONDS: kept });
    const input = runInput('hi', { threadId: 'th' });
    const twins = [post(input), post(input), post({ ...input, forwardedProps: { onBusy: 'interrupt' } })];
    await until(() => gate.arrived === 1);
    twins.push(post(input));
    gate.open();
    const [first, ...others] = await Promise.all(twins);
    expect(endOf(first ?? [])).toBe('success');
    for (const other of others) expect(other.at(-1)).toEqual(first?.at(-1));
    const later = await post(input);
    expect(endOf(later)).toBe('success');
    if (kept === '300') {
      // Deltas may come together, the rest is the same.
      const rest = (events: WireEvent[] = []) => events.filter(({ type }) => type !== 'TEXT_MESSAGE_CONTENT');
      expect(rest(later)).toEqual(rest(first));
    }
    expect(ofType(later, 'MESSAGES_SNAPSHOT')).toEqual(ofType(first ?? [], 'MESSAGES_SNAPSHOT'));
    expect(gate.arrived).toBe(1);
    expect(await textsOf(base, 'th')).toEqual(['hi', 'answer to hi']);
  },
);

test.each(['300', '0'])('a run id that was used for something else is refused (kept for %s s)', async (kept) => {
  const gate = createGate();
  const { base, post } = await server(counting(gate.name), { SERVICE_RUN_RETENTION_SECONDS: kept });
  const input = runInput('hi', { threadId: 'th' });
  const other = { ...input, messages: runInput('something else').messages };
  const first = post(input);
  await until(() => gate.arrived === 1);
  expect((await openRun(base, other)).status).toBe(409);
  gate.open();
  await first;
  expect((await openRun(base, other)).status).toBe(409);
  expect(await textsOf(base, 'th')).toEqual(['hi', 'answer to hi']);
});
