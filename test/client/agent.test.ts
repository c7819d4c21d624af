import { firstValueFrom } from 'rxjs';
import { expect, test } from 'vitest';
import { endpoints } from '../../src/client/endpoints.ts';
import { completed, delayBefore } from '../../src/client/reconnect.ts';
import { HttpError, ResumableHttpAgent, type ResumableHttpAgentConfig } from '../../src/client.ts';
import { scriptedServer } from './scripted-server.ts';
import { FAST, failure, forwarded, resumable } from './support.ts';

const STARTED = { type: 'RUN_STARTED', threadId: 't', runId: 'r' };
const FINISHED = { type: 'RUN_FINISHED', threadId: 't', runId: 'r' };

test.each([
  ['http://h/agent/run', undefined, 'http://h/agent/threads/t/events'],
  ['http://h/agent/run/', undefined, 'http://h/agent/threads/t/events'],
  ['http://h/api/agent/run?tenant=a%20b', undefined, 'http://h/api/agent/threads/t/events?tenant=a%20b'],
  ['http://h/agent/run#top', undefined, 'http://h/agent/threads/t/events'],
  ['/api/agent/run', undefined, '/api/agent/threads/t/events'],
  ['agent/run', undefined, 'agent/threads/t/events'],
  ['http://h/go', 'http://h/base/', 'http://h/base/agent/threads/t/events'],
  ['http://h/go', 'http://h?key=1', 'http://h/agent/threads/t/events?key=1'],
  ['/go', '/', '/agent/threads/t/events'],
])('the routes beside %s (base %s) are found', (url, baseUrl, expected) => {
  expect(endpoints(url, baseUrl).threadEvents('t')).toBe(expected);
});

test('ids are encoded, and a query string is kept before the thread', () => {
  const routes = endpoints('http://h/agent/run?a=1');
  expect(routes.runEvents('t&', 'r/?')).toBe('http://h/agent/runs/r%2F%3F/events?a=1&threadId=t%26');
  expect(routes.cancel('t', 'r')).toBe('http://h/agent/runs/r/cancel?a=1&threadId=t');
});

test.each(['http://h/', 'http://h/agent/runs', 'http://h/my-agent/run', ''])('the url %j alone is refused', (url) => {
  expect(() => new ResumableHttpAgent({ url })).toThrow(/does not end in \/agent\/run.*baseUrl/);
  expect(new ResumableHttpAgent({ url, baseUrl: 'http://h' }).url).toBe(url);
});

test('options that make no sense are refused', () => {
  const config = { url: 'http://h/agent/run', reconnect: { maxDelayMs: Number.NaN } };
  expect(() => new ResumableHttpAgent(config)).toThrow(/reconnect\.maxDelayMs/);
});

test('delays grow, with jitter, to the limit', () => {
  const options = completed({ initialDelayMs: 100, maxDelayMs: 1_000 });
  const most = (attempt: number, asked?: number): number =>
    Math.max(...Array.from({ length: 2_000 }, () => delayBefore(attempt, options, asked)));
  expect(most(1)).toBeLessThanOrEqual(100);
  expect(most(3)).toBeGreaterThan(300);
  expect(most(3)).toBeLessThanOrEqual(400);
  expect(most(30)).toBeLessThanOrEqual(1_000);
  expect(delayBefore(1, options, 500)).toBeGreaterThanOrEqual(500);
  expect(most(1, 60_000)).toBe(1_000);
});

test('headers and fetch are used for every request, as they are at the time', async () => {
  const server = await scriptedServer(
    { frames: [[STARTED, 1]], end: 'broken' },
    { frames: [[FINISHED, 2]] },
    { json: { runId: 'r', threadId: 't', status: 'finished' } },
    { status: 404, json: {} },
  );
  const urls: string[] = [];
  const agent = resumable(server.url, {
    threadId: 't',
    headers: { 'x-who': 'ann' },
    fetch: (url, init) => {
      urls.push(url);
      return fetch(url, init);
    },
  });
  await agent.runAgent({ runId: 'r' });
  agent.headers = { 'x-who': 'bob' };
  await agent.cancel();
  await agent.connectAgent();
  expect(server.asked.map(({ headers }) => headers['x-who'])).toEqual(['ann', 'ann', 'bob', 'bob']);
  expect(urls).toHaveLength(4);
});

test('a refused cancellation is an error with status and payload; without a run there is nothing to cancel', async () => {
  const server = await scriptedServer(
    {
      frames: [
        [STARTED, 1],
        [FINISHED, 2],
      ],
    },
    { status: 404, json: { detail: 'no' } },
  );
  const agent = resumable(server.url, { threadId: 't' });
  await expect(agent.cancel()).rejects.toThrow('no run to cancel');
  await agent.runAgent({ runId: 'r' });
  const error = await failure(agent.cancel());
  expect(error).toBeInstanceOf(HttpError);
  expect(error).toMatchObject({ status: 404, payload: { detail: 'no' } });
  expect(server.asked.at(-1)).toMatchObject({ method: 'POST', url: '/agent/runs/r/cancel?threadId=t' });
});

