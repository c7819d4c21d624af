import { expect, test } from 'vitest';
import type { CheckpointerConfig } from '../../src/engine/memory/index.ts';
import { createTestApp } from '../support/app.ts';
import { interruptsOf } from '../support/client.ts';
import { createGate, until } from '../support/gates.ts';
import { GRAPH_FILES } from '../support/graphs.ts';
import { LASTING, MEMORIES } from '../support/memories.ts';
import { parseEvents, runInput, type WireEvent } from '../support/runs.ts';
import { openRun } from '../support/streams.ts';
import { asksFirst, twoSteps } from './agents.ts';
import { cancelRun, endOf, heldAfter, streamText, textsOf, untilRun } from './support.ts';

const ROLLBACK = { forwardedProps: { onBusy: 'rollback' } };

async function server(
  agent: string,
  checkpointer: CheckpointerConfig = { type: 'memory' },
  env: Record<string, string> = {},
) {
  const files = { ...GRAPH_FILES, 'agent.ts': agent };
  const made = await createTestApp({ files, agent: 'agent.ts', defaultCheckpointer: checkpointer, env });
  const base = await made.listen();
  const post = async (input: ReturnType<typeof runInput>): Promise<WireEvent[]> => (await openRun(base, input)).all();
  return { ...made, base, post };
}

test.each(MEMORIES)('the first run of a thread leaves nothing (%s)', async (_, memory) => {
  const gate = createGate();
  const { base, post } = await server(twoSteps(gate.name), await memory());
  const first = post(runInput('first', { threadId: 'th' }));
  await until(() => gate.arrived === 1);
  const second = post(runInput('second', { threadId: 'th', ...ROLLBACK }));
  expect(endOf(await first)).toBe('cancelled');
  gate.open();
  expect(endOf(await second)).toBe('success');
  expect(await textsOf(base, 'th')).toEqual(['second', 'begun: second', 'done: second']);
});

test.each(MEMORIES)('a later run leaves the conversation as it was before it (%s)', async (_, memory) => {
  const gate = createGate();
  const { app, base, post } = await server(twoSteps(), await memory());
  await post(runInput('first', { threadId: 'th' }));
  const before = ['first', 'begun: first', 'done: first'];
  const second = post(runInput(gate.name, { threadId: 'th' }));
  await until(() => gate.arrived === 1);
  // What a step has written is stored while the next one runs.
  await expect.poll(() => textsOf(base, 'th')).toEqual([...before, gate.name, `begun: ${gate.name}`]);
  const third = post(runInput('third', { threadId: 'th', ...ROLLBACK }));
  expect(endOf(await second)).toBe('cancelled');
  expect(endOf(await third)).toBe('success');
  const after = [...before, 'third', 'begun: third', 'done: third'];
  expect(await textsOf(base, 'th')).toEqual(after);
  gate.open();
  await post(runInput('fourth', { threadId: 'th' }));
  const last = [...after, 'fourth', 'begun: fourth', 'done: fourth'];
  expect(await textsOf(base, 'th')).toEqual(last);
  const { messages } = await heldAfter(await streamText(app, '/agent/threads/th/events'));
  expect(messages.map(({ content }) => content)).toEqual(last);
});

test.each(LASTING)(
  'what was forgotten stays so when the run that took over never begins, and after a restart (%s)',
  async (_, memory) => {
    const [gate, other] = [createGate(), createGate()];
    const checkpointer = await memory();
    const one = await server(twoSteps(), checkpointer, { SERVICE_MAX_CONCURRENT_RUNS: '1' });
    await one.post(runInput('first', { threadId: 'th' }));
    const before = ['first', 'begun: first', 'done: first'];
    const second = one.post(runInput(gate.name, { threadId: 'th' }));
    await until(() => gate.arrived === 1);
    // A run of another thread is next in line, so that the one that takes over has to wait.
    const next = runInput(other.name);
    const nextEvents = one.post(next);
    await untilRun(one.base, next.runId, 'queued');
    const third = runInput('third', { threadId: 'th', ...ROLLBACK });
    const thirdEvents = one.post(third);
    expect(endOf(await second)).toBe('cancelled');
    await until(() => other.arrived === 1);
    expect(await textsOf(one.base, 'th')).toEqual(before);
    expect((await cancelRun(one.base, third.runId)).body).toMatchObject({ status: 'cancelled', startedAt: null });
    expect(endOf(await thirdEvents)).toBe('cancelled');
    other.open();
    await nextEvents;
    await one.app.close();
    const two = await createTestApp({ root: one.root, agent: 'agent.ts', defaultCheckpointer: checkpointer });
    const base = await two.listen();
    expect(await textsOf(base, 'th')).toEqual(before);
    await (await openRun(base, runInput('fourth', { threadId: 'th' }))).all();
    expect(await textsOf(base, 'th')).toEqual([...before, 'fourth', 'begun: fourth', 'done: fourth']);
  },
);

