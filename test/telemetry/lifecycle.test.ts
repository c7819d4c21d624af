import { expect, test } from 'vitest';
import { cancelRun } from '../runs/support.ts';
import { createGate, gatedAgent, until } from '../support/gates.ts';
import { oneModel } from '../support/graphs.ts';
import { isWhole, ofRun, spanOf, startReceiver, treeOf } from '../support/otlp.ts';
import { runEvents, runInput } from '../support/runs.ts';
import { openRun } from '../support/streams.ts';
import { configure, oneTool, otlp, runTraced, statusOf, traced } from './support.ts';

const AGENT = oneModel(`new ScriptedModel([['Good ', 'day']])`);

test('without an exporter nothing is recorded', async () => {
  const server = await traced(AGENT, []);
  expect(server.app.services.holder.current?.engine.tracer).toBeUndefined();
  await runEvents(server.app, runInput('hello'));
  expect((await server.admin.get('/observability/status')).body).toEqual({ exporters: [] });
});

test('whoever listens besides the exporters hears of every span', async () => {
  const heard: string[] = [];
  const sinks = [{ onEnd: ({ kind, name }: { kind: string; name: string }) => void heard.push(`${kind} ${name}`) }];
  const { app } = await traced(AGENT, [], { sinks });
  await runEvents(app, runInput('hello'));
  expect(heard).toEqual(['LLM chat script-1', 'CHAIN model', 'AGENT agent']);
});

test('the spans of a run go to the exporters it began with', async () => {
  const [before, after] = [await startReceiver(), await startReceiver()];
  const server = await traced(gatedAgent('a'), otlp(before.url));
  const base = await server.listen();
  const gate = createGate();
  const input = runInput(gate.name);
  const stream = await openRun(base, input);
  await until(() => gate.arrived === 1);
  await configure(server.admin, otlp(after.url));
  const next = await runTraced(server, after);
  gate.open();
  await stream.all();
  // Its engine is closed once it has ended, and what it recorded is sent then.
  const spans = ofRun(await before.until((all) => isWhole(all, input.runId)), input.runId);
  expect(treeOf(spans)).toEqual(['AGENT agent', '  CHAIN work']);
  expect(ofRun(after.spans, input.runId)).toEqual([]);
  expect(treeOf(next.spans)).toEqual(['AGENT agent', '  CHAIN work']);
});

test('a reload leaves an unchanged exporter alone, and sends what a removed one has', async () => {
  const [kept, removed] = [await startReceiver(), await startReceiver()];
  const server = await traced(AGENT, [otlp(kept.url), otlp(removed.url)]);
  await runTraced(server, kept);
  await runEvents(server.app, runInput('hello'));
  await configure(server.admin, otlp(kept.url));
  await removed.until((spans) => spans.length === 6);
  await kept.until((spans) => spans.length === 6);
  // Counted on, as the same exporter.
  await expect.poll(() => statusOf(server.admin)).toMatchObject({ endpoint: `${kept.url}/v1/traces`, exported: 6 });
  const list = (await server.admin.get('/observability/status')).body.exporters;
  expect(list).toHaveLength(1);
});

test('a change waits for no collector', async () => {
  const slow = await startReceiver();
  let answers = 0;
  slow.answer(() => {
    answers += 1;
    return new Promise(() => {});
  });
  const { app, admin, logs } = await traced(AGENT, otlp(slow.url));
  await runEvents(app, runInput('hello'));
  await configure(admin, []);
  await until(() => answers === 1);
  // The change is live, while the old exporter still tries to get rid of what it has.
  expect((await admin.get('/observability')).body.observability).toEqual([]);
  await until(() => logs.some(({ msg }) => msg === 'spans could not be delivered before the end'));
});

test('a change that is refused leaves the exporters as they were', async () => {
  const receiver = await startReceiver();
  const server = await traced(AGENT, otlp(receiver.url));
  await runTraced(server, receiver);
  const bad = { provider: 'OTLP', config: { endpoint: `${receiver.url}/x` } };
  const file = {
    agent: { type: 'LANGGRAPH', config: { name: 'a', graph_definition: 'none.ts' } },
    observability: [bad],
  };
  expect((await server.admin.post('/validate', { config: file })).status).toBe(422);
  await runTraced(server, receiver);
  await expect.poll(() => statusOf(server.admin)).toMatchObject({ exported: 6, endpoint: `${receiver.url}/v1/traces` });
});

