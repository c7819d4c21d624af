import { randomUUID } from 'node:crypto';
import type { AgentSubscriber } from '@ag-ui/client';
import { expect, test } from 'vitest';
import type { ResumableHttpAgent, ResumableHttpAgentConfig, RunRecord } from '../../src/client.ts';
import { ECHO } from '../support/agents.ts';
import { stage } from '../support/client.ts';
import { createCuttingProxy } from '../support/cutting-proxy.ts';
import { createGate, type Gate, until } from '../support/gates.ts';
import { ASKING, HALTING } from './agents.ts';
import { brief, FAST, failure, held, resumable } from './support.ts';

const user = (content: string, id = 'u1') => ({ id, role: 'user', content }) as const;

/** What the server says of a run. */
async function record(base: string, { threadId }: ResumableHttpAgent, runId: string): Promise<RunRecord> {
  const response = await fetch(`${base}/agent/runs/${runId}?threadId=${encodeURIComponent(threadId)}`);
  expect(response.status).toBe(200);
  return (await response.json()) as RunRecord;
}

/** Starts a run that waits at a gate in the middle of its answer, and waits until it is there. */
async function halted(
  base: string,
  subscriber: AgentSubscriber = {},
  options: Partial<ResumableHttpAgentConfig> = {},
): Promise<{ agent: ResumableHttpAgent; run: Promise<unknown>; gate: Gate }> {
  const gate = createGate();
  const agent = resumable(`${base}/agent/run`, { initialMessages: [user(gate.name)], ...options });
  agent.subscribe(subscriber);
  const run = agent.runAgent({ runId: 'r1' });
  await until(() => agent.messages.at(-1)?.content === 'Hel' && gate.arrived === 1, 'half of the answer');
  return { agent, run, gate };
}

test('connecting to a running run shows what there is and follows it to its end', async () => {
  const { base } = await stage(HALTING);
  const { agent, run, gate } = await halted(base);
  const page = resumable(`${base}/agent/run`, { threadId: agent.threadId });
  const connected = held(page, (one) => one.connectAgent());
  await until(() => page.messages.at(-1)?.content === 'Hel', 'the answer so far');
  expect(page.isRunning).toBe(true);
  gate.open();
  await Promise.all([run, connected]);
  expect(page.messages).toEqual(agent.messages);
  expect(page.messages.map(({ content }) => content)).toEqual([gate.name, 'Hello!']);
  expect(page.state).toEqual(agent.state);
});

test.each([
  ['before the first whole snapshot', { frames: 2, bytes: 3 }, '/agent/threads/'],
  ['after it', { frames: 6, bytes: 5 }, '/agent/runs/r1/events'],
])('a connection cut %s is found again', async (_, cut, path) => {
  const { base } = await stage(HALTING);
  const { agent, run, gate } = await halted(base);
  const proxy = await createCuttingProxy(base, ({ index }) => (index === 0 ? cut : undefined));
  const page = resumable(`${proxy.base}/agent/run`, { threadId: agent.threadId });
  const connected = held(page, (one) => one.connectAgent());
  await until(() => proxy.requests.length === 1 && page.isRunning, 'the connection');
  gate.open();
  await Promise.all([run, connected]);
  expect(proxy.requests.map(({ url }) => url)[1]).toContain(path);
  expect(page.messages).toEqual(agent.messages);
});

test('connecting to an idle thread shows it, on the same agent too', async () => {
  const { base } = await stage(ECHO);
  const agent = resumable(`${base}/agent/run`, { initialMessages: [user('hi')] });
  await agent.runAgent();
  const page = resumable(`${base}/agent/run`, { threadId: agent.threadId });
  const { events } = await held(page, (one) => one.connectAgent());
  expect(brief(events)).toEqual(['RUN_STARTED', expect.any(String), expect.any(String), 'RUN_FINISHED']);
  expect(brief(events).sort().slice(0, 1)).toEqual(['MESSAGES_SNAPSHOT']);
  expect(page.messages).toEqual(agent.messages);
  page.addMessage(user('again', 'u2'));
  await page.runAgent();
  const before = structuredClone(page.messages);
  await page.connectAgent();
  expect(page.messages).toEqual(before);
});

