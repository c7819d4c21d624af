import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { createTestApp, writeFiles } from '../support/app.ts';
import { createGate, gatedAgent, until } from '../support/gates.ts';
import { runInput, textOf } from '../support/runs.ts';
import { openRun, openSocket, openStream, postText } from '../support/streams.ts';

test('a client that vanishes loses its stream only: the run goes on, is kept, and gives its lease back', async () => {
  const { app, listen, logs, root } = await createTestApp({
    files: { 'agent.ts': gatedAgent('v1') },
    agent: 'agent.ts',
  });
  const base = await listen();
  const gate = createGate();
  const input = runInput(gate.name);
  const stream = await openRun(base, input);
  await stream.event(({ name }) => name === 'working');
  stream.destroy();
  expect(await stream.ended).toBe('broken');
  await until(() => logs.some(({ msg }) => String(msg).includes('reader left')), 'the server to notice');

  // The run is still there: its thread is busy, and a reload keeps its agent open.
  const busy = await (await openRun(base, runInput('me too', { threadId: input.threadId }))).all();
  expect(busy.at(-1)).toMatchObject({ code: 'THREAD_BUSY' });
  writeFiles(root, { 'agent.ts': gatedAgent('v2') });
  expect((await fetch(`${base}/reload`, { method: 'POST' })).status).toBe(200);
  expect(logs.filter(({ msg }) => msg === 'agent is closed')).toEqual([]);

  gate.open();
  await until(() => logs.some(({ msg, generation }) => msg === 'agent is closed' && generation === 1), 'generation 1');
  const detail = await (await fetch(`${base}/agent/sessions/${input.threadId}`)).json();
  expect((detail as { messages: { content: string }[] }).messages.map(({ content }) => content)).toEqual([
    gate.name,
    `v1: ${gate.name}`,
  ]);
  const next = await (await openRun(base, runInput('now', { threadId: input.threadId }))).all();
  expect(textOf(next)).toBe('v2: now');
  expect(app.services.holder.current?.generation).toBe(2);
});

test('clients that vanish before the first byte, or in the middle of their request, do no harm', async () => {
  const { listen, logs } = await createTestApp({ files: { 'agent.ts': gatedAgent('v1') }, agent: 'agent.ts' });
  const base = await listen();
  for (let index = 0; index < 20; index += 1) {
    const socket = await openSocket(base);
    const text = postText('/agent/run', runInput('bye'));
    socket.write(index % 2 === 0 ? text : text.slice(0, -10));
    socket.destroy();
  }
  const stream = await openRun(base, runInput('hi'));
  expect(textOf(await stream.all())).toBe('v1: hi');
  expect(logs.filter(({ level }) => Number(level) >= 50)).toEqual([]);
});

