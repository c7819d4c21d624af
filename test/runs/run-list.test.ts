import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openSqlite } from '../../src/sqlite-driver.ts';
import { createTestApp, writeFiles } from '../support/app.ts';
import { createGate, gatedAgent, until } from '../support/gates.ts';
import { GRAPH_FILES } from '../support/graphs.ts';
import { runInput } from '../support/runs.ts';
import { openRun } from '../support/streams.ts';
import { endsAsAsked } from './agents.ts';
import { cancelRun, getJson, type Listed, runsOf, untilRun } from './support.ts';

test('the runs of a thread, newest first, with how they stand and when', async () => {
  const gate = createGate();
  const files = { ...GRAPH_FILES, 'agent.ts': endsAsAsked(gate.name) };
  const env = { SERVICE_THREAD_POLICY: 'enqueue' };
  const { base, root } = await listening({ files, env });
  const start = Date.now();
  const post = async (text: string, runId: string): Promise<void> =>
    void (await (await openRun(base, runInput(text, { threadId: 'th', runId }))).all());
  await post('hi', 'r1');
  await post('fail', 'r2');
  writeFiles(root, { 'agent.ts': endsAsAsked(gate.name) });
  await fetch(`${base}/reload`, { method: 'POST' });
  const waiting = post('wait', 'r3');
  await until(() => gate.arrived === 1);
  await cancelRun(base, 'r3');
  await waiting;
  gate.open();
  await post('ask', 'r4');
  const runs = await runsOf(base, 'th');
  expect(runs.map(({ runId, status, errorCode, generation }) => [runId, status, errorCode, generation])).toEqual([
    ['r4', 'awaiting_input', null, 2],
    ['r3', 'cancelled', 'CANCELLED', 2],
    ['r2', 'failed', 'FRAMEWORK_ERROR', 1],
    ['r1', 'finished', null, 1],
  ]);
  for (const run of runs) {
    expect(run.threadId).toBe('th');
    const times = [run.createdAt, run.startedAt, run.finishedAt].map((time) => Date.parse(String(time)));
    expect(times).toEqual(times.toSorted((left, right) => left - right));
    expect(times[0]).toBeGreaterThanOrEqual(start);
    expect(times[2]).toBeLessThanOrEqual(Date.now());
    expect((await getJson(base, `/agent/runs/${run.runId}`)).body).toEqual(run);
  }
});

async function listening(options: Parameters<typeof createTestApp>[0]) {
  const made = await createTestApp({ agent: 'agent.ts', ...options });
  return { ...made, base: await made.listen() };
}

test('running and queued runs are there too, with the times they have', async () => {
  const gate = createGate();
  const { base } = await listening({
    files: { 'agent.ts': gatedAgent('v1') },
    env: { SERVICE_THREAD_POLICY: 'enqueue' },
  });
  const first = await openRun(base, runInput(gate.name, { threadId: 'th', runId: 'a' }));
  await until(() => gate.arrived === 1);
  const second = openRun(base, runInput('next', { threadId: 'th', runId: 'b' }));
  await untilRun(base, 'b', 'queued');
  const open = await runsOf(base, 'th');
  const find = (runs: Listed[], id: string): Listed | undefined => runs.find(({ runId }) => runId === id);
  expect(find(open, 'a')).toMatchObject({
    status: 'running',
    startedAt: expect.any(String),
    finishedAt: null,
    generation: 1,
  });
  expect(find(open, 'b')).toMatchObject({ status: 'queued', startedAt: null, finishedAt: null, generation: null });
  gate.open();
  await first.all();
  await (await second).all();
  expect(find(await runsOf(base, 'th'), 'b')).toMatchObject({
    status: 'finished',
    startedAt: expect.any(String),
    finishedAt: expect.any(String),
    generation: 1,
  });
});

test('limit takes the newest; what is no limit is 422', async () => {
  const { app, base } = await listening({ files: { 'agent.ts': gatedAgent('v1') } });
  for (const runId of ['r1', 'r2', 'r3']) {
    await (await openRun(base, runInput('hi', { threadId: 'th', runId }))).all();
  }
  const ids = async (query: string): Promise<string[]> =>
    (await getJson<Listed[]>(base, `/agent/threads/th/runs${query}`)).body.map(({ runId }) => runId);
  expect(await ids('?limit=2')).toEqual(['r3', 'r2']);
  expect(await ids('')).toEqual(['r3', 'r2', 'r1']);
  for (const limit of ['0', '201', '-1', 'x', '1.5']) {
    expect((await app.inject({ url: `/agent/threads/th/runs?limit=${limit}` })).statusCode).toBe(422);
  }
});

test.each([
  ['30', ['young', 'now']],
  ['0', ['old', 'young', 'now']],
])('with SERVICE_RUN_HISTORY_DAYS=%s older runs are forgotten at boot', async (days, kept) => {
  const { root } = await closedWith(['old', 'young', 'now'], (update) => {
    const day = 86_400_000;
    const ago = (days: number): number => Date.now() - days * day;
    update('old', { created_at: ago(31), finished_at: ago(31) });
    update('young', { created_at: ago(31), finished_at: ago(29) });
  });
  const { base } = await listening({ root, env: { SERVICE_RUN_HISTORY_DAYS: days } });
  const ids = (await runsOf(base, 'th')).map(({ runId }) => runId);
  expect(ids.toSorted()).toEqual(kept.toSorted());
  expect((await getJson(base, '/agent/runs/old')).status).toBe(kept.includes('old') ? 200 : 404);
});

test('runs that are open at boot were lost, those that waited too; the thread goes on', async () => {
  const { root } = await closedWith(['r1', 'r2', 'r3'], (update) => {
    update('r2', { status: 'running', finished_at: null, created_at: Date.now() + 1 });
    update('r3', { status: 'queued', finished_at: null, started_at: null, created_at: Date.now() + 2 });
  });
  const { base } = await listening({ root });
  expect((await runsOf(base, 'th')).map(({ runId, status, errorCode }) => [runId, status, errorCode])).toEqual([
    ['r3', 'interrupted', 'RUN_LOST'],
    ['r2', 'interrupted', 'RUN_LOST'],
    ['r1', 'finished', null],
  ]);
  await (await openRun(base, runInput('again', { threadId: 'th', runId: 'r4' }))).all();
  expect((await getJson(base, '/agent/runs/r4')).body).toMatchObject({ status: 'finished' });
});

/** A server's folder after the runs of these ids, as `change` leaves the run table. */
async function closedWith(
  runIds: string[],
  change: (update: (id: string, values: Record<string, string | number | null>) => void) => void,
): Promise<{ root: string }> {
  const { app, base, root } = await listening({ files: { 'agent.ts': gatedAgent('v1') } });
  for (const runId of runIds) await (await openRun(base, runInput('hi', { threadId: 'th', runId }))).all();
  await app.close();
  const db = await openSqlite(join(root, 'data/service.db'));
  change((id, values) => {
    const sets = Object.keys(values).map((column) => `${column} = ?`);
    db.prepare(`update runs set ${sets.join(', ')} where id = ?`).run(...Object.values(values), id);
  });
  db.close();
  return { root };
}
