import { Agent } from 'node:http';
import { expect, test } from 'vitest';
import { ECHO } from '../support/agents.ts';
import { createTestApp, type TestAppOptions, writeFiles } from '../support/app.ts';
import { createGate, gatedAgent, until } from '../support/gates.ts';
import { runInput, textOf } from '../support/runs.ts';
import { openRun, openSocket, openStream, postText, terminal } from '../support/streams.ts';

async function serve(options: TestAppOptions = {}) {
  const server = await createTestApp({
    agent: 'agent.ts',
    ...options,
    files: { 'agent.ts': gatedAgent('v1'), ...options.files },
  });
  return { ...server, base: await server.listen() };
}

test('closing lets running streams end whole', async () => {
  const { app, base, logs } = await serve();
  const gate = createGate();
  const streams = await Promise.all(Array.from({ length: 30 }, () => openRun(base, runInput(gate.name))));
  await until(() => gate.arrived === 30);
  let closed = false;
  const closing = app.close().then(() => {
    closed = true;
  });
  await until(async () => (await fetch(`${base}/agent/capabilities`).catch(() => undefined))?.status !== 200);
  expect(closed).toBe(false);
  gate.open();
  for (const stream of streams) {
    const events = await stream.all();
    expect(textOf(events)).toBe(`v1: ${gate.name}`);
    expect(events.at(-1)?.type).toBe('RUN_FINISHED');
  }
  await closing;
  expect(logs.filter(({ level }) => Number(level) >= 50)).toEqual([]);
  expect(logs.some(({ msg }) => msg === 'agent is closed')).toBe(true);
});

test('what a stream still has to send when its run ends during the close arrives, however much it is', async () => {
  const agent = gatedAgent('v1').replace("': ' + text", "': ' + 'x'.repeat(8 * 1024 * 1024)");
  const { app, base } = await serve({ files: { 'agent.ts': agent } });
  const gate = createGate();
  const stream = await openRun(base, runInput(gate.name));
  await until(() => gate.arrived === 1);
  const closing = app.close();
  gate.open();
  expect((await stream.all()).at(-1)?.type).toBe('RUN_FINISHED');
  await closing;
});

test('a run during the close is told 503 as JSON', async () => {
  const { app, base } = await serve();
  const gate = createGate();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  // A connection that is open already; new ones are refused sooner or later.
  const before = await openStream(base, runInput('hi'), { agent });
  await before.all();
  const running = await openRun(base, runInput(gate.name));
  await until(() => gate.arrived === 1);
  const closing = app.close();
  await until(() => app.services.holder.current === undefined);
  const refused = await openStream(base, runInput('too late'), { agent });
  expect(refused.status).toBe(503);
  expect(refused.headers['content-type']).toMatch(/^application\/json/);
  await refused.ended;
  expect(Object.keys(JSON.parse(refused.text) as object)).toContain('detail');
  expect(refused.headers['x-request-id']).toMatch(/^[\w-]{8,}$/);
  gate.open();
  expect((await running.all()).at(-1)?.type).toBe('RUN_FINISHED');
  await closing;
  agent.destroy();
});

test.each(['0', '1'])('streams that outlive a drain time of %s s end with SHUTTING_DOWN', async (seconds) => {
  const { app, base } = await serve({ env: { SERVICE_DRAIN_TIMEOUT_SECONDS: seconds } });
  const gate = createGate();
  const streams = await Promise.all(Array.from({ length: 10 }, () => openRun(base, runInput(gate.name))));
  await until(() => gate.arrived === 10);
  const startedAt = performance.now();
  await app.close();
  const took = performance.now() - startedAt;
  expect(took).toBeGreaterThanOrEqual(Number(seconds) * 950);
  expect(took).toBeLessThan(Number(seconds) * 1000 + 3_500);
  for (const stream of streams) {
    const events = await stream.all();
    expect(terminal(events)).toEqual([events.at(-1)]);
    expect(events.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'SHUTTING_DOWN' });
  }
});

test('an agent that ignores its signal holds the close up for seconds only', async () => {
  const agent = `
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('work', () => new Promise(() => {}))
  .addEdge(START, 'work').addEdge('work', END);`;
  const { app, base } = await serve({ files: { 'agent.ts': agent }, env: { SERVICE_DRAIN_TIMEOUT_SECONDS: '0' } });
  const stream = await openRun(base, runInput('hi'));
  await stream.event(({ type }) => type === 'RUN_STARTED');
  const startedAt = performance.now();
  await app.close();
  expect(performance.now() - startedAt).toBeLessThan(4_000);
  expect((await stream.all()).at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'SHUTTING_DOWN' });
});

test('idle connections do not hold the close up', async () => {
  const { app, base } = await serve();
  const agent = new Agent({ keepAlive: true });
  await (await openStream(base, runInput('hi'), { agent })).all();
  await openSocket(base);
  const startedAt = performance.now();
  await app.close();
  expect(performance.now() - startedAt).toBeLessThan(1_000);
  agent.destroy();
});

test('a reader that does not read holds the close up for seconds only', async () => {
  const agent = `
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { emitCustom } from 'agent-engine-server/agent';
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('work', async () => { emitCustom('block', 'x'.repeat(16 * 1024 * 1024)); return {}; })
  .addEdge(START, 'work').addEdge('work', END);`;
  const { app, base, logs } = await serve({
    files: { 'agent.ts': agent },
    env: { SERVICE_DRAIN_TIMEOUT_SECONDS: '1' },
  });
  const socket = await openSocket(base);
  socket.write(postText('/agent/run', runInput('hi')));
  await until(() => logs.some(({ msg }) => msg === 'run ended'), 'the end of the run');
  const startedAt = performance.now();
  await app.close();
  expect(performance.now() - startedAt).toBeLessThan(7_000);
});

test('closing twice, or before listening, is no fault', async () => {
  const { app } = await createTestApp({ files: { 'agent.ts': ECHO }, agent: 'agent.ts' });
  await Promise.all([app.close(), app.close()]);
  await app.close();
});

test('a reload under way while the server closes leaves no agent open', async () => {
  const { app, base, root, logs } = await serve();
  const gate = createGate();
  writeFiles(root, { 'agent.ts': `await globalThis.testGates.pass('${gate.name}');\n${gatedAgent('v2')}` });
  const reloading = fetch(`${base}/reload`, { method: 'POST' }).catch(() => undefined);
  await until(() => gate.arrived === 1);
  const closing = app.close();
  await until(() => app.services.holder.current === undefined);
  gate.open();
  await closing;
  await reloading;
  const lines = (text: string): unknown[] => logs.filter(({ msg }) => String(msg).startsWith(text));
  // The build ends one way or the other; an agent that went live after all must have been closed again.
  await until(() => lines('agent is live').length === 2 || lines('reload failed').length === 1, 'the end of the build');
  await until(() => lines('agent is closed').length === lines('agent is live').length, 'all agents closed', 2_000);
  expect(app.services.holder.current).toBeUndefined();
});

test('a stream whose run ends at the moment of the close is still whole', async () => {
  for (let round = 0; round < 10; round += 1) {
    const { app, base } = await serve({ files: { 'agent.ts': ECHO } });
    const streams = await Promise.all(Array.from({ length: 10 }, () => openRun(base, runInput('hi'))));
    await app.close();
    for (const stream of streams) expect((await stream.all()).at(-1)?.type).toBe('RUN_FINISHED');
  }
});