/** Bytes in use once all garbage is gone. How much of that the system still lends the process differs between Nodes. */
function heldBytes(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Emits \`megabytes\` of custom events, pausing after each 64 KiB so that the rest of the process has its turn. */
const FLOOD = `
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { AIMessage } from '@langchain/core/messages';
import { emitCustom } from 'agent-engine-server/agent';
const block = 'x'.repeat(64 * 1024);
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('work', async (state) => {
    const megabytes = Number(state.messages.at(-1).content);
    for (let sent = 0; sent < megabytes * 16; sent += 1) {
      emitCustom('block', block);
      await new Promise((resolve) => setImmediate(resolve));
    }
    return { messages: [new AIMessage('flooded ' + megabytes)] };
  })
  .addEdge(START, 'work').addEdge('work', END);
`;

test('a client that never reads costs bounded memory: it is cut off, its run and the others go on', async () => {
  const { listen, logs } = await createTestApp({
    files: { 'agent.ts': FLOOD },
    agent: 'agent.ts',
    env: { SERVICE_STREAM_BUFFER_BYTES: '1048576' },
  });
  const base = await listen();
  const input = runInput('256');
  const before = heldBytes();
  const socket = await openSocket(base);
  socket.write(postText('/agent/run', input));
  const startedAt = performance.now();
  const others = await Promise.all(['1', '2', '3'].map(async (size) => (await openRun(base, runInput(size))).all()));
  expect(others.map((events) => textOf(events))).toEqual(['flooded 1', 'flooded 2', 'flooded 3']);
  const othersTook = performance.now() - startedAt;

  await until(() => logs.some(({ msg }) => String(msg).includes('cut off')), 'the cut', 20_000);
  // Held at the cut, the most it ever is: what is not read yet, and the run's log.
  expect(heldBytes() - before).toBeLessThan(64 * 1024 * 1024);
  const cut = logs.find(({ msg }) => String(msg).includes('cut off'));
  expect(cut).toMatchObject({ runId: input.runId, threadId: input.threadId });
  await until(
    () => logs.some(({ msg, runId, status }) => msg === 'run ended' && runId === input.runId && status === 'finished'),
    'the end of the run',
    20_000,
  );
  // 256 MB were emitted; none of it stays but the bounded log.
  expect(heldBytes() - before).toBeLessThan(32 * 1024 * 1024);
  expect(othersTook).toBeLessThan(5_000);
  const detail = await (await fetch(`${base}/agent/sessions/${input.threadId}`)).json();
  expect((detail as { messages: unknown[] }).messages).toHaveLength(2);
  const next = await (await openRun(base, runInput('1', { threadId: input.threadId }))).all();
  expect(textOf(next)).toBe('flooded 1');
});

test('the connection of a reader that was cut off is closed, not left half open', async () => {
  const { listen, logs } = await createTestApp({
    files: { 'agent.ts': FLOOD },
    agent: 'agent.ts',
    env: { SERVICE_STREAM_BUFFER_BYTES: '65536' },
  });
  const socket = await openSocket(await listen());
  socket.write(postText('/agent/run', runInput('64')));
  await until(() => logs.some(({ msg }) => String(msg).includes('cut off')), 'the cut');
  let text = '';
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.on('data', (data) => {
    text = (text + String(data)).slice(-1000);
  });
  socket.resume();
  await closed;
  expect(text).not.toContain('RUN_FINISHED');
});

test('a slow reader that keeps reading gets everything', async () => {
  const { listen } = await createTestApp({
    files: { 'agent.ts': FLOOD },
    agent: 'agent.ts',
    env: { SERVICE_STREAM_BUFFER_BYTES: '4194304' },
  });
  const base = await listen();
  const socket = await openSocket(base);
  socket.write(postText('/agent/run', runInput('24'), { connection: 'close' }));
  let bytes = 0;
  let tail = '';
  socket.on('data', (data) => {
    bytes += data.length;
    tail = (tail + String(data)).slice(-2000);
    // A moment's rest after each piece.
    socket.pause();
    setTimeout(() => socket.resume(), 1);
  });
  socket.resume();
  await new Promise((resolve) => socket.once('close', resolve));
  expect(bytes).toBeGreaterThan(24 * 1024 * 1024);
  expect(tail).toContain('RUN_FINISHED');
});

test('with the smallest buffer a reader that reads still gets frames larger than it', async () => {
  const agent = FLOOD.replace('64 * 1024', '700 * 1024').replace('megabytes * 16', '20');
  const { listen } = await createTestApp({
    files: { 'agent.ts': agent },
    agent: 'agent.ts',
    env: { SERVICE_STREAM_BUFFER_BYTES: '65536' },
  });
  const stream = await openRun(await listen(), runInput('1'));
  const events = await stream.all();
  expect(events.filter(({ name }) => name === 'block')).toHaveLength(20);
  expect(events.at(-1)?.type).toBe('RUN_FINISHED');
});

test('a deprecated stream whose reader vanishes goes on as well', async () => {
  const { listen } = await createTestApp({ files: { 'agent.ts': gatedAgent('v1') }, agent: 'agent.ts' });
  const base = await listen();
  const gate = createGate();
  const stream = await openStream(base, { session_id: 'gone', query: gate.name }, { path: '/agent/stream' });
  await until(() => stream.text.includes('working'));
  stream.destroy();
  gate.open();
  await until(async () => {
    const answer = await fetch(`${base}/agent/sessions/gone`);
    return answer.ok && ((await answer.json()) as { messages: object[] }).messages.length === 2;
  }, 'the answer in the history');
});