test('connecting to a thread that waits for an answer tells the question, which can then be answered', async () => {
  const { base } = await stage(ASKING);
  const agent = resumable(`${base}/agent/run`, { initialMessages: [user('book')] });
  await agent.runAgent();
  const page = resumable(`${base}/agent/run`, { threadId: agent.threadId });
  await held(page, (one) => one.connectAgent());
  expect(page.pendingInterrupts).toMatchObject([{ message: 'Book?' }]);
  expect(page.pendingInterrupts).toEqual(agent.pendingInterrupts);
  // Asked again, while it knows of the question; it still holds when that comes to nothing.
  const again = page.connectAgent();
  page.abortRun();
  await again;
  expect(page.pendingInterrupts).toHaveLength(1);
  await page.connectAgent();
  expect(page.pendingInterrupts).toHaveLength(1);
  expect(await failure(page.runAgent())).toMatchObject({ message: expect.stringContaining('pending interrupt') });
  const [interrupt] = page.pendingInterrupts;
  await page.runAgent({ resume: [{ interruptId: interrupt?.id ?? '', status: 'resolved', payload: 'yes' }] });
  expect(page.messages.at(-1)?.content).toBe('got "yes"');
  expect(page.pendingInterrupts).toEqual([]);
});

test('connecting to a thread nobody has run is done at once, without events', async () => {
  const { base } = await stage(ECHO);
  const page = resumable(`${base}/agent/run`, { initialMessages: [user('draft')] });
  const { events, messages } = await held(page, (one) => one.connectAgent());
  expect([events, messages]).toEqual([[], [user('draft')]]);
  expect((await held(page)).messages.at(-1)?.content).toBe('you said: draft');
});

test('leaving a run lets it go on, and connecting finds it', async () => {
  const { base } = await stage(HALTING);
  const { agent, run, gate } = await halted(base);
  await agent.detachActiveRun();
  await run;
  expect(await record(base, agent, 'r1')).toMatchObject({ status: 'running' });
  const connected = held(agent, (one) => one.connectAgent());
  gate.open();
  await connected;
  expect(agent.messages.at(-1)?.content).toBe('Hello!');
  expect(await record(base, agent, 'r1')).toMatchObject({ status: 'finished' });
});

test('cancel ends the run, for everybody who follows it, and says so again afterwards', async () => {
  const { base } = await stage(HALTING);
  const outcomes: string[] = [];
  const subscriber: AgentSubscriber = { onRunFinishedEvent: ({ outcome }) => void outcomes.push(outcome) };
  const { agent, run } = await halted(base, subscriber);
  const page = resumable(`${base}/agent/run`, { threadId: agent.threadId });
  page.subscribe(subscriber);
  const connected = page.connectAgent();
  await until(() => page.messages.length === 2, 'the connection');
  expect(await page.cancel()).toMatchObject({ runId: 'r1', threadId: agent.threadId, status: 'cancelled' });
  await Promise.all([run, connected]);
  expect(outcomes).toEqual(['cancelled', 'cancelled']);
  expect(await agent.cancel()).toMatchObject({ runId: 'r1', status: 'cancelled' });
});

test('cancelling a run that has finished tells that it has', async () => {
  const { base } = await stage(ECHO);
  const agent = resumable(`${base}/agent/run`, { initialMessages: [user('hi')] });
  await agent.runAgent();
  expect(await agent.cancel()).toMatchObject({ threadId: agent.threadId, status: 'finished' });
});

test.each([
  [true, 'cancelled'],
  [false, 'running'],
])('aborting with cancelOnAbort %s leaves the run %s', async (cancelOnAbort, status) => {
  const { base } = await stage(HALTING);
  const codes: unknown[] = [];
  const subscriber: AgentSubscriber = { onRunErrorEvent: ({ event }) => void codes.push(event.code) };
  const { agent, run } = await halted(base, subscriber, { cancelOnAbort });
  agent.abortRun();
  await run;
  expect(codes).toEqual(['abort']);
  expect(agent.isRunning).toBe(false);
  if (cancelOnAbort) await until(async () => (await record(base, agent, 'r1')).status !== 'running', 'the end');
  expect(await record(base, agent, 'r1')).toMatchObject({ status });
});

