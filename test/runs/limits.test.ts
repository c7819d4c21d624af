import { expect, test } from 'vitest';
import { PROBLEMS } from '../../src/problems.ts';
import { createTestApp } from '../support/app.ts';
import { createGate, gatedAgent, until } from '../support/gates.ts';
import { GRAPH_FILES, messagesGraph } from '../support/graphs.ts';
import { ofType, runInput, textOf } from '../support/runs.ts';
import { openRun } from '../support/streams.ts';
import { endOf, getJson, untilRun } from './support.ts';

async function server(agent: string, env: Record<string, string> = {}) {
  const made = await createTestApp({ files: { ...GRAPH_FILES, 'agent.ts': agent }, agent: 'agent.ts', env });
  return { ...made, base: await made.listen() };
}

test('twenty runs of twenty threads: at most two at once, and all end', async () => {
  const agent = messagesGraph(
    `.addNode('work', async (state) => {
      now += 1;
      emitCustom('now', now);
      for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      now -= 1;
      return { messages: [new AIMessage('heard ' + state.messages.at(-1).content)] };
    }).addEdge(START, 'work').addEdge('work', END)`,
    `const { emitCustom } = await import('agent-engine-server/agent');
    let now = 0;`,
  );
  const { base } = await server(agent, { SERVICE_MAX_CONCURRENT_RUNS: '2' });
  const runs = await Promise.all(
    Array.from({ length: 20 }, async (_, index) => (await openRun(base, runInput(`m${index}`))).all()),
  );
  expect(runs.map(textOf)).toEqual(runs.map((_, index) => `heard m${index}`));
  const most = runs.flatMap((events) => ofType(events, 'CUSTOM').map(({ value }) => Number(value)));
  expect(Math.max(...most)).toBe(2);
});

test('without a queue the third of two is 429, and may come again', async () => {
  const gate = createGate();
  const env = { SERVICE_MAX_CONCURRENT_RUNS: '2', SERVICE_MAX_QUEUED_RUNS: '0' };
  const { base } = await server(gatedAgent('v1'), env);
  const streams = await Promise.all(Array.from({ length: 20 }, () => postText(base, gate.name)));
  const refused = streams.filter(({ status }) => status === 429);
  expect(refused).toHaveLength(18);
  expect(refused[0]?.headers.get('retry-after')).toMatch(/^([1-9]|[1-5]\d|60)$/);
  expect(await refused[0]?.json()).toMatchObject({ detail: PROBLEMS.too_many_runs.message });
  await until(() => gate.arrived === 2);
  gate.open();
  for (const stream of streams.filter(({ status }) => status === 200)) await stream.text();
  expect(textOf(await (await openRun(base, runInput('now'))).all())).toBe('v1: now');
  expect(gate.arrived).toBe(2);
});

function postText(base: string, text: string): Promise<Response> {
  return fetch(`${base}/agent/run`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(runInput(text)),
  });
}

test('a run that was turned away leaves no row, and may be sent again with its ids', async () => {
  const gate = createGate();
  const env = { SERVICE_MAX_CONCURRENT_RUNS: '1', SERVICE_MAX_QUEUED_RUNS: '0' };
  const { base } = await server(gatedAgent('v1'), env);
  const first = await openRun(base, runInput(gate.name));
  const second = runInput('second');
  expect((await openRun(base, second)).status).toBe(429);
  expect((await getJson(base, `/agent/runs/${second.runId}`)).status).toBe(404);
  gate.open();
  await first.all();
  expect(textOf(await (await openRun(base, second)).all())).toBe('v1: second');
});

test('attaching to a run takes no place', async () => {
  const gate = createGate();
  const env = { SERVICE_MAX_CONCURRENT_RUNS: '1', SERVICE_MAX_QUEUED_RUNS: '0' };
  const { base } = await server(gatedAgent('v1'), env);
  const input = runInput(gate.name);
  const first = await openRun(base, input);
  const twin = await openRun(base, input);
  expect(twin.status).toBe(200);
  gate.open();
  await Promise.all([first.all(), twin.all()]);
  expect(gate.arrived).toBe(1);
});

test('places come back however a run ends: refused as busy, cancelled, or finished', async () => {
  const gate = createGate();
  const env = { SERVICE_MAX_CONCURRENT_RUNS: '1', SERVICE_MAX_QUEUED_RUNS: '1' };
  const { base } = await server(gatedAgent('v1'), env);
  const first = await openRun(base, runInput(gate.name, { threadId: 'th' }));
  await until(() => gate.arrived === 1);
  for (let time = 0; time < 5; time += 1) {
    expect(endOf(await (await openRun(base, runInput('busy', { threadId: 'th' }))).all())).toBe('THREAD_BUSY');
    const waiting = runInput('waiting');
    const stream = openRun(base, waiting);
    await untilRun(base, waiting.runId, 'queued');
    await fetch(`${base}/agent/runs/${waiting.runId}/cancel`, { method: 'POST' });
    expect(endOf(await (await stream).all())).toBe('cancelled');
  }
  gate.open();
  await first.all();
  for (let time = 0; time < 5; time += 1) {
    expect(textOf(await (await openRun(base, runInput('next'))).all())).toBe('v1: next');
  }
});

test('a run that takes longer than it may ends with EXECUTION_TIMEOUT, and its thread is free', async () => {
  const gate = createGate();
  const { base } = await server(gatedAgent('v1'), { SERVICE_RUN_TIMEOUT_SECONDS: '1' });
  const input = runInput(gate.name);
  expect(endOf(await (await openRun(base, input)).all())).toBe('EXECUTION_TIMEOUT');
  expect((await getJson(base, `/agent/runs/${input.runId}`)).body).toMatchObject({
    status: 'failed',
    errorCode: 'EXECUTION_TIMEOUT',
  });
  expect(endOf(await (await openRun(base, runInput('next', { threadId: input.threadId }))).all())).toBe('success');
});
