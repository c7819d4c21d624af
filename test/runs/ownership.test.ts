import { expect, test } from 'vitest';
import { createTestApp } from '../support/app.ts';
import { createGate, gatedAgent, until } from '../support/gates.ts';
import { runInput, textOf } from '../support/runs.ts';
import { openRun } from '../support/streams.ts';
import { endOf, getJson } from './support.ts';

const as = (user: string) => ({ 'x-service-user-id': user });

async function server(env: Record<string, string> = {}) {
  const made = await createTestApp({ files: { 'agent.ts': gatedAgent('v1') }, agent: 'agent.ts', env });
  return { ...made, base: await made.listen() };
}

/** Every way to somebody's run or thread. */
const WAYS: [name: string, method: 'GET' | 'POST', path: (runId: string, threadId: string) => string][] = [
  ['the run', 'GET', (run) => `/agent/runs/${run}`],
  ['the run by its thread', 'GET', (run, thread) => `/agent/runs/${run}?threadId=${thread}`],
  ['its events', 'GET', (run) => `/agent/runs/${run}/events`],
  ['its events by its thread', 'GET', (run, thread) => `/agent/runs/${run}/events?threadId=${thread}`],
  ['its cancel', 'POST', (run) => `/agent/runs/${run}/cancel`],
  ['its cancel by its thread', 'POST', (run, thread) => `/agent/runs/${run}/cancel?threadId=${thread}`],
  ['the thread', 'GET', (_, thread) => `/agent/threads/${thread}/events`],
  ['the runs of the thread', 'GET', (_, thread) => `/agent/threads/${thread}/runs`],
];

test.each(WAYS)(
  '%s of another user is 404, while it runs, when it is over, and when it is forgotten',
  async (...way) => {
    const [, method, path] = way;
    for (const seconds of ['300', '0']) {
      const gate = createGate();
      const { app, base } = await server({ SERVICE_RUN_RETENTION_SECONDS: seconds });
      const input = runInput(gate.name);
      const url = path(input.runId, input.threadId);
      const unknown = (await app.inject({ method, url: path('no', 'no'), headers: as('bob') })).json();
      const refused = async (): Promise<void> => {
        for (const headers of [as('bob'), {}]) {
          const response = await app.inject({ method, url, headers });
          expect(response.statusCode).toBe(404);
          expect(response.json()).toEqual(unknown);
        }
      };
      const stream = await openRun(base, input, as('ana'));
      await until(() => gate.arrived === 1);
      await refused();
      gate.open();
      expect(endOf(await stream.all())).toBe('success');
      await refused();
      expect((await app.inject({ method, url, headers: as('ana') })).statusCode).toBe(200);
    }
  },
);

test.each(['300', '0'])('another user cannot post to the run or the thread (kept for %s s)', async (seconds) => {
  const gate = createGate();
  const { base } = await server({ SERVICE_RUN_RETENTION_SECONDS: seconds });
  const input = runInput(gate.name);
  const stream = await openRun(base, input, as('ana'));
  await until(() => gate.arrived === 1);
  const others = (): Promise<number[]> =>
    Promise.all(
      [
        openRun(base, input, as('bob')),
        openRun(base, input),
        openRun(base, { ...runInput('mine'), threadId: input.threadId }, as('bob')),
        openRun(base, { ...input, forwardedProps: { onBusy: 'interrupt' } }, as('bob')),
        openRun(
          base,
          runInput('mine', { threadId: input.threadId, forwardedProps: { onBusy: 'rollback' } }),
          as('bob'),
        ),
      ].map(async (opening) => (await opening).status),
    );
  expect(await others()).toEqual([404, 404, 404, 404, 404]);
  gate.open();
  expect(endOf(await stream.all())).toBe('success');
  expect(await others()).toEqual([404, 404, 404, 404, 404]);
  expect((await getJson<unknown[]>(base, `/agent/threads/${input.threadId}/runs`, as('ana'))).body).toHaveLength(1);
});

test('two users may use the same run id on their threads', async () => {
  const { base } = await server();
  const runId = 'same';
  const ana = runInput('I am Ana', { runId });
  const bob = runInput('I am Bob', { runId });
  const [hers, his] = await Promise.all([openRun(base, ana, as('ana')), openRun(base, bob, as('bob'))]);
  expect(textOf(await hers.all())).toBe('v1: I am Ana');
  expect(textOf(await his.all())).toBe('v1: I am Bob');
  for (const [user, input] of [
    ['ana', ana],
    ['bob', bob],
  ] as const) {
    expect((await getJson(base, '/agent/runs/same', as(user))).body).toMatchObject({ threadId: input.threadId });
    const other = user === 'ana' ? bob : ana;
    expect((await getJson(base, `/agent/runs/same?threadId=${other.threadId}`, as(user))).status).toBe(404);
  }
});

test('of one user’s runs of the same id, threadId says which; without it the newest is meant', async () => {
  const gate = createGate();
  const { app, base } = await server();
  const runId = 'same';
  const older = runInput('older', { runId });
  await (await openRun(base, older)).all();
  const before = Date.now();
  await until(() => Date.now() > before);
  const newer = runInput(gate.name, { runId });
  const stream = await openRun(base, newer);
  await until(() => gate.arrived === 1);
  expect((await getJson(base, '/agent/runs/same')).body).toMatchObject({ threadId: newer.threadId, status: 'running' });
  expect((await getJson(base, `/agent/runs/same?threadId=${older.threadId}`)).body).toMatchObject({
    threadId: older.threadId,
    status: 'finished',
  });
  const events = await app.inject({ url: `/agent/runs/same/events?threadId=${older.threadId}` });
  expect(events.body).toContain('older');
  const cancel = async (query: string): Promise<unknown> =>
    (await app.inject({ method: 'POST', url: `/agent/runs/same/cancel${query}` })).json();
  expect(await cancel(`?threadId=${older.threadId}`)).toMatchObject({ status: 'finished' });
  expect(await cancel('')).toMatchObject({ status: 'cancelled', threadId: newer.threadId });
  expect(endOf(await stream.all())).toBe('cancelled');
});