/** Starts a run that stays open, aborts it when told to begin, and tells what the server was asked after that. */
async function aborted(options: Partial<ResumableHttpAgentConfig>, ...answers: object[]) {
  const server = await scriptedServer({ frames: [[STARTED, 1]], end: 'open' }, ...answers);
  const agent = resumable(server.url, { threadId: 't', ...options });
  const ended: string[] = [];
  agent.subscribe({
    onRunStartedEvent: () => agent.abortRun(),
    onRunErrorEvent: ({ event }) => void ended.push(`${event.code}`),
  });
  await agent.runAgent({ runId: 'r' });
  expect(ended).toEqual(['abort']);
  expect(agent.isRunning).toBe(false);
  return server;
}

test('aborting ends the stream as HttpAgent does, and asks for the end of the run until it is heard', async () => {
  const server = await aborted({}, { status: 503, json: {} }, { json: {} });
  await server.until(3);
  expect(server.asked.slice(1).map(({ url }) => url)).toEqual(Array(2).fill('/agent/runs/r/cancel?threadId=t'));
});

test('aborting with cancelOnAbort false leaves the run', async () => {
  const server = await aborted({ cancelOnAbort: false });
  const other = resumable(server.url, { cancelOnAbort: false });
  other.abortRun();
  expect(server.asked).toHaveLength(1);
});

test('a refused cancellation on abort is nobody’s error', async () => {
  const server = await aborted({}, { status: 403, json: {} });
  await server.until(2);
});

test('aborting before the server answers ends without events; a run that was just posted is cancelled all the same', async () => {
  const server = await scriptedServer(
    { frames: [], end: 'open' },
    { status: 404, json: {} },
    { json: { runId: 'r', threadId: 't', status: 'cancelled' } },
  );
  const agent = resumable(server.url, { threadId: 't' });
  const run = agent.runAgent({ runId: 'r' });
  await server.until(1);
  agent.abortRun();
  expect((await run).newMessages).toEqual([]);
  await server.until(3);
  expect(server.asked[2]?.url).toBe('/agent/runs/r/cancel?threadId=t');
});

test('a controller of the caller’s ends the stream and leaves the run', async () => {
  const server = await scriptedServer({ frames: [[STARTED, 1]], end: 'open' });
  const agent = resumable(server.url);
  const abortController = new AbortController();
  const codes: unknown[] = [];
  agent.subscribe({
    onRunStartedEvent: () => abortController.abort(),
    onRunErrorEvent: ({ event }) => void codes.push(event.code),
  });
  await agent.runAgent({ abortController });
  expect(codes).toEqual(['abort']);
  expect(server.asked).toHaveLength(1);
});

test('an agent that was aborted runs and connects again', async () => {
  const server = await aborted({ cancelOnAbort: false }, { frames: [[STARTED], [FINISHED, 9]] });
  const agent = resumable(server.url, { threadId: 't' });
  agent.abortRun();
  await agent.connectAgent();
  expect(server.asked.at(-1)?.url).toBe('/agent/threads/t/events');
});

test('leaving a run closes its connection and cancels nothing', async () => {
  const server = await scriptedServer({ frames: [[STARTED, 1]], end: 'open' });
  const agent = resumable(server.url);
  agent.subscribe({ onRunStartedEvent: () => void agent.detachActiveRun() });
  await agent.runAgent();
  expect(server.asked).toHaveLength(1);

  const input = { threadId: 't', runId: 'r', messages: [], tools: [], context: [], state: {}, forwardedProps: {} };
  expect(await firstValueFrom(agent.run(input))).toMatchObject(STARTED);
  agent.abortRun();
  expect(server.asked).toHaveLength(2);
});

test('a clone has the options and works by itself', async () => {
  const server = await scriptedServer(
    { frames: [[STARTED, 1]], end: 'broken' },
    { frames: [], end: 'broken' },
    { frames: [[FINISHED, 2]] },
  );
  let calls = 0;
  const agent = new ResumableHttpAgent({
    url: 'http://127.0.0.1:1/elsewhere',
    baseUrl: server.base,
    threadId: 't',
    headers: { 'x-who': 'ann' },
    reconnect: { ...FAST, maxAttempts: 2 },
    cancelOnAbort: false,
    fetch: (url, init) => {
      calls += 1;
      return fetch(url.replace('http://127.0.0.1:1/elsewhere', server.url), init);
    },
  });
  const clone = agent.clone();
  expect(clone).toBeInstanceOf(ResumableHttpAgent);
  expect(clone.threadId).toBe('t');
  await forwarded(clone, 'r');
  expect(calls).toBe(3);
  expect(server.asked[2]).toMatchObject({ url: '/agent/runs/r/events?threadId=t', headers: { 'x-who': 'ann' } });
  await expect(agent.cancel()).rejects.toThrow('no run to cancel');
});
