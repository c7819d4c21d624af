import { Agent } from 'node:http';
import { expect, test } from 'vitest';
import { ECHO } from '../support/agents.ts';
import { createTestApp } from '../support/app.ts';
import { createGate, gatedAgent, until } from '../support/gates.ts';
import { ofType, runInput, textOf } from '../support/runs.ts';
import { openRun, openSocket, openStream, postText, terminal } from '../support/streams.ts';

async function gatedServer(env: Record<string, string> = {}) {
  const server = await createTestApp({ files: { 'agent.ts': gatedAgent('v1') }, agent: 'agent.ts', env });
  return { ...server, base: await server.listen() };
}

test('the stream has the headers of the contract', async () => {
  const { base } = await gatedServer();
  const stream = await openRun(base, runInput('hi'), { 'accept-encoding': 'gzip, br', accept: 'text/event-stream' });
  expect(stream.status).toBe(200);
  expect(stream.headers['content-type']).toMatch(/^text\/event-stream/);
  expect(stream.headers['cache-control']).toBe('no-cache, no-transform');
  expect(stream.headers['x-accel-buffering']).toBe('no');
  expect(stream.headers['content-encoding']).toBeUndefined();
  expect(stream.headers['content-length']).toBeUndefined();
  expect(stream.headers['x-request-id']).toMatch(/^[\w-]{8,}$/);
  await stream.all();
});

test.each(['*/*', 'application/json', 'application/vnd.ag-ui.event+proto, text/event-stream', ''])(
  'whatever is accepted (%j), text frames are sent and called so',
  async (accept) => {
    const { base } = await gatedServer();
    const stream = await openRun(base, runInput('hi'), { accept });
    expect(stream.headers['content-type']).toMatch(/^text\/event-stream/);
    expect((await stream.all()).at(-1)?.type).toBe('RUN_FINISHED');
  },
);

test('the caller’s request id is on the stream', async () => {
  const { base } = await gatedServer();
  const stream = await openRun(base, runInput('hi'), { 'x-request-id': 'trace-me-1' });
  expect(stream.headers['x-request-id']).toBe('trace-me-1');
  await stream.all();
});

test('each frame is its number, one data line of JSON and a blank line, with LF only', async () => {
  const { base } = await gatedServer();
  const stream = await openRun(base, runInput('line one\nline two\r\nline three \u2028 🚂'));
  await stream.all();
  expect(stream.text).not.toContain('\r');
  expect(stream.text.endsWith('\n\n')).toBe(true);
  const frames = stream.text.slice(0, -2).split('\n\n');
  expect(frames.length).toBeGreaterThan(5);
  for (const frame of frames) {
    expect(frame).toMatch(/^id: \d+\ndata: \{[^\n]*\}$/);
    const event = JSON.parse(frame.slice(frame.indexOf('data: ') + 'data: '.length)) as Record<string, unknown>;
    expect(Object.values(event)).not.toContain(null);
  }
  expect(textOf(stream.events())).toContain('🚂');
});

test('exactly one terminal event ends the stream and nothing follows', async () => {
  const { base } = await gatedServer();
  const stream = await openRun(base, runInput('hi'));
  const events = await stream.all();
  expect(events[0]?.type).toBe('RUN_STARTED');
  expect(terminal(events)).toHaveLength(1);
  expect(events.at(-1)).toBe(terminal(events)[0]);
});

test('the first events arrive while the agent is still at work', async () => {
  const { base } = await gatedServer();
  const gate = createGate();
  const stream = await openRun(base, runInput(gate.name));
  await stream.event(({ type }) => type === 'RUN_STARTED');
  await stream.event(({ type, name }) => type === 'CUSTOM' && name === 'working');
  expect(terminal(stream.events())).toEqual([]);
  gate.open();
  expect((await stream.all()).at(-1)?.type).toBe('RUN_FINISHED');
});

test('silence is broken by a comment, over and over, and clients can ignore it', async () => {
  const { base } = await gatedServer({ SERVICE_HEARTBEAT_SECONDS: '1' });
  const gate = createGate();
  const stream = await openRun(base, runInput(gate.name));
  await stream.event(({ name }) => name === 'working');
  const startedAt = performance.now();
  await until(() => stream.text.split(': ping\n\n').length === 3, 'two pings');
  expect(performance.now() - startedAt).toBeGreaterThan(1_500);
  gate.open();
  const events = await stream.all();
  expect(events.at(-1)?.type).toBe('RUN_FINISHED');
  expect(stream.text).toMatch(/^(?:id: \d+\ndata: \{.*\}\n\n|: ping\n\n)+$/u);
});

test('a stream that is not silent gets no comment', async () => {
  const agent = `
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { emitCustom } from 'agent-engine-server/agent';
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('work', async () => {
    const end = Date.now() + 1600;
    while (Date.now() < end) {
      emitCustom('tick', 1);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    return {};
  })
  .addEdge(START, 'work').addEdge('work', END);`;
  const env = { SERVICE_HEARTBEAT_SECONDS: '1' };
  const { listen } = await createTestApp({ files: { 'agent.ts': agent }, agent: 'agent.ts', env });
  const stream = await openRun(await listen(), runInput('hi'));
  await stream.all();
  expect(stream.text).not.toContain(': ping');
});

