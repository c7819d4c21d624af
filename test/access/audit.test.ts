import { expect, test } from 'vitest';
import {
  type Answer,
  banList,
  empty,
  guardrail,
  type Json,
  mcp,
  slack,
  UNKNOWN_ID,
  withAgent,
} from '../admin/support.ts';
import { type Headers, login, OURS, PASSWORD, PASSWORD_ENV, seat, sql } from './support.ts';

const BEHIND_PROXY = { 'x-forwarded-for': '198.51.100.1, 203.0.113.9' };

/** Rows of the log as the file holds them, oldest first. */
async function rows(root: string, after = 0): Promise<Json[]> {
  return await sql(root, `SELECT * FROM audit_log WHERE id > ${after} ORDER BY id`);
}

/** A server in mode password behind a proxy, and its admin, each of whose requests has an id of its own. */
async function watched() {
  const server = await withAgent({ env: { ...PASSWORD_ENV, SERVICE_TRUST_PROXY: 'true' } });
  const { app, root } = server;
  let count = 0;
  /** Makes a request and expects that the log has exactly this one entry for it. */
  const one = async (
    headers: Headers,
    request: [method: string, path: string, body?: unknown, more?: Headers],
    status: number,
    entry: [actor: string, action: string, outcome: string],
  ): Promise<Answer> => {
    count += 1;
    const [method, path, body, more] = request;
    const before = (await rows(root)).length;
    const id = { 'x-request-id': `request-${count}` };
    const answer = await seat(app, { ...headers, ...BEHIND_PROXY, ...id }).call(method, path, body, more);
    const what = `${method} ${path} ${JSON.stringify(answer.body)}`;
    expect(answer.status, what).toBe(status);
    await expect.poll(async () => (await rows(root)).length, { message: what }).toBe(before + 1);
    const [row] = (await rows(root)).slice(-1);
    const { actor, action, outcome, address, request_id, at } = row;
    expect([actor, action, outcome], what).toEqual(entry);
    expect([address, request_id]).toEqual(['203.0.113.9', `request-${count}`]);
    expect(answer.headers['x-request-id']).toBe(request_id);
    expect(Math.abs(Date.now() - at)).toBeLessThan(60_000);
    return answer;
  };
  return { ...server, one };
}

