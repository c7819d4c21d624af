import { existsSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { adminOf } from '../admin/support.ts';
import { endOf, textsOf } from '../runs/support.ts';
import { ECHO } from '../support/agents.ts';
import { createTestApp } from '../support/app.ts';
import { stage } from '../support/client.ts';
import { createGate, gatedAgent, until } from '../support/gates.ts';
import { query, usePostgres } from '../support/postgres.ts';
import { PASSWORD } from '../support/postgres-cluster.ts';
import { parseEvents, runEvents, runInput } from '../support/runs.ts';
import { openRun } from '../support/streams.ts';

const found = await usePostgres();

describe.skipIf(found === undefined)('PostgreSQL', () => {
  const postgres = found as NonNullable<typeof found>;

  test('that stops in the middle of a run: the run says so, the next one after its return works', async () => {
    const cluster = await postgres.cluster();
    const checkpointer = { type: 'postgres' as const, db_url: cluster.url('postgres') };
    const { app, base, logs } = await stage(gatedAgent('v1'), { defaultCheckpointer: checkpointer });
    await runEvents(app, runInput('first', { threadId: 'th' }));
    const gate = createGate();
    const running = await openRun(base, runInput(gate.name, { threadId: 'th' }));
    await until(() => gate.arrived === 1);
    cluster.stop();
    gate.open();
    const events = await running.all();
    expect(events.at(-1)).toMatchObject({
      type: 'RUN_ERROR',
      code: 'FRAMEWORK_ERROR',
      message: expect.stringMatching(/memory cannot be reached/),
    });
    // While it is away: runs fail at once and reads say why, and nothing else suffers.
    expect((await runEvents(app, runInput('second', { threadId: 'th' }))).at(-1)).toMatchObject({
      code: 'FRAMEWORK_ERROR',
      message: expect.stringMatching(/memory cannot be reached/),
    });
    const read = await app.inject('/agent/sessions/th');
    expect([read.statusCode, read.json().detail]).toEqual([503, expect.stringMatching(/memory cannot be reached/)]);
    expect((await app.inject('/health?strict=1')).statusCode).toBe(200);
    expect((await app.inject('/agent/sessions')).statusCode).toBe(200);

    await cluster.start();
    expect(endOf(await runEvents(app, runInput('third', { threadId: 'th' })))).toBe('success');
    expect(await textsOf(base, 'th')).toEqual(expect.arrayContaining(['first', 'v1: first', 'third', 'v1: third']));
    expect(JSON.stringify(logs)).not.toContain(PASSWORD);
  });

  test('that is restarted while nobody uses it is not missed', async () => {
    const cluster = await postgres.cluster();
    const checkpointer = { type: 'postgres' as const, db_url: cluster.url('postgres') };
    const { app, base } = await stage(ECHO, { defaultCheckpointer: checkpointer });
    await Promise.all(['a', 'b', 'c'].map((threadId) => runEvents(app, runInput('one', { threadId }))));
    cluster.stop();
    await cluster.start();
    expect(endOf(await runEvents(app, runInput('two', { threadId: 'a' })))).toBe('success');
    expect(await textsOf(base, 'a')).toEqual(['one', 'you said: one', 'two', 'you said: two']);
  });

  test('connections that are closed under a run cost that run at most', async () => {
    const cluster = await postgres.cluster();
    const checkpointer = { type: 'postgres' as const, db_url: cluster.url('postgres') };
    const { app, base } = await stage(gatedAgent('v1'), { defaultCheckpointer: checkpointer });
    const gate = createGate();
    const running = await openRun(base, runInput(gate.name, { threadId: 'th' }));
    await until(() => gate.arrived === 1);
    await query(
      cluster.url('postgres'),
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'agent-engine'",
    );
    gate.open();
    expect(['success', 'FRAMEWORK_ERROR']).toContain(endOf(await running.all()));
    expect(endOf(await runEvents(app, runInput('next', { threadId: 'th' })))).toBe('success');
  });

  test('two servers set an empty database up at once', async () => {
    const db_url = await postgres.database();
    const checkpointer = { type: 'postgres' as const, db_url };
    const options = { files: { 'agent.ts': ECHO }, agent: 'agent.ts', defaultCheckpointer: checkpointer };
    const servers = await Promise.all(Array.from({ length: 4 }, () => createTestApp(options)));
    for (const { app } of servers) expect(endOf(await runEvents(app, runInput('hi')))).toBe('success');
  });

  test('a user without the right to make anything can use tables that are there', async () => {
    const db_url = await postgres.database();
    const checkpointer = { type: 'postgres' as const, db_url };
    const first = await createTestApp({
      files: { 'agent.ts': ECHO },
      agent: 'agent.ts',
      defaultCheckpointer: checkpointer,
    });
    await first.app.close();
    const role = `r_${new URL(db_url).pathname.slice(1)}`;
    await query(db_url, `CREATE ROLE ${role} LOGIN PASSWORD '${PASSWORD}'`);
    await query(db_url, `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${role}`);
    const asRole = Object.assign(new URL(db_url), { username: role }).href;
    const second = await createTestApp({
      files: { 'agent.ts': ECHO },
      agent: 'agent.ts',
      defaultCheckpointer: { type: 'postgres', db_url: asRole },
    });
    expect(endOf(await runEvents(second.app, runInput('hi')))).toBe('success');
    await second.app.close();
    await query(db_url, `DROP OWNED BY ${role}`);
    await query(db_url, `DROP ROLE ${role}`);
  });

  test.each([
    ['a wrong password', (url: URL) => Object.assign(url, { password: 'wrong-secret' }), /user or the password/],
    ['no such database', (url: URL) => Object.assign(url, { pathname: '/nowhere' }), /does not exist/],
    ['a closed port', (url: URL) => Object.assign(url, { port: '1' }), /connection was refused/],
    [
      'no such certificate',
      (url: URL) => Object.assign(url, { search: '?sslrootcert=/nowhere/ca.crt' }),
      /A file that/,
    ],
    ['TLS where there is none', (url: URL) => Object.assign(url, { search: '?sslmode=verify-full' }), /TLS/],
  ])('%s: the change is refused with the reason, and the check says the same', async (_name, change, reason) => {
    const db_url = change(new URL(await postgres.database())).href;
    const { app, logs } = await createTestApp({ files: { 'agent.ts': ECHO }, agent: 'agent.ts' });
    const admin = adminOf(app);
    const memory = { agentFramework: 'LANGGRAPH', memory: { type: 'postgres', db_url } };
    const refused = await admin.patch('/memory', memory);
    expect([refused.status, refused.body.error.code]).toEqual([422, 'reload_failed']);
    expect(refused.body.detail[0].msg).toMatch(reason);
    expect((await admin.get('/memory')).status).toBe(404);
    const told = JSON.stringify([refused.body, logs]);
    expect(told).not.toContain('wrong-secret');
    expect(told).not.toContain(PASSWORD);
  });

  test.skipIf(!existsSync('/usr/bin/openssl'))('speaks TLS as the URL asks', async () => {
    const cluster = await postgres.cluster({ tls: true });
    const admin = adminOf((await createTestApp({ files: { 'agent.ts': ECHO }, agent: 'agent.ts' })).app);
    const change = async (parameters: string) => {
      const memory = { type: 'postgres', db_url: `${cluster.url('postgres')}?${parameters}` };
      const { status, body } = await admin.patch('/memory', { agentFramework: 'LANGGRAPH', memory });
      return status === 200 ? 'works' : body.detail[0].msg;
    };
    const encrypted = async (): Promise<unknown> => {
      const sessions = await query(
        cluster.url('postgres'),
        `SELECT DISTINCT s.ssl FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid)
         WHERE a.application_name = 'agent-engine' AND a.pid <> pg_backend_pid()`,
      );
      return sessions.map(({ ssl }) => ssl);
    };
    // Nobody has signed its certificate.
    expect(await change('sslmode=verify-full')).toMatch(/TLS could not be agreed on/);
    expect(await change(`sslmode=verify-full&sslrootcert=${cluster.certificate}`)).toBe('works');
    expect(await encrypted()).toEqual([true]);
    expect((await admin.post('/memory/check-connection')).body.ok).toBe(true);
    expect(await change('sslmode=no-verify')).toBe('works');
    await expect.poll(encrypted, { timeout: 10_000 }).toEqual([true]);
    expect(await change('sslmode=disable')).toBe('works');
    await expect.poll(encrypted, { timeout: 10_000 }).toEqual([false]);
  });

  test('a server that never answers is given up in time, and the one before serves on', async () => {
    const { createServer } = await import('node:net');
    const silent = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => silent.once('listening', resolve));
    const { port } = silent.address() as { port: number };
    const { app } = await createTestApp({ files: { 'agent.ts': ECHO }, agent: 'agent.ts' });
    const admin = adminOf(app);
    const db_url = `postgres://me:${PASSWORD}@127.0.0.1:${port}/chat`;
    const body = { agentFramework: 'LANGGRAPH', memory: { type: 'postgres', db_url } };
    const refused = await admin.patch('/memory', body);
    expect(refused.body.detail[0].msg).toMatch(/does not answer/);
    expect(endOf(await runEvents(app, runInput('hi')))).toBe('success');
    silent.close();
  });

  test('is checked with a real question, written into the configuration, and its password is shown nowhere', async () => {
    const db_url = await postgres.database();
    const server = await createTestApp({ files: { 'agent.ts': ECHO }, agent: 'agent.ts' });
    const admin = adminOf(server.app);
    const body = { agentFramework: 'LANGGRAPH', memory: { type: 'postgres', db_url } };
    const written = await admin.patch('/memory', body);
    expect([written.status, written.body.reload.status]).toEqual([200, 'reloaded']);
    const check = await admin.post('/memory/check-connection');
    expect(check.body).toEqual({ ok: true, details: { backend: 'postgres' }, error: null });
    const config = await server.app.inject('/agent/config');
    expect(config.json().config.config.checkpointer).toEqual({
      type: 'postgres',
      db_url: db_url.replace(PASSWORD, '***'),
    });
    const shown = [written, check, await admin.get('/memory'), await admin.get('/config/export'), config.json()];
    expect(JSON.stringify([shown, server.logs])).not.toContain(PASSWORD);
    expect(endOf(await runEvents(server.app, runInput('hi')))).toBe('success');
    const [row] = await query(db_url, 'SELECT count(*)::int AS n FROM checkpoints');
    expect(row?.n).toBeGreaterThan(0);
  });

  test('another memory is put in place under a running stream, and each thread stays where it was', async () => {
    const db_url = await postgres.database();
    const server = await createTestApp({ files: { 'agent.ts': gatedAgent('v1') }, agent: 'agent.ts' });
    const base = await server.listen();
    const admin = adminOf(server.app);
    const gate = createGate();
    const input = runInput(gate.name, { threadId: 'old' });
    const running = await openRun(base, input);
    await until(() => gate.arrived === 1);
    const memory = { type: 'postgres', db_url };
    expect((await admin.patch('/memory', { agentFramework: 'LANGGRAPH', memory })).status).toBe(200);
    expect(endOf(await runEvents(server.app, runInput('new', { threadId: 'new' })))).toBe('success');
    gate.open();
    const events = await running.all();
    expect(endOf(events)).toBe('success');
    expect(JSON.stringify(events)).toContain(`v1: ${gate.name}`);
    expect(await textsOf(base, 'new')).toEqual(['new', 'v1: new']);
    const kept = await query(db_url, 'SELECT DISTINCT thread_id FROM checkpoints');
    expect(kept).toEqual([{ thread_id: 'new' }]);
    const again = await server.app.inject({
      method: 'POST',
      url: '/agent/run',
      payload: runInput('x', { threadId: 'old' }),
    });
    expect(endOf(parseEvents(again.body))).toBe('success');
  });
});
