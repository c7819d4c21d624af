import { expect, test } from 'vitest';
import { type Json, mcp, slack, withAgent } from '../admin/support.ts';
import {
  type Headers,
  login,
  newKey,
  OURS,
  PASSWORD,
  PASSWORD_ENV,
  runtimeStatus,
  seat,
  sql,
  ssoOf,
} from './support.ts';

/** From now on the log takes nothing. */
const FULL = `CREATE TRIGGER audit_is_full BEFORE INSERT ON audit_log BEGIN SELECT RAISE(ABORT, 'disk of the log is full'); END`;

test('what cannot be accounted for is not done', async () => {
  const { app, root, logs } = await withAgent({ env: PASSWORD_ENV });
  const session = await login(app);
  const admin = seat(app, session);
  const key = await newKey(admin, 'ops', ['admin:write']);
  const { id } = (await admin.get('/api-keys')).body[0];
  // How a change that was refused went is remembered, in `runtime_state`; of the change itself there must be nothing.
  const tables = (await sql(root, "SELECT name FROM sqlite_master WHERE type = 'table'"))
    .map(({ name }) => String(name))
    .filter((name) => name !== 'runtime_state');
  expect(tables).toEqual(
    expect.arrayContaining(['config_records', 'revisions', 'api_keys', 'admin_users', 'audit_log']),
  );
  const dump = async () => await Promise.all(tables.map((name) => sql(root, `SELECT * FROM ${name} ORDER BY 1`)));
  const agent = (await admin.get('/agent')).body;
  await admin.get('/agent', { 'x-api-key': key });
  const generation = (await admin.get('//health')).body;
  const yaml = String((await admin.get('/config/export')).body).replace('name: agent', 'name: other');
  const before = await dump();
  await sql(root, FULL);

  const provider = { issuer: 'http://127.0.0.1:9' };
  const attempts: [string, string, unknown][] = [
    ['PATCH', '/agent', { name: 'Other' }],
    ['PATCH', '/sso', ssoOf(provider)],
    ['POST', '/integrations', slack('a')],
    ['POST', '/prompts', { promptId: 'p', content: 'x' }],
    ['DELETE', `/api-keys/${id}`, undefined],
    ['POST', '/api-keys', { name: 'more', scopes: ['runtime'] }],
    ['POST', '/auth/change-password', { currentPassword: PASSWORD, newPassword: 'battery staple' }],
    ['POST', '/auth/login', { password: PASSWORD }],
    ['PUT', `//api/v1/agents/${agent.id}/status`, { status: 'inactive' }],
    ['POST', '/config/import', { yaml }],
  ];
  for (const [method, path, body] of attempts) {
    const answer = await admin.call(method, path, body);
    expect(answer.status, `${method} ${path} ${JSON.stringify(answer.body)}`).toBe(500);
    expect(answer.headers['set-cookie'], path).toBeUndefined();
    expect(JSON.stringify(answer.body)).not.toMatch(/audit_log|disk of the log|aek_/);
  }
  expect(await dump()).toEqual(before);
  expect((await admin.get('/agent')).body).toEqual(agent);
  expect((await admin.get('//health')).body).toEqual(generation);
  expect(await runtimeStatus(app)).toBe(200);
  expect((await seat(app, { 'x-api-key': key }).get('/agent')).status).toBe(200);
  expect(logs.some(({ err }) => String((err as Json)?.message).includes('disk of the log'))).toBe(true);

  await sql(root, 'DROP TRIGGER audit_is_full');
  expect((await admin.patch('/agent', { name: 'Other' })).status).toBe(200);
  await login(app);
});

test('nothing in the log can be changed or removed, by anything that opens the file', async () => {
  const { admin, root } = await withAgent();
  await admin.patch('/agent', { name: 'Other' });
  const before = await sql(root, 'SELECT * FROM audit_log');
  expect(before.length).toBeGreaterThan(0);
  for (const statement of [
    "UPDATE audit_log SET actor = 'nobody'",
    'UPDATE audit_log SET id = id + 1',
    'DELETE FROM audit_log',
    'DELETE FROM audit_log WHERE id = 1',
  ]) {
    await expect(sql(root, statement), statement).rejects.toThrow('append-only');
  }
  expect(await sql(root, 'SELECT * FROM audit_log')).toEqual(before);
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
    for (const path of ['/audit', '/audit/1']) expect((await admin.call(method, path, {})).status).toBe(404);
  }
});

// INSERT OR REPLACE deletes the old row without firing the trigger for DELETE, unless recursive_triggers is on.
test('nor can a row be replaced by one of the same id', async () => {
  const { admin, root } = await withAgent();
  await admin.patch('/agent', { name: 'Other' });
  const columns = "id, at, 'nobody', action, outcome, address, request_id, detail";
  await expect(sql(root, `REPLACE INTO audit_log SELECT ${columns} FROM audit_log`)).rejects.toThrow('append-only');
});