test('logins, failed ones, logouts and passwords are one entry each', async () => {
  const { app, root, one } = await watched();
  const auth = (path: string, body?: object): [string, string, object | undefined] => ['POST', `/auth/${path}`, body];
  await one(OURS, auth('login', { password: 'wrong horse' }), 401, ['anonymous', 'login', 'refused']);
  const { headers } = await one(OURS, auth('login', { password: PASSWORD }), 200, ['admin', 'login', 'ok']);
  const admin = { ...OURS, cookie: String(headers['set-cookie']).split(';')[0] ?? '' };
  const change = (currentPassword: string) =>
    auth('change-password', { currentPassword, newPassword: 'battery staple' });
  await one(admin, change('wrong horse'), 401, ['admin', 'change-password', 'refused']);
  await one(admin, change(PASSWORD), 200, ['admin', 'change-password', 'ok']);
  await one(admin, auth('logout'), 200, ['admin', 'logout', 'ok']);
  // Nobody's logout is nothing.
  const before = (await rows(root)).length;
  expect((await seat(app, admin).post('/auth/logout')).status).toBe(200);
  expect((await seat(app).get('/auth/me')).status).toBe(200);
  for (let tries = 0; tries < 8; tries += 1) await seat(app, OURS).post('/auth/login', { password: 'wrong' });
  // Five wrong ones, and the first that had to wait.
  expect((await rows(root)).length).toBe(before + 6);
  expect(JSON.stringify(await rows(root))).not.toMatch(/horse|staple|wrong"/);
});

test('every write of every resource is one entry, however it comes out', async () => {
  const { app, one } = await watched();
  const admin = await login(app);
  const stale = { 'if-match': '"0"' };
  const ok = (action: string): [string, string, string] => ['admin', action, 'ok'];
  const refused = (action: string): [string, string, string] => ['admin', action, 'refused'];
  const collections: [string, object, object][] = [
    ['guardrails', guardrail('a'), { sortOrder: 3 }],
    ['mcp-servers', mcp('b'), { name: 'c' }],
    ['prompts', { promptId: 'p', content: 'Hello', tags: [] }, { tags: ['x'] }],
    ['integrations', slack('d'), { name: 'e' }],
  ];
  for (const [name, body, patch] of collections) {
    const { data } = (await one(admin, ['POST', `/${name}`, body], 201, ok(`${name}.create`))).body;
    const path = `/${name}/${data.id}`;
    await one(admin, ['POST', `/${name}`, {}], 422, refused(`${name}.create`));
    await one(admin, ['PATCH', path, patch], 200, ok(`${name}.update`));
    await one(admin, ['PATCH', path, {}], 200, ok(`${name}.update`));
    await one(admin, ['PATCH', path, { tags: null, name: null }], 422, refused(`${name}.update`));
    await one(admin, ['PATCH', path, patch, stale], 412, refused(`${name}.update`));
    await one(admin, ['PATCH', `/${name}/${UNKNOWN_ID}`, patch], 404, refused(`${name}.update`));
    await one(admin, ['DELETE', path, undefined, stale], 412, refused(`${name}.delete`));
    await one(admin, ['DELETE', path], 200, ok(`${name}.delete`));
    await one(admin, ['DELETE', path], 404, refused(`${name}.delete`));
  }
  const singletons: [string, object, object][] = [
    ['memory', { agentFramework: 'LANGGRAPH', memory: { type: 'memory' } }, { memory: { type: 'nonsense' } }],
    ['observability', { observability: { provider: 'LANGFUSE', enabled: false, config: {} } }, { observability: 7 }],
    ['sso', { sso: { enabled: false, issuer: 'https://id.example.org', clientId: 'x' } }, { sso: { enabled: 'yes' } }],
  ];
  for (const [name, body, bad] of singletons) {
    await one(admin, ['PATCH', `/${name}`, body], 200, ok(`${name}.update`));
    await one(admin, ['PATCH', `/${name}`, bad], 422, refused(`${name}.update`));
    await one(admin, ['PATCH', `/${name}`, body, stale], 412, refused(`${name}.update`));
    await one(admin, ['DELETE', `/${name}`], 200, ok(`${name}.delete`));
    await one(admin, ['DELETE', `/${name}`], 404, refused(`${name}.delete`));
  }
  await one(admin, ['PATCH', '/agent', { name: 'New' }], 200, ok('agent.update'));
  await one(admin, ['PATCH', '/agent', { name: '' }], 422, refused('agent.update'));
  await one(admin, ['PATCH', '/agent', { name: 'Newer' }, stale], 412, refused('agent.update'));
  // What asks, and changes nothing, is an entry as well.
  await one(admin, ['POST', '/memory/check-connection'], 404, refused('memory.check-connection'));
  await one(admin, ['POST', '/validate', { yaml: 'agent: 1' }], 422, refused('validate'));
});

test('so are keys, restores, imports, reloads, onboarding and what a managing platform does', async () => {
  const { app, one } = await watched();
  const admin = await login(app);
  const ok = (action: string): [string, string, string] => ['admin', action, 'ok'];
  const refused = (action: string): [string, string, string] => ['admin', action, 'refused'];
  const wanted = { name: 'ops', scopes: ['admin:write'] };
  const { key, id } = (await one(admin, ['POST', '/api-keys', wanted], 201, ok('api-keys.create'))).body;
  await one(admin, ['POST', '/api-keys', { ...wanted, scopes: ['x'] }], 422, refused('api-keys.create'));
  await one(admin, ['POST', '/api-keys', { ...wanted, expiresAt: '2001-01-01T00:00:00Z' }], 422, [
    'admin',
    'api-keys.create',
    'refused',
  ]);
  const byKey = { host: 'agent.test', 'x-api-key': key };
  await one(byKey, ['PATCH', '/agent', { name: 'By key' }], 200, ['key:ops', 'agent.update', 'ok']);
  await one(byKey, ['POST', '//reload'], 200, ['key:ops', 'reload', 'ok']);
  await one(byKey, ['POST', '//reload', { path: '../none.yaml' }], 422, ['key:ops', 'reload', 'refused']);
  const items = (await seat(app, admin).get('/revisions')).body.items;
  expect(items[0]).toMatchObject({ actor: 'key:ops', resource: 'agent' });
  const restore = `/revisions/${items.at(-1).number}/restore`;
  await one(admin, ['POST', restore], 200, ok('revisions.restore'));
  await one(admin, ['POST', '/revisions/999/restore'], 404, refused('revisions.restore'));
  const yaml = String((await seat(app, admin).get('/config/export')).body);
  await one(admin, ['POST', '/config/import?dry_run=true', { yaml }], 200, ok('config.import'));
  await one(admin, ['POST', '/config/import', { yaml }], 200, ok('config.import'));
  await one(admin, ['POST', '/config/import', { yaml: 'agent: [' }], 422, refused('config.import'));
  await one(admin, ['POST', '/config/import', { yaml: 'guardrails: 1' }], 422, refused('config.import'));
  await one(admin, ['POST', '/onboarding/scan', {}], 200, ok('onboarding.scan'));
  const starter = { name: 'Starter', framework: 'LANGGRAPH' };
  await one(admin, ['POST', '/onboarding/create-starter', starter], 409, refused('onboarding.create-starter'));
  const list = (await one(byKey, ['POST', '/guardrails', guardrail('a')], 201, ['key:ops', 'guardrails.create', 'ok']))
    .body.data.id;
  const managed = (path: string, body: object): [string, string, object] => [
    'PATCH',
    `//api/v1/guardrails/${path}`,
    body,
  ];
  const good = { name: 'a', guardrail: banList(['beta']) };
  await one(byKey, managed(list, good), 200, ['key:ops', 'guardrails.update', 'ok']);
  await one(byKey, managed(UNKNOWN_ID, good), 404, ['key:ops', 'guardrails.update', 'refused']);
  await one(byKey, managed(list, {}), 422, ['key:ops', 'guardrails.update', 'refused']);
  const agent = (await seat(app, admin).get('/agent')).body.id;
  const status: [string, string, object] = ['PUT', `//api/v1/agents/${agent}/status`, { status: 'inactive' }];
  await one(admin, status, 200, ok('agents.status'));
  await one(byKey, ['DELETE', `/api-keys/${id}`], 200, ['key:ops', 'api-keys.delete', 'ok']);
  await one(admin, ['DELETE', `/api-keys/${id}`], 404, refused('api-keys.delete'));
});

test('onboarding is an entry', async () => {
  const { admin, root } = await empty();
  const created = await admin.post('/onboarding/create-starter', { name: 'Starter', framework: 'LANGGRAPH' });
  expect(created.status, JSON.stringify(created.body)).toBe(200);
  expect((await rows(root)).map(({ actor, action, outcome }) => [actor, action, outcome])).toEqual([
    ['anonymous', 'onboarding.create-starter', 'ok'],
  ]);
});

test('what strangers are turned away from leaves no entry, and no fault in the log', async () => {
  const { app, root, logs } = await withAgent({
    env: { ...PASSWORD_ENV, SERVICE_ALLOWED_HOSTS: 'agent.test', SERVICE_RATE_LIMIT_ADDRESS: '40' },
  });
  const before = (await rows(root)).length;
  for (let count = 0; count < 30; count += 1) {
    expect((await seat(app, OURS).post('/guardrails', guardrail('a'))).status).toBe(401);
  }
  for (const headers of [{ host: 'evil.test' }, { ...OURS, origin: 'http://evil.test' }]) {
    expect((await seat(app, headers).post('/guardrails', guardrail('a'))).status).toBe(403);
    expect((await seat(app, headers).post('//reload')).status).toBe(403);
  }
  const answers = [];
  for (let count = 0; count < 20; count += 1) answers.push((await seat(app, OURS).del('/memory')).status);
  expect(new Set(answers)).toEqual(new Set([401, 429]));
  expect((await seat(app, OURS).post('/guardrails', guardrail('a'))).status).toBe(429);
  expect(await rows(root)).toHaveLength(before);
  expect(logs.filter(({ level }) => Number(level) >= 50)).toEqual([]);
});
