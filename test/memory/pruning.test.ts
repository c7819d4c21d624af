import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { expect, test } from 'vitest';
import type { CheckpointerConfig } from '../../src/engine/memory/index.ts';
import { openSqlite } from '../../src/sqlite-driver.ts';
import { twoSteps } from '../runs/agents.ts';
import { endOf, textsOf } from '../runs/support.ts';
import { ECHO } from '../support/agents.ts';
import { createTestApp, tempFolder } from '../support/app.ts';
import { interruptsOf, stage } from '../support/client.ts';
import { createGate, until } from '../support/gates.ts';
import { GRAPH_FILES, IMPORTS } from '../support/graphs.ts';
import { LASTING, MEMORIES } from '../support/memories.ts';
import { query } from '../support/postgres.ts';
import { runEvents, runInput } from '../support/runs.ts';
import { openRun } from '../support/streams.ts';
import { ASKS } from './agents.ts';

const DAY_MS = 86_400_000;

async function storageOf(app: FastifyInstance) {
  const response = await app.inject('/admin/api/v1/storage');
  expect(response.statusCode).toBe(200);
  return response.json<{
    memory: { backend: string; bytes: number; threads: number; checkpoints: number; error: string | null };
    pruning: Record<'lastRound' | 'afterRuns', { checkpoints: number; threads: number } | null>;
  }>();
}

const checkpointsOf = async (app: FastifyInstance): Promise<number> => (await storageOf(app)).memory.checkpoints;

/** Checkpoints that were deleted since the start, whatever the occasion. */
async function deletedOn(app: FastifyInstance): Promise<number> {
  const { lastRound, afterRuns } = (await storageOf(app)).pruning;
  return (lastRound?.checkpoints ?? 0) + (afterRuns?.checkpoints ?? 0);
}

/** Checkpoints of PostgreSQL that refer to a value which is not there, and values nothing refers to. */
async function strays({ type, ...more }: CheckpointerConfig): Promise<unknown> {
  if (type !== 'postgres') return undefined;
  return query(
    (more as { db_url: string }).db_url,
    `WITH live AS (
       SELECT c.thread_id, c.checkpoint_ns, v.key AS channel, v.value AS version
       FROM checkpoints c, jsonb_each_text(c.checkpoint -> 'channel_versions') v
     )
     SELECT 'stray' AS what, channel FROM checkpoint_blobs b WHERE NOT EXISTS (
       SELECT 1 FROM live l WHERE (l.thread_id, l.checkpoint_ns, l.channel, l.version) = (b.thread_id, b.checkpoint_ns, b.channel, b.version))
     UNION ALL
     SELECT 'missing', channel FROM live l WHERE channel NOT LIKE 'branch:%' AND NOT EXISTS (
       SELECT 1 FROM checkpoint_blobs b WHERE (l.thread_id, l.checkpoint_ns, l.channel, l.version) = (b.thread_id, b.checkpoint_ns, b.channel, b.version))
     UNION ALL
     SELECT 'write', channel FROM checkpoint_writes w WHERE NOT EXISTS (
       SELECT 1 FROM checkpoints c WHERE (c.thread_id, c.checkpoint_ns, c.checkpoint_id) = (w.thread_id, w.checkpoint_ns, w.checkpoint_id))`,
  );
}

test.each(MEMORIES)('a long thread keeps its newest steps and its whole conversation (%s)', async (_, memory) => {
  const defaultCheckpointer = await memory();
  const { app, base, client } = await stage(ASKS, { defaultCheckpointer, env: { SERVICE_CHECKPOINT_KEEP: '10' } });
  const ana = client({ threadId: 'th' });
  for (let turn = 1; turn <= 20; turn += 1) await ana.say(`say ${turn}`);
  // Ten of the graph, and what belongs to those in its subgraph, of which each turn has its own.
  await expect.poll(() => checkpointsOf(app), { timeout: 10_000 }).toBeLessThanOrEqual(30);
  expect(await checkpointsOf(app)).toBeGreaterThanOrEqual(10);
  expect((await strays(defaultCheckpointer)) ?? []).toEqual([]);
  const all = Array.from({ length: 20 }, (_one, at) => [`say ${at + 1}`, `heard say ${at + 1}`]).flat();
  expect(await textsOf(base, 'th')).toEqual(all);
  await expect.poll(() => deletedOn(app), { timeout: 10_000 }).toBeGreaterThan(50);
  // Going on, changing the last message and regenerating work; what is too far back is refused and changes nothing.
  const messages = [...ana.messages];
  const [last] = messages.slice(-2);
  ana.agent.setMessages([...messages.slice(0, -2), { ...last, content: 'other' } as (typeof messages)[number]]);
  expect(endOf((await ana.run()).events)).toBe('success');
  expect((await textsOf(base, 'th')).slice(-2)).toEqual(['other', 'heard other']);
  const before = await textsOf(base, 'th');
  ana.agent.setMessages([{ ...messages[0], content: 'long ago' } as (typeof messages)[number]]);
  const tooFar = await runEvents(app, { ...runInput(''), threadId: 'th', messages: ana.messages as never });
  expect(tooFar.at(-1)).toMatchObject({ code: 'VALIDATION_ERROR', message: expect.stringMatching(/too far back/) });
  expect(await textsOf(base, 'th')).toEqual(before);
});

