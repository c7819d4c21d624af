import { createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { oneModel } from '../support/graphs.ts';
import { closedPort } from '../support/machine.ts';
import { startReceiver } from '../support/otlp.ts';
import { runEvents, runInput } from '../support/runs.ts';
import { otlp, runTraced, statusOf, traced } from './support.ts';

const AGENT = oneModel(`new ScriptedModel([['Good ', 'day']])`);

/** Lines of the log that tell of exporters. */
const told = (logs: Record<string, unknown>[]) =>
  logs.filter(({ exporter }) => exporter !== undefined).map(({ msg, reason }) => ({ msg, reason }));

test('a dead collector costs nothing but a counter and a line, and what waited is sent when it comes back', async () => {
  const port = await closedPort();
  const { app, admin, logs } = await traced(AGENT, otlp(`http://127.0.0.1:${port}`));
  const inputs = [runInput('one'), runInput('two'), runInput('three')];
  for (const input of inputs) {
    expect((await runEvents(app, input)).at(-1)).toMatchObject({ type: 'RUN_FINISHED' });
  }
  await expect.poll(async () => (await statusOf(admin)).state, { timeout: 10_000 }).toBe('failing');
  expect(await statusOf(admin)).toMatchObject({
    exported: 0,
    dropped: 0,
    failed: 0,
    queued: 9,
    lastError: 'The connection was refused',
    lastExportAt: null,
  });
  const receiver = await startReceiver(port);
  for (const { runId } of inputs) {
    await receiver.until((spans) => spans.some(({ attributes }) => attributes['service.run_id'] === runId));
  }
  await expect.poll(() => statusOf(admin)).toMatchObject({ state: 'ok', exported: 9, queued: 0 });
  expect(new Set(receiver.spans.map(({ spanId }) => spanId)).size).toBe(9);
  expect(told(logs)).toEqual([
    { msg: 'an exporter cannot deliver its spans', reason: 'The connection was refused' },
    { msg: 'an exporter delivers its spans again', reason: undefined },
  ]);
});

test('a collector that asks for time is given it', async () => {
  const receiver = await startReceiver();
  const at: number[] = [];
  receiver.answer((_, response) => {
    at.push(performance.now());
    if (at.length > 1) return undefined;
    response.writeHead(429, { 'retry-after': '3' }).end('slow down');
    return 'handled';
  });
  const server = await traced(AGENT, otlp(receiver.url));
  const { spans } = await runTraced(server, receiver);
  expect(spans).toHaveLength(3);
  expect(at).toHaveLength(2);
  // Not before: a second without the header.
  expect((at[1] ?? 0) - (at[0] ?? 0)).toBeGreaterThan(2_900);
  await expect
    .poll(() => statusOf(server.admin))
    .toMatchObject({
      state: 'ok',
      exported: 3,
      failed: 0,
      lastError: 'The server takes no more for now (status 429)',
    });
});

test.each([
  [401, 'The server refuses the credentials (status 401)'],
  [404, 'The server takes no spans at this address (status 404)'],
  [302, 'The server redirects (status 302)'],
  [400, 'The server does not take the spans (status 400)'],
])('what is refused with %i is counted and not tried again', async (status, lastError) => {
  const receiver = await startReceiver();
  receiver.answer((_, response) => {
    response.writeHead(status, { location: '/elsewhere' }).end('<html>secret-of-the-server</html>');
    return 'handled';
  });
  const { app, admin, logs } = await traced(AGENT, otlp(receiver.url));
  await runEvents(app, runInput('hello'));
  await expect.poll(async () => (await statusOf(admin)).failed, { timeout: 10_000 }).toBe(3);
  expect(await statusOf(admin)).toMatchObject({ state: 'failing', queued: 0, exported: 0, lastError });
  expect(receiver.requests).toHaveLength(1);
  expect(JSON.stringify(logs)).not.toContain('secret-of-the-server');
});

test('a body that is too large comes again in parts', async () => {
  const receiver = await startReceiver();
  receiver.answer(({ spans }, response) => {
    if (spans.length <= 2) return undefined;
    response.writeHead(413).end();
    return 'handled';
  });
  const server = await traced(AGENT, otlp(receiver.url));
  await runEvents(server.app, runInput('hello'));
  await receiver.until((spans) => spans.length === 3);
  await expect.poll(async () => (await statusOf(server.admin)).exported).toBe(3);
});

test('what a collector takes only in part is counted', async () => {
  const receiver = await startReceiver();
  receiver.answer((_, response) => {
    response.writeHead(200, { 'content-type': 'application/x-protobuf' });
    // partial_success { rejected_spans: 2, error_message: "no" }
    response.end(Buffer.from([0x0a, 0x06, 0x08, 0x02, 0x12, 0x02, 0x6e, 0x6f]));
    return 'handled';
  });
  const { app, admin } = await traced(AGENT, otlp(receiver.url));
  await runEvents(app, runInput('hello'));
  await expect.poll(async () => (await statusOf(admin)).failed, { timeout: 10_000 }).toBe(2);
  expect(await statusOf(admin)).toMatchObject({
    state: 'ok',
    exported: 1,
    lastError: 'The server took only some of the spans',
  });
});

test('a collector that talks nonsense, or hangs up, is tried again', async () => {
  let answers = 0;
  const server = createServer((socket) => {
    answers += 1;
    socket.on('error', () => {});
    socket.on('data', () => (answers === 1 ? socket.end('220 mail.example.org ESMTP\r\n') : socket.destroy()));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as { port: number };
  const { app, admin } = await traced(AGENT, otlp(`http://127.0.0.1:${port}`));
  await runEvents(app, runInput('hello'));
  await expect.poll(async () => (await statusOf(admin)).lastError, { timeout: 10_000 }).toBe('The answer is not HTTP');
  await expect
    .poll(async () => (await statusOf(admin)).lastError, { timeout: 10_000 })
    .toBe('The connection was closed before an answer came');
  expect(await statusOf(admin)).toMatchObject({ state: 'failing', queued: 3, failed: 0 });
});

test('a slow exporter delays neither another nor a run', async () => {
  const [slow, quick] = [await startReceiver(), await startReceiver()];
  const answers: (() => void)[] = [];
  slow.answer(() => new Promise((resolve) => answers.push(() => resolve(undefined))));
  const server = await traced(AGENT, [otlp(slow.url), otlp(quick.url)]);
  for (let n = 0; n < 3; n += 1) await runTraced(server, quick);
  const exporters = async () => (await server.admin.get('/observability/status')).body.exporters;
  await expect.poll(exporters).toMatchObject([
    { state: 'idle', exported: 0 },
    { state: 'ok', exported: 9 },
  ]);
  expect(slow.requests).toHaveLength(1);
  // Each in its turn, until all have come.
  slow.answer(undefined);
  for (const answer of answers) answer();
  await slow.until((spans) => spans.length === 9);
});

test('a queue that is full gives up its oldest', async () => {
  const { createDelivery } = await import('../../src/engine/observability/delivery.ts');
  const port = await closedPort();
  const sent: string[] = [];
  const destination = {
    url: `http://127.0.0.1:${port}/`,
    contentType: 'application/json' as const,
    headers: () => ({}),
    encode: (spans: readonly { spanId: string }[]) => {
      sent.push(spans[0]?.spanId ?? '');
      return '{}';
    },
  };
  const log = { info: () => {}, warn: () => {} };
  const delivery = createDelivery('OTLP', destination, undefined, log);
  const span = {
    traceId: 'a'.repeat(32),
    parentSpanId: undefined,
    remoteParent: false,
    traceState: undefined,
    name: 'x',
    kind: 'CHAIN' as const,
    startedAt: 0,
    endedAt: 0,
    status: 'ok' as const,
    statusMessage: undefined,
    attributes: {},
    events: [],
    bytes: 1_000,
  };
  for (let n = 0; n < 10_000; n += 1) delivery.onEnd({ ...span, spanId: String(n) });
  expect(delivery.status()).toMatchObject({ queued: 8_192, dropped: 10_000 - 8_192 });
  await expect.poll(() => sent, { timeout: 10_000 }).not.toEqual([]);
  expect(sent[0]).toBe(String(10_000 - 8_192));
  // Memory is bounded as well as number.
  for (let n = 0; n < 100; n += 1) delivery.onEnd({ ...span, spanId: `big${n}`, bytes: 1_048_576 });
  expect(delivery.status().queued).toBeLessThanOrEqual(64);
  await delivery.close();
  expect(delivery.status()).toMatchObject({ queued: 0, exported: 0, dropped: 10_100 });
});

test('an exporter may not go where the operator does not allow it', async () => {
  const receiver = await startReceiver();
  const { app, admin } = await traced(AGENT, otlp(receiver.url), { env: { SERVICE_ALLOW_PRIVATE_TARGETS: 'false' } });
  await runEvents(app, runInput('hello'));
  await expect
    .poll(async () => (await statusOf(admin)).lastError, { timeout: 10_000 })
    .toContain('allow it with SERVICE_ALLOW_PRIVATE_TARGETS');
  expect(receiver.requests).toEqual([]);
});
