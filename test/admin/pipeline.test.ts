import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openSqlite } from '../../src/sqlite-driver.ts';
import { writeFiles } from '../support/app.ts';
import { createGate, gatedAgent } from '../support/gates.ts';
import { runInput, textOf } from '../support/runs.ts';
import { openRun } from '../support/streams.ts';
import { type Admin, empty, guardrail, type Json, slack, withAgent } from './support.ts';

const DATABASE = ['data', 'service.db'];
const status = async (admin: Admin): Promise<Json> => (await admin.get('/runtime/status')).body;

/** Runs the agent once and gives the version that answered. */
async function answeredBy(admin: Admin): Promise<string> {
  const { body } = await admin.post('//agent/invoke', { query: 'who', session_id: 's' });
  return String(body.response).split(':')[0] as string;
}

test('writes go live while streams run, and nobody is cut off', async () => {
  const { admin, listen } = await withAgent({ files: { 'agent.ts': gatedAgent('one') } });
  const base = await listen();
  const gate = createGate();
  const streams = await Promise.all(Array.from({ length: 20 }, () => openRun(base, runInput(gate.name))));
  await Promise.all(streams.map((stream) => stream.event(({ type }) => type === 'CUSTOM')));
  const made = await admin.post('/guardrails', guardrail('a', ['alpha']));
  expect(made.status).toBe(201);
  expect((await admin.post('//agent/invoke', { query: 'alpha', session_id: 's' })).status).toBe(429);
  for (let count = 0; count < 10; count += 1) {
    expect((await admin.patch(`/guardrails/${made.body.data.id}`, { sortOrder: count })).status).toBe(200);
    expect((await admin.patch('/agent', { version: 'x'.repeat(51) })).status).toBe(422);
  }
  const late = await openRun(base, runInput('late'));
  expect(textOf(await late.all())).toBe('one: late');
  gate.open();
  for (const stream of streams) expect(textOf(await stream.all())).toBe(`one: ${gate.name}`);
});