test.each(MEMORIES)('a question inside a subgraph can be answered however little is kept (%s)', async (_, memory) => {
  const defaultCheckpointer = await memory();
  const { app, base, client } = await stage(ASKS, { defaultCheckpointer, env: { SERVICE_CHECKPOINT_KEEP: '1' } });
  const ana = client({ threadId: 'th' });
  await ana.say('one');
  await ana.say('two');
  const [asked] = interruptsOf(await ana.say('ask'));
  await expect.poll(() => checkpointsOf(app), { timeout: 10_000 }).toBeLessThanOrEqual(4);
  const told = await ana.run({ resume: [{ interruptId: asked?.id ?? '', status: 'resolved', payload: 'this' }] });
  expect(endOf(told.events)).toBe('success');
  expect((await textsOf(base, 'th')).slice(-2)).toEqual(['ask', 'told this']);
  expect((await strays(defaultCheckpointer)) ?? []).toEqual([]);
});

test.each(MEMORIES)('a thread that was rolled back keeps the step it goes on from (%s)', async (_, memory) => {
  const gate = createGate();
  const { app, base } = await stage(twoSteps(), {
    defaultCheckpointer: await memory(),
    env: { SERVICE_CHECKPOINT_KEEP: '1' },
  });
  await runEvents(app, runInput('first', { threadId: 'th' }));
  await expect.poll(() => checkpointsOf(app), { timeout: 10_000 }).toBe(1);
  const second = await openRun(base, runInput(gate.name, { threadId: 'th' }));
  await until(() => gate.arrived === 1);
  // Nothing new to do: the run that takes over fails at once, so that the thread stays rolled back.
  const third = await openRun(
    base,
    runInput('', {
      threadId: 'th',
      resume: [{ interruptId: 'none', status: 'resolved' }],
      forwardedProps: { onBusy: 'rollback' },
    }),
  );
  await second.all();
  expect(endOf(await third.all())).toBe('INTERRUPT_UNKNOWN');
  // Another thread is pruned after it, so this one has been looked at.
  await runEvents(app, runInput('other', { threadId: 'zz' }));
  await expect.poll(() => deletedOn(app), { timeout: 10_000 }).toBe(6);
  expect(await textsOf(base, 'th')).toEqual(['first', 'begun: first', 'done: first']);
  await runEvents(app, runInput('last', { threadId: 'th' }));
  const after = ['first', 'begun: first', 'done: first', 'last', 'begun: last', 'done: last'];
  expect(await textsOf(base, 'th')).toEqual(after);
  await expect.poll(() => checkpointsOf(app), { timeout: 10_000 }).toBe(2);
  expect(await textsOf(base, 'th')).toEqual(after);
});

test('a subgraph that remembers from call to call keeps its memory', async () => {
  const agent = `${IMPORTS}
const State = Annotation.Root({ ...MessagesAnnotation.spec, heard: Annotation({ reducer: (a, b) => [...a, ...b], default: () => [] }) });
const inner = new StateGraph(State)
  .addNode('note', (state) => ({ heard: [state.messages.at(-1).content] }))
  .addNode('tell', (state) => ({ messages: [new AIMessage(state.heard.join('+'))] }))
  .addEdge(START, 'note').addEdge('note', 'tell').addEdge('tell', END).compile({ checkpointer: true });
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('inner', inner).addEdge(START, 'inner').addEdge('inner', END);
`;
  const { app, base, client } = await stage(agent, { env: { SERVICE_CHECKPOINT_KEEP: '2' } });
  const ana = client({ threadId: 'th' });
  for (const text of ['a', 'b', 'c', 'd']) await ana.say(text);
  await expect.poll(() => checkpointsOf(app), { timeout: 10_000 }).toBeLessThanOrEqual(4);
  await ana.say('e');
  expect((await textsOf(base, 'th')).at(-1)).toBe('a+b+c+d+e');
});