test('another user’s thread does not exist', async () => {
  const { base } = await stage(ECHO);
  const agent = resumable(`${base}/agent/run`, {
    initialMessages: [user('hi')],
    headers: { 'X-Service-User-Id': 'ann' },
  });
  await agent.runAgent();
  const stranger = resumable(`${base}/agent/run`, {
    threadId: agent.threadId,
    headers: { 'X-Service-User-Id': 'bob' },
  });
  expect((await held(stranger, (one) => one.connectAgent())).events).toEqual([]);
  stranger.addMessage(user('hi'));
  expect(await failure(stranger.runAgent())).toMatchObject({ status: 404 });
  expect(await failure(stranger.cancel())).toMatchObject({ status: 404, payload: { detail: expect.any(String) } });
});

test('a request the server refuses is an error with status and payload', async () => {
  const { base } = await stage(ECHO);
  const agent = resumable(`${base}/agent/run`, { threadId: '' });
  expect(await failure(agent.runAgent())).toMatchObject({ status: 422, payload: { detail: expect.anything() } });
});

test('a clone runs by itself, beside the agent it was made of', async () => {
  const { base } = await stage(HALTING);
  const { agent, run, gate } = await halted(base);
  const clone = agent.clone();
  clone.threadId = randomUUID();
  clone.setMessages([user('no gate')]);
  await clone.runAgent();
  expect(clone.messages.at(-1)?.content).toBe('Hello!');
  expect(agent.messages.at(-1)?.content).toBe('Hel');
  gate.open();
  await run;
  expect(agent.messages.at(-1)?.content).toBe('Hello!');
});

const DURABLE = { defaultCheckpointer: { type: 'sqlite', db_url: 'sqlite:///checkpoints.db' } } as const;

test('a server that restarts meanwhile tells how the run ended', async () => {
  const first = await stage(HALTING, DURABLE);
  let { base } = first;
  const { agent, run, gate } = await halted(
    base,
    {},
    {
      reconnect: { ...FAST, maxDelayMs: 50, maxAttempts: 400 },
      fetch: (url, init) => fetch(url.replace(first.base, base), init),
    },
  );
  const closed = first.app.close();
  gate.open();
  await closed;
  base = (await stage(HALTING, { ...DURABLE, root: first.root })).base;
  await run;
  expect(agent.messages.at(-1)?.content).toBe('Hello!');
});

test('after a crash the client shows what was saved, and fails as the run did', async () => {
  const first = await stage(HALTING, DURABLE);
  let { base } = first;
  const connection = new AbortController();
  const failures: unknown[] = [];
  const { agent, run } = await halted(
    base,
    { onRunErrorEvent: ({ event }) => void failures.push(event.code) },
    {
      fetch: (url, init) => {
        const signal =
          base === first.base ? AbortSignal.any([connection.signal, init.signal as AbortSignal]) : init.signal;
        return fetch(url.replace(first.base, base), { ...init, signal: signal ?? null });
      },
    },
  );
  // The first server is as good as dead: its run stays at the gate, and nobody asks it any more.
  base = (await stage(HALTING, { ...DURABLE, root: first.root })).base;
  connection.abort();
  await run;
  expect(failures).toEqual(['RUN_LOST']);
  expect(agent.messages).toMatchObject([{ id: 'u1' }]);
  expect(agent.isRunning).toBe(false);
  expect(await record(base, agent, 'r1')).toMatchObject({ status: 'interrupted' });
});

test('ids of any spelling reach the server whole', async () => {
  const { base } = await stage(ECHO);
  const proxy = await createCuttingProxy(base, ({ index }) => (index === 0 ? { frames: 2 } : undefined));
  const threadId = 'a/b c?d=1&e#ü%2F..';
  const agent = resumable(`${proxy.base}/agent/run`, { threadId, initialMessages: [user('hi')] });
  await agent.runAgent({ runId: 'r/1?ü' });
  expect(proxy.cuts).toBe(1);
  expect(await agent.cancel()).toMatchObject({ threadId, runId: 'r/1?ü', status: 'finished' });
  const page = resumable(`${base}/agent/run`, { threadId });
  await page.connectAgent();
  expect(page.messages).toEqual(agent.messages);
  expect(page.messages).toHaveLength(2);
});