test('what an agent emits in one turn leaves in few writes', async () => {
  const agent = `
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { emitCustom } from 'agent-engine-server/agent';
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('work', () => {
    for (let index = 0; index < 200; index += 1) emitCustom('tick', index);
    return {};
  })
  .addEdge(START, 'work').addEdge('work', END);`;
  const { listen } = await createTestApp({ files: { 'agent.ts': agent }, agent: 'agent.ts' });
  const stream = await openRun(await listen(), runInput('hi'));
  const ticks = ofType(await stream.all(), 'CUSTOM');
  expect(ticks.map(({ value }) => value)).toEqual(Array.from({ length: 200 }, (_, index) => index));
  expect(stream.pieces.filter((piece) => piece.includes('"tick"')).length).toBeLessThanOrEqual(10);
});

test('a page on loopback can read the stream: it carries CORS', async () => {
  const { base } = await gatedServer();
  const stream = await openRun(base, runInput('hi'), { origin: 'http://localhost:3000' });
  expect(stream.headers['access-control-allow-origin']).toBe('http://localhost:3000');
  expect(stream.headers['access-control-allow-credentials']).toBeUndefined();
  expect(String(stream.headers.vary).toLowerCase()).toContain('origin');
  await stream.all();
});

test('frames of many bytes arrive whole', async () => {
  const { base } = await gatedServer();
  const text = 'long '.repeat(400_000);
  const stream = await openRun(base, runInput(text));
  const events = await stream.all();
  expect(textOf(events)).toBe(`v1: ${text}`);
});

test('many runs over one kept-alive connection leave nothing behind on it', async () => {
  const { app, listen } = await createTestApp({ files: { 'agent.ts': ECHO }, agent: 'agent.ts' });
  const base = await listen();
  const warnings: Error[] = [];
  const note = (warning: Error): void => void warnings.push(warning);
  process.on('warning', note);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  let connections = 0;
  app.server.on('connection', () => {
    connections += 1;
  });
  try {
    for (let index = 0; index < 25; index += 1) {
      const stream = await openStream(base, runInput(`run ${index}`), { agent });
      expect(textOf(await stream.all())).toBe(`you said: run ${index}`);
    }
    await new Promise((resolve) => setImmediate(resolve));
    expect(connections).toBe(1);
    expect(warnings.map(({ name, message }) => `${name}: ${message}`)).toEqual([]);
  } finally {
    process.off('warning', note);
    agent.destroy();
  }
});

test('two requests sent at once on one connection are answered in order', async () => {
  const { base } = await gatedServer();
  const socket = await openSocket(base);
  const first = createGate();
  socket.write(postText('/agent/run', runInput(first.name)));
  socket.write(postText('/agent/run', runInput('second'), { connection: 'close' }));
  let text = '';
  socket.on('data', (data) => {
    text += String(data);
  });
  socket.resume();
  await until(() => text.includes('"working"'));
  first.open();
  await new Promise((resolve) => socket.once('close', resolve));
  expect(text.split('HTTP/1.1 200 OK')).toHaveLength(3);
  expect(text.split('"RUN_FINISHED"')).toHaveLength(3);
  expect(text.indexOf(`v1: ${first.name}`)).toBeLessThan(text.indexOf('v1: second'));
});

test('deprecated routes stream the same way and say what replaces them', async () => {
  const { base } = await gatedServer();
  const twin = await openStream(base, runInput('hi'), { path: '/agent/clientkit/stream' });
  expect(twin.headers.deprecation).toBe('true');
  expect(twin.headers.link).toBe('</agent/run>; rel="successor-version"');
  expect((await twin.all()).at(-1)?.type).toBe('RUN_FINISHED');

  const legacy = await openStream(base, { session_id: 's1', query: 'hi' }, { path: '/agent/stream' });
  expect(legacy.headers['content-type']).toMatch(/^text\/event-stream/);
  expect(legacy.headers.deprecation).toBe('true');
  expect(await legacy.ended).toBe('whole');
  const frames = legacy.text
    .trim()
    .split('\n\n')
    .map((frame) => JSON.parse(frame.slice('data: '.length)) as Record<string, unknown>);
  expect(frames[0]).toMatchObject({ type: 'RUN_STARTED', thread_id: 's1', run_id: expect.stringMatching(/^run_/) });
  expect(frames.find(({ type }) => type === 'TEXT_MESSAGE_CONTENT')).toMatchObject({
    message_id: expect.any(String),
    delta: 'v1: hi',
    timestamp: null,
    raw_event: null,
  });
  expect(frames.at(-1)?.type).toBe('RUN_FINISHED');
});