test('an agent that does not start any more: 422, and all is as it was', async () => {
  const { admin, root } = await withAgent({ files: { 'agent.ts': gatedAgent('one') } });
  const { id } = (await admin.post('/guardrails', guardrail('a'))).body.data;
  const before = await status(admin);
  const rows = (await admin.get('/guardrails')).body;
  writeFiles(root, { 'agent.ts': 'throw new Error("PRIVATE TEXT");' });
  const writes = [
    () => admin.post('/guardrails', guardrail('b')),
    () => admin.patch(`/guardrails/${id}`, { enabled: false }),
    () => admin.del(`/guardrails/${id}`),
    () => admin.patch('/agent', { name: 'Other' }),
    () => admin.post('/prompts', { promptId: 'p', content: 'c' }),
    () => admin.patch('/memory', { agentFramework: 'LANGGRAPH', memory: { type: 'sqlite', db_url: 'sqlite:///m.db' } }),
  ];
  for (const write of writes) {
    const refused = await write();
    expect(refused).toMatchObject({ status: 422, body: { error: { code: 'reload_failed' } } });
    expect(refused.body.detail).toEqual([
      { loc: expect.any(Array), msg: expect.any(String), type: expect.any(String) },
    ]);
    expect(JSON.stringify(refused.body)).not.toMatch(/PRIVATE TEXT|\/tmp\//);
  }
  expect((await admin.get('/guardrails')).body).toEqual(rows);
  expect((await admin.get('/prompts')).body).toEqual([]);
  expect((await admin.get('/memory')).status).toBe(404);
  expect((await admin.get('/agent')).body.name).toBe('agent');
  expect(await status(admin)).toMatchObject({
    lastStatus: 'reload_failed',
    lastError: expect.any(String),
    generation: before.generation,
    revision: before.revision,
  });
  expect(await answeredBy(admin)).toBe('one');
  writeFiles(root, { 'agent.ts': gatedAgent('two') });
  expect((await admin.post('/guardrails', guardrail('b'))).status).toBe(201);
  expect(await status(admin)).toMatchObject({ lastStatus: 'reloaded', lastError: null, revision: before.revision + 1 });
  expect((await status(admin)).generation).toBeGreaterThan(before.generation);
  expect(await answeredBy(admin)).toBe('two');
});

describe('many writers', () => {
  test('on many rows: all are there, revisions follow each other, each made a generation', async () => {
    const { admin } = await withAgent();
    const before = { revision: await admin.revision(), generation: 1 };
    const made = await Promise.all(
      Array.from({ length: 20 }, (_, index) => admin.post('/guardrails', guardrail(`g${index}`))),
    );
    expect(made.every((answer) => answer.status === 201)).toBe(true);
    const tags = made.map(({ headers }) => Number(String(headers.etag).replaceAll('"', ''))).sort((a, b) => a - b);
    expect(tags).toEqual(Array.from({ length: 20 }, (_, index) => before.revision + 1 + index));
    const listed = (await admin.get('/guardrails')).body.map((row: Json) => row.id).sort();
    expect(listed).toEqual(made.map(({ body }) => body.data.id).sort());
    expect(await status(admin)).toMatchObject({ generation: before.generation + 20, revision: before.revision + 20 });
  });

  test('on one row: what each brings is kept, the last of each member wins', async () => {
    const { admin } = await withAgent();
    const { id } = (await admin.post('/guardrails', guardrail('a'))).body.data;
    const answers = await Promise.all([
      ...Array.from({ length: 10 }, (_, index) => admin.patch(`/guardrails/${id}`, { sortOrder: index + 1 })),
      admin.patch(`/guardrails/${id}`, { name: 'Renamed' }),
      admin.patch(`/guardrails/${id}`, { enabled: false }),
    ]);
    expect(answers.every((answer) => answer.status === 200)).toBe(true);
    const { body } = await admin.get(`/guardrails/${id}`);
    expect(body).toMatchObject({ name: 'Renamed', enabled: false, sortOrder: expect.any(Number) });
    expect(body.sortOrder).toBeGreaterThan(0);
  });

  test('that delete one row: one does, the others find nothing', async () => {
    const { admin } = await withAgent();
    const { id } = (await admin.post('/guardrails', guardrail('a'))).body.data;
    const answers = await Promise.all(Array.from({ length: 5 }, () => admin.del(`/guardrails/${id}`)));
    expect(answers.map((answer) => answer.status).sort()).toEqual([200, 404, 404, 404, 404]);
  });

  test('that all have seen one revision: one writes, the others are told', async () => {
    const { admin } = await withAgent();
    const etag = String((await admin.get('/guardrails')).headers.etag);
    const answers = await Promise.all(
      Array.from({ length: 5 }, (_, index) => admin.post('/guardrails', guardrail(`g${index}`), { 'if-match': etag })),
    );
    expect(answers.map((answer) => answer.status).sort()).toEqual([201, 412, 412, 412, 412]);
    expect((await admin.get('/guardrails')).body).toHaveLength(1);
  });
});

test('If-Match: the revision that was read, `*`, an older one, nonsense', async () => {
  const { admin } = await withAgent();
  const made = await admin.post('/guardrails', guardrail('a'));
  const path = `/guardrails/${made.body.data.id}`;
  let etag = String(made.headers.etag);
  expect((await admin.get(path)).headers.etag).toBe(etag);
  for (const any of [true, false]) {
    const answer = await admin.patch(path, { sortOrder: 1 }, { 'if-match': any ? '*' : etag });
    expect(answer.status).toBe(200);
    etag = String(answer.headers.etag);
  }
  for (const [header, expected] of [
    [`W/${etag}`, 200],
    [String(made.headers.etag), 412],
    ['"0"', 412],
    ['x', 422],
    ['"-1"', 422],
  ] as const) {
    expect((await admin.patch(path, { sortOrder: 2 }, { 'if-match': header })).status, header).toBe(expected);
  }
  const stale = { 'if-match': '"1"' };
  const refused = [
    await admin.del(path, stale),
    await admin.post('/guardrails', guardrail('b'), stale),
    await admin.patch('/agent', { name: 'n' }, stale),
    await admin.patch('/sso', { sso: { enabled: false, issuer: 'https://a.example', clientId: 'c' } }, stale),
    await admin.post(
      '/config/import',
      { yaml: 'agent: {type: LANGGRAPH, config: {name: a, graph_definition: "agent.ts:graph"}}' },
      stale,
    ),
  ];
  expect(refused.map((answer) => answer.body.error?.code)).toEqual(refused.map(() => 'precondition_failed'));
});

describe('what cannot be stored', () => {
  test('is a 500 that says so; the old agent serves on, nothing is half-written, and the next write works', async () => {
    const { admin, root } = await withAgent({ files: { 'agent.ts': gatedAgent('one') } });
    const made = await admin.post('/guardrails', guardrail('a'));
    const before = await status(admin);
    const database = await openSqlite(join(root, ...DATABASE));
    // After the revision's row, so that a write that is not whole would leave it behind.
    database.exec(`create trigger full before insert on config_records begin select raise(abort, 'disk is full'); end`);
    writeFiles(root, { 'agent.ts': gatedAgent('two') });
    for (const write of [
      () => admin.post('/guardrails', guardrail('b')),
      () => admin.patch(`/guardrails/${made.body.data.id}`, { sortOrder: 3 }),
    ]) {
      const refused = await write();
      expect(refused).toMatchObject({ status: 500, body: { error: { code: 'internal_error' } } });
      expect(refused.body.detail).toMatch(/could not be stored/);
      expect(refused.body.detail).not.toMatch(/trigger|insert|config_records/);
      expect(refused.headers['x-request-id']).toEqual(expect.any(String));
    }
    expect(await answeredBy(admin)).toBe('one');
    expect((await admin.get('/guardrails')).body).toEqual([made.body.data]);
    expect(await status(admin)).toMatchObject({ generation: before.generation, revision: before.revision });
    database.exec('drop trigger full');
    database.close();
    expect((await admin.post('/guardrails', guardrail('b'))).status).toBe(201);
    expect(await answeredBy(admin)).toBe('two');
  });

  test('because another process holds the database is told too', async () => {
    const { admin, root } = await withAgent({ files: { 'agent.ts': gatedAgent('one') } });
    const database = await openSqlite(join(root, ...DATABASE));
    const before = await admin.revision();
    database.exec('begin immediate');
    const refused = await admin.post('/guardrails', guardrail('a'));
    expect(refused).toMatchObject({ status: 500, body: { error: { code: 'internal_error' } } });
    database.exec('rollback');
    database.close();
    expect(await admin.revision()).toBe(before);
    expect(await answeredBy(admin)).toBe('one');
    expect((await admin.post('/guardrails', guardrail('a'))).status).toBe(201);
  });
});

test('200 writes that fail leave no file open', async () => {
  const { admin, root } = await withAgent();
  const memory = (name: string) => ({
    agentFramework: 'LANGGRAPH',
    memory: { type: 'sqlite', db_url: `sqlite:///./${name}.db` },
  });
  expect((await admin.patch('/memory', memory('first'))).status).toBe(200);
  writeFiles(root, { 'agent.ts': 'export const graph = 5;' });
  const open = (): number => readdirSync('/proc/self/fd').length;
  expect((await admin.patch('/memory', memory('other'))).status).toBe(422);
  const before = open();
  for (let count = 0; count < 200; count += 1) {
    const refused =
      count % 2 === 0
        ? await admin.patch('/memory', memory(`m${count}`))
        : await admin.post('/integrations', slack('a'));
    expect(refused.status).toBe(422);
  }
  expect(open()).toBeLessThanOrEqual(before);
});

test('before the first reload there is no outcome to tell', async () => {
  const { admin } = await empty();
  expect((await admin.get('/runtime/status')).status).toBe(404);
});