test('a cancelled run closes its spans, and is no fault', async () => {
  const receiver = await startReceiver();
  const gate = createGate();
  const server = await traced(
    oneTool(`await globalThis.testGates.pass('${gate.name}'); return 'late';`),
    otlp(receiver.url),
  );
  const base = await server.listen();
  const input = runInput('a seat');
  const stream = await openRun(base, input);
  await until(() => gate.arrived === 1);
  await cancelRun(base, input.runId);
  await stream.all();
  const spans = ofRun(await receiver.until((all) => isWhole(all, input.runId)), input.runId);
  expect(treeOf(spans)).toEqual([
    'AGENT agent',
    '  CHAIN model',
    '    LLM chat script-1',
    '  CHAIN tools',
    '    TOOL book',
  ]);
  for (const span of [spanOf(spans, 'AGENT'), spanOf(spans, 'CHAIN', 'tools'), spanOf(spans, 'TOOL')]) {
    expect(span.status, span.name).toEqual({ code: 0, message: 'The run was cancelled.' });
    expect(span.attributes['service.cancelled'], span.name).toBe(true);
  }
  expect(spanOf(spans, 'AGENT').attributes['service.run.status']).toBe('cancelled');
  expect(spanOf(spans, 'LLM').status.code).toBe(1);
  // What the tool does afterwards is no part of the run any more.
  gate.open();
  await runTraced(server, receiver, runInput('again'));
  expect(ofRun(receiver.spans, input.runId)).toHaveLength(spans.length);
});

test('a run that takes too long closes its spans, and is a fault', async () => {
  const receiver = await startReceiver();
  const gate = createGate();
  const server = await traced(gatedAgent('a'), otlp(receiver.url), { env: { SERVICE_RUN_TIMEOUT_SECONDS: '1' } });
  const input = runInput(gate.name);
  const { spans } = await runTraced(server, receiver, input);
  for (const span of [spanOf(spans, 'AGENT'), spanOf(spans, 'CHAIN', 'work')]) {
    expect(span.status, span.name).toEqual({ code: 2, message: 'The run was stopped after 1 seconds.' });
    expect(span.attributes['error.type'], span.name).toBe('EXECUTION_TIMEOUT');
  }
});

test('secrets are nowhere in what is sent', async () => {
  const receiver = await startReceiver();
  const env = { OPENAI_API_KEY: 'key-of-the-environment', DATABASE_PASSWORD: 'password-of-the-environment' };
  const agent = oneTool(
    `return { note: 'the key is key-of-the-environment', api_key: 'abc-123', header: 'Bearer abcdefghijkl9', of: 'key-of-the-exporter' };`,
  )
    .replace('{"seat":"12A"}', '{"seat":"sk-proj-abcdefghijklmnop","password":"hunter22"}')
    .replace('z.object({ seat: z.string() })', 'z.looseObject({ seat: z.string() })');
  const server = await traced(
    agent,
    otlp(`${receiver.url.replace('//', '//me:password-in-the-url@')}`, {
      headers: { 'x-api-key': 'key-of-the-exporter' },
    }),
    { env },
  );
  const input = runInput('log in with postgresql://me:s3cret-of-the-url@db/chat and password-of-the-environment');
  const { spans } = await runTraced(server, receiver, input);
  expect(spans.length).toBeGreaterThan(4);
  const sent = receiver.requests.map(({ body }) => body.toString('utf8')).join('\n');
  for (const secret of [
    'key-of-the-environment',
    'password-of-the-environment',
    'key-of-the-exporter',
    'abc-123',
    'abcdefghijkl9',
    'sk-proj-',
    'hunter22',
    's3cret-of-the-url',
    'password-in-the-url',
  ]) {
    expect(sent.includes(secret), secret).toBe(false);
  }
  expect(sent).toContain('postgresql://me:***@db/chat');
  // And not in what is shown of the exporter, or logged of it.
  const shown = JSON.stringify([
    (await server.admin.get('/observability/status')).body,
    (await server.admin.get('/observability')).body,
  ]);
  for (const secret of ['key-of-the-exporter', 'password-in-the-url']) {
    expect(shown).not.toContain(secret);
    expect(JSON.stringify(server.logs)).not.toContain(secret);
  }
});