test('it is read in pages, newest first, by every filter', async () => {
  const { admin, root } = await withAgent();
  const at = Date.parse('2026-01-01T00:00:00Z');
  await sql(
    root,
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 120)
     INSERT INTO audit_log (id, at, actor, action, outcome, address, request_id, detail)
     SELECT 1000 + i, ${at} + i * 1000, CASE WHEN i % 2 THEN 'admin' ELSE 'key:ci' END,
       CASE i % 4 WHEN 0 THEN 'x.create' WHEN 1 THEN 'x.update' WHEN 2 THEN 'x' ELSE 'xy.create' END,
       CASE i % 3 WHEN 0 THEN 'ok' WHEN 1 THEN 'refused' ELSE 'failed' END,
       '192.0.2.' || (i % 5), 'r-' || i, NULL FROM n`,
  );
  const ids = async (query: string): Promise<number[]> => {
    const { status, body } = await admin.get(`/audit?${query}`);
    expect(status, query).toBe(200);
    return body.items.map((item: Json) => item.id - 1000);
  };
  const wanted = (test: (i: number) => boolean) => Array.from({ length: 120 }, (_, index) => 120 - index).filter(test);
  expect(await ids('')).toEqual(wanted((i) => i > 70));
  const all = 'limit=500&since=2026-01-01T00:00:00Z&until=2026-01-02T00:00:00Z';
  expect(await ids(all)).toEqual(wanted(() => true));
  expect(await ids(`${all}&actor=admin`)).toEqual(wanted((i) => i % 2 === 1));
  expect(await ids(`${all}&actor=key:ci&outcome=ok`)).toEqual(wanted((i) => i % 2 === 0 && i % 3 === 0));
  expect(await ids(`${all}&action=x`)).toEqual(wanted((i) => i % 4 !== 3));
  expect(await ids(`${all}&action=x.create`)).toEqual(wanted((i) => i % 4 === 0));
  expect(await ids(`${all}&address=192.0.2.3`)).toEqual(wanted((i) => i % 5 === 3));
  expect(await ids(`${all}&actor=adm`)).toEqual([]);
  expect(await ids('limit=500&since=2026-01-01T00:00:10Z&until=2026-01-01T01:00:12%2B01:00')).toEqual([11, 10]);
  expect(await ids(`${all}&before=1003`)).toEqual([2, 1]);

  let before: number | null = 1121;
  const seen: number[] = [];
  while (before !== null && before > 1000) {
    const { body }: { body: Json } = await admin.get(`/audit?limit=40&before=${before}&action=x`);
    seen.push(...body.items.map((item: Json) => item.id - 1000).filter((id: number) => id > 0));
    before = body.nextBefore;
  }
  expect(seen).toEqual(wanted((i) => i % 4 !== 3));
  expect((await admin.get('/audit?actor=nobody')).body).toEqual({ items: [], nextBefore: null });
  const bad = 'limit=0,limit=501,limit=x,limit=1.5,limit=,before=-1,before=1.5,before=99999999999999999999,outcome=no';
  for (const query of `${bad},since=yesterday,until=2026-01-01,limit=1&limit=2,actor=${'x'.repeat(513)}`.split(',')) {
    const answer = await admin.get(`/audit?${query}`);
    expect(answer.status, query).toBe(422);
    expect(answer.body.error.fieldErrors[0].field).toBe(`query.${query.split('=')[0]}`);
  }
});

test('it is for admins, and holds no secret', async () => {
  const { app, root } = await withAgent({ env: { ...PASSWORD_ENV, DEEP_SECRET: 'planted-6' } });
  const session = await login(app);
  const admin = seat(app, session);
  const keys = [await newKey(admin, 'chat', ['runtime']), await newKey(admin, 'look', ['admin:read'])];
  const statuses = async (headers: Headers) => (await seat(app, headers).get('/audit')).status;
  expect([await statuses({}), await statuses(OURS)]).toEqual([401, 401]);
  expect(await Promise.all(keys.map((key) => statuses({ 'x-api-key': key })))).toEqual([403, 200]);
  await admin.post('/integrations', {
    name: 'a',
    enabled: false,
    integration: { provider: 'SLACK', config: { botToken: 'planted-1', signingSecret: 'planted-2' } },
  });
  await admin.post('/mcp-servers', mcp('b', { headers: { authorization: 'Bearer planted-3' } }));
  await admin.post('/mcp-servers', mcp('b', { url: 'planted-4', headers: 'planted-5' }));
  await admin.patch('/sso', { sso: { issuer: 'https://planted-7', clientId: '', password: 'planted-8' } });
  await seat(app, OURS).post('/auth/login', { password: 'planted-9' });
  await admin.post('/config/import', { yaml: 'agent: planted-10' });
  await admin.call('POST', '/guardrails?token=planted-11', {});
  const text = JSON.stringify(await sql(root, 'SELECT * FROM audit_log'));
  expect(text).not.toContain('planted');
  expect(text).not.toContain(session.cookie);
  for (const key of keys) expect(text).not.toContain(key);
});