test('nothing is deleted when all is to be kept', async () => {
  const { app } = await stage(ECHO, { env: { SERVICE_CHECKPOINT_KEEP: '0' } });
  for (let turn = 0; turn < 5; turn += 1) await runEvents(app, runInput('hi', { threadId: 'th' }));
  expect(await storageOf(app)).toMatchObject({
    memory: { threads: 1, checkpoints: 15 },
    pruning: { lastRound: null, afterRuns: null },
  });
});

test.each(LASTING)('what grew before there was a bound is cut at the start (%s)', async (_, memory) => {
  const defaultCheckpointer = await memory();
  const options = {
    root: tempFolder(GRAPH_FILES),
    files: { 'agent.ts': ECHO },
    agent: 'agent.ts',
    defaultCheckpointer,
  };
  const first = await createTestApp({ ...options, env: { SERVICE_CHECKPOINT_KEEP: '0' } });
  for (const threadId of ['a', 'b']) {
    for (let turn = 0; turn < 10; turn += 1) await runEvents(first.app, runInput(`${turn}`, { threadId }));
  }
  expect(await checkpointsOf(first.app)).toBe(60);
  await first.app.close();
  const second = await createTestApp({ ...options, env: { SERVICE_CHECKPOINT_KEEP: '5' } });
  await expect.poll(() => checkpointsOf(second.app), { timeout: 15_000 }).toBe(10);
  await expect
    .poll(async () => (await storageOf(second.app)).pruning.lastRound, { timeout: 15_000 })
    .toMatchObject({
      checkpoints: 50,
      threads: 0,
    });
  const base = await second.listen();
  expect(await textsOf(base, 'a')).toHaveLength(20);
});

test.each(LASTING)('threads idle for too long go whole, those that wait for an answer stay (%s)', async (_, memory) => {
  const defaultCheckpointer = await memory();
  const options = {
    root: tempFolder(GRAPH_FILES),
    files: { 'agent.ts': ASKS },
    agent: 'agent.ts',
    defaultCheckpointer,
  };
  const first = await createTestApp(options);
  for (const [threadId, text] of [
    ['old', 'hello'],
    ['asked', 'ask'],
    ['fresh', 'hello'],
  ] as const) {
    await runEvents(first.app, runInput(text, { threadId }));
  }
  await first.app.close();
  const database = await openSqlite(join(options.root, 'data/service.db'));
  database.prepare("UPDATE threads SET updated_at = ? WHERE id <> 'fresh'").run(Date.now() - 8 * DAY_MS);
  // Threads of memories that are gone go too, those of one that is merely not in use do not.
  const row = database.prepare(
    "INSERT INTO threads (id, user_id, store_id, created_at, updated_at) VALUES (?, '', ?, 0, 0)",
  );
  row.run('gone', 'memory:of-a-former-process');
  row.run('elsewhere', 'sqlite:/elsewhere.db');

  const second = await createTestApp({ ...options, env: { SERVICE_THREAD_TTL_DAYS: '7' } });
  const ids = () => database.prepare('SELECT id FROM threads ORDER BY id').pluck().all();
  await expect.poll(ids, { timeout: 15_000 }).toEqual(['asked', 'elsewhere', 'fresh']);
  expect(database.prepare("SELECT count(*) FROM runs WHERE thread_id = 'old'").pluck().get()).toBe(0);
  database.close();
  const base = await second.listen();
  expect((await storageOf(second.app)).memory.threads).toBe(2);
  expect((await second.app.inject('/agent/sessions/old')).statusCode).toBe(404);
  expect(await textsOf(base, 'asked')).toEqual(['ask']);
  expect((await strays(defaultCheckpointer)) ?? []).toEqual([]);
  // The id is free again.
  const headers = { 'x-service-user-id': 'eve' };
  expect(endOf(await runEvents(second.app, runInput('mine now', { threadId: 'old' }), headers))).toBe('success');
});