test.each(MEMORIES)(
  'an answer that is rolled back leaves the question open, to be answered (%s)',
  async (_, memory) => {
    const act = createGate();
    const { app, base, post } = await server(asksFirst(act.name), await memory());
    const input = runInput('hi', { threadId: 'th' });
    const [asked] = interruptsOf({ events: await post(input) });
    const answer = (payload: string, runId: string) =>
      runInput('', {
        threadId: 'th',
        runId,
        messages: input.messages,
        resume: [{ interruptId: asked?.id ?? '', status: 'resolved', payload }],
      });
    const first = post(answer('no', 'run-no'));
    await until(() => act.arrived === 1);
    // Nothing new to say: the agent asks again.
    const again = post(runInput('', { threadId: 'th', messages: input.messages, ...ROLLBACK }));
    expect(endOf(await first)).toBe('cancelled');
    expect(interruptsOf({ events: await again })).toEqual([asked]);
    expect(interruptsOf({ events: parseEvents(await streamText(app, '/agent/threads/th/events')) })).toEqual([asked]);
    expect(await textsOf(base, 'th')).toEqual(['hi']);
    act.open();
    expect(endOf(await post(answer('yes', 'run-yes')))).toBe('success');
    expect(await textsOf(base, 'th')).toEqual(['hi', 'answer: "yes"', 'booked']);
    expect(act.arrived).toBe(2);
  },
);

test.each(['reject', 'enqueue', 'interrupt', 'rollback'])(
  'the same approval sent twice acts once (%s)',
  async (policy) => {
    const act = createGate();
    const { base, post } = await server(asksFirst(act.name), undefined, { SERVICE_THREAD_POLICY: policy });
    const input = runInput('hi', { threadId: 'th' });
    const [asked] = interruptsOf({ events: await post(input) });
    const resume = [{ interruptId: asked?.id ?? '', status: 'resolved' as const, payload: 'yes' }];
    const approval = () => runInput('', { threadId: 'th', messages: input.messages, resume });
    const second = approval();
    const twins = [post(approval()), post(second)];
    await until(() => act.arrived === 1);
    const third = approval();
    const late = post(third);
    if (policy === 'enqueue') await untilRun(base, third.runId, 'queued');
    else expect(endOf(await late)).toBe(policy === 'reject' ? 'THREAD_BUSY' : 'INTERRUPT_UNKNOWN');
    act.open();
    const ends = (await Promise.all(twins)).map(endOf).toSorted();
    expect(ends).toEqual([policy === 'reject' ? 'THREAD_BUSY' : 'INTERRUPT_UNKNOWN', 'success']);
    if (policy === 'enqueue') expect(endOf(await late)).toBe('INTERRUPT_UNKNOWN');
    expect(endOf(await post(approval()))).toBe('INTERRUPT_UNKNOWN');
    expect(act.arrived).toBe(1);
    expect(await textsOf(base, 'th')).toEqual(['hi', 'answer: "yes"', 'booked']);
  },
);

test('after a rollback an edited message goes on from what is there, not from what was forgotten', async () => {
  const gate = createGate();
  const { base, post } = await server(twoSteps());
  await post(runInput('first', { threadId: 'th' }));
  const second = post(runInput(gate.name, { threadId: 'th' }));
  await until(() => gate.arrived === 1);
  const third = runInput('third', { threadId: 'th', forwardedProps: { onBusy: 'rollback' } });
  const thirdEvents = post(third);
  await second;
  await thirdEvents;
  const [message] = third.messages;
  const edited = { ...message, content: 'edited' } as typeof message & object;
  await post(runInput('', { threadId: 'th', messages: [edited] }));
  expect(await textsOf(base, 'th')).toEqual([
    'first',
    'begun: first',
    'done: first',
    'edited',
    'begun: edited',
    'done: edited',
  ]);
});
