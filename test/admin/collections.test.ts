import { describe, expect, test } from 'vitest';
import { banList, empty, guardrail, type Json, mcp, slack, UNKNOWN_ID, withAgent } from './support.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$/;

/** Each collection with a body for a create, a patch, and what the patched record then holds. */
const COLLECTIONS: { path: string; create: Json; patch: Json; holds: Json }[] = [
  { path: 'mcp-servers', create: mcp('Clock'), patch: { name: 'Watch' }, holds: { name: 'Watch', slug: 'clock' } },
  {
    path: 'guardrails',
    create: guardrail('Words'),
    patch: { sort_order: 4 },
    holds: { sortOrder: 4, sort_order: 4, name: 'Words' },
  },
  {
    path: 'prompts',
    create: { promptId: 'greeting', content: 'Hello {{ user }}' },
    patch: { tags: ['live'] },
    holds: { tags: ['live'], version: 1, content: 'Hello {{ user }}' },
  },
  { path: 'integrations', create: slack('Team'), patch: { name: 'Crew' }, holds: { name: 'Crew', slug: 'team' } },
];

describe.each(COLLECTIONS)('$path', ({ path, create, patch, holds }) => {
  test('a record is made, read, listed, changed and deleted', async () => {
    const { admin } = await withAgent();
    const made = await admin.post(`/${path}`, create);
    expect(made).toMatchObject({ status: 201, body: { reload: { status: 'reloaded', error: null } } });
    expect(made.body.reload.message).toEqual(expect.any(String));
    const { id, createdAt, updatedAt } = made.body.data;
    expect(id).toMatch(UUID);
    expect(createdAt).toMatch(TIME);
    expect(updatedAt).toBe(createdAt);

    expect(await admin.get(`/${path}/${id}`)).toMatchObject({ status: 200, body: made.body.data });
    expect((await admin.get(`/${path}`)).body).toEqual([made.body.data]);

    const changed = await admin.patch(`/${path}/${id}`, patch);
    expect(changed).toMatchObject({ status: 200, body: { data: { id, createdAt, ...holds } } });
    expect((await admin.get(`/${path}/${id}`)).body).toEqual(changed.body.data);

    const gone = await admin.del(`/${path}/${id}`);
    expect(gone).toMatchObject({ status: 200, body: { data: { id, deleted: true }, reload: { status: 'reloaded' } } });
    expect((await admin.get(`/${path}`)).body).toEqual([]);
    expect((await admin.del(`/${path}/${id}`)).status).toBe(404);
  });

  test('nothing sent: nothing done', async () => {
    const { admin } = await withAgent();
    const { body } = await admin.post(`/${path}`, create);
    const before = await admin.revision();
    for (const nothing of [{}, { unknown: 1, content: path === 'prompts' ? 'other' : undefined }]) {
      const answer = await admin.patch(`/${path}/${body.data.id}`, nothing);
      expect(answer).toMatchObject({ status: 200, body: { data: body.data, reload: { status: 'reloaded' } } });
    }
    expect(await admin.revision()).toBe(before);
  });

  test('unknown and malformed ids', async () => {
    const { admin } = await withAgent();
    for (const method of ['GET', 'PATCH', 'DELETE']) {
      const body = method === 'PATCH' ? patch : undefined;
      const unknown = await admin.call(method, `/${path}/${UNKNOWN_ID}`, body);
      expect(unknown, method).toMatchObject({ status: 404, body: { error: { code: 'not_found' } } });
      expect(unknown.body.detail).toBe(unknown.body.error.message);
      for (const id of ['1', 'not-a-uuid', `${UNKNOWN_ID}0`, '%00', '%F0%9F%98%80']) {
        const malformed = await admin.call(method, `/${path}/${id}`, body);
        expect(malformed, `${method} ${id}`).toMatchObject({
          status: 422,
          body: { detail: [{ loc: ['path', expect.any(String)] }], error: { code: 'validation_failed' } },
        });
      }
    }
  });

  test.each([{}, { nonsense: [1] }, 'text', []])('a body on a DELETE is ignored: %j', async (payload) => {
    const { admin } = await withAgent();
    const { body } = await admin.post(`/${path}`, create);
    const headers = { 'content-type': 'application/json' };
    const gone = await admin.call('DELETE', `/${path}/${body.data.id}`, JSON.stringify(payload), headers);
    expect(gone.status).toBe(200);
  });

  test('a DELETE that announces JSON and sends nothing works', async () => {
    const { admin } = await withAgent();
    const { body } = await admin.post(`/${path}`, create);
    const gone = await admin.del(`/${path}/${body.data.id}`, { 'content-type': 'application/json' });
    expect(gone.status).toBe(200);
  });

  test('a missing body is refused', async () => {
    const { admin } = await withAgent();
    const { body } = await admin.post(`/${path}`, create);
    expect((await admin.post(`/${path}`)).status).toBe(422);
    expect((await admin.patch(`/${path}/${body.data.id}`)).status).toBe(422);
  });

  test('an upper-case id is the same record, and the answer has the stored id', async () => {
    const { admin } = await withAgent();
    const { id } = (await admin.post(`/${path}`, create)).body.data;
    expect((await admin.get(`/${path}/${id.toUpperCase()}`)).body.id).toBe(id);
    expect((await admin.del(`/${path}/${id.toUpperCase()}`)).body.data.id).toBe(id);
  });

  test('the addresses take a trailing slash', async () => {
    const { admin } = await withAgent();
    const made = await admin.post(`/${path}/`, create);
    expect(made.status).toBe(201);
    expect((await admin.get(`/${path}/${made.body.data.id}/`)).status).toBe(200);
  });
});

test('both spellings are taken, camelCase and twins are given', async () => {
  const { admin } = await empty();
  const snake = await admin.post('/mcp-servers', {
    name: 'Clock',
    enabled: false,
    mcp_server: { name: 'clock', url: 'https://x.example', timeout_seconds: 3, terminate_on_close: true },
  });
  expect(snake.status).toBe(201);
  expect(snake.body.data.mcpServer).toMatchObject({ timeoutSeconds: 3, terminateOnClose: true });
  expect(snake.body.data.mcp_server).toEqual(snake.body.data.mcpServer);
  const prompt = await admin.post('/prompts', { prompt_id: 'a', content: 'b' });
  expect(prompt.body.data).toMatchObject({ promptId: 'a' });
  expect(prompt.body.data).not.toHaveProperty('prompt_id');
  const team = await admin.post('/integrations', {
    name: 'Team',
    enabled: false,
    integration: { provider: 'SLACK', config: { bot_token: 'xoxb-1', signing_secret: 's3' } },
  });
  expect(team.status).toBe(201);
  const rail = await admin.post('/guardrails', { ...guardrail('One'), sort_order: 3 });
  expect(rail.body.data).toMatchObject({ sortOrder: 3, sort_order: 3 });
  // Payloads of guardrails are snake_case only.
  const camel = { configId: 'ban_list', bannedWords: ['a'] };
  expect((await admin.post('/guardrails', { ...guardrail('Two'), guardrail: camel })).status).toBe(422);
});

test('defaults are filled in', async () => {
  const { admin } = await empty();
  const rail = await admin.post('/guardrails', guardrail('A'));
  expect(rail.body.data).toMatchObject({ enabled: true, sortOrder: 0 });
  expect(rail.body.data.guardrail).toMatchObject({ reject_message: '', banned_words: ['alpha'], api_key: '' });
  expect((await admin.post('/mcp-servers', mcp('A'))).body.data.mcpServer).toEqual({
    name: 'tools',
    transport: 'streamable_http',
    url: 'https://tools.example.org/mcp',
    command: null,
    args: [],
    headers: {},
    env: {},
    cwd: null,
    encoding: null,
    encodingErrorHandler: null,
    timeoutSeconds: null,
    sseReadTimeoutSeconds: null,
    terminateOnClose: null,
    sessionKwargs: {},
    toolAllowList: null,
    requireApproval: false,
  });
  const whatsapp = { accessToken: 'a', phoneNumberId: '1', verifyToken: 'v' };
  const made = await admin.post('/integrations', {
    name: 'W',
    enabled: false,
    integration: { provider: 'WHATSAPP', config: whatsapp },
  });
  expect(made.body.data.integration).toMatchObject({ enabled: true, config: { apiVersion: 'v21.0' } });
  expect((await admin.post('/prompts', { promptId: 'p', content: '', version: 9 })).body.data).toMatchObject({
    version: 1,
    tags: [],
  });
});

test('null keeps a value, but a name and tags cannot be null; the write is one', async () => {
  const { admin } = await empty();
  const { data } = (await admin.post('/guardrails', guardrail('A', ['x'], { sortOrder: 2 }))).body;
  const before = await admin.revision();
  const nulls = { enabled: null, position: null, sortOrder: null, guardrail: null };
  const kept = await admin.patch(`/guardrails/${data.id}`, nulls);
  const { updatedAt: _then, ...rest } = data;
  expect(kept).toMatchObject({ status: 200, body: { data: rest } });
  expect(await admin.revision()).toBe(before + 1);
  expect((await admin.patch(`/guardrails/${data.id}`, { name: null })).status).toBe(422);
  const prompt = (await admin.post('/prompts', { promptId: 'p', content: 'c', tags: ['t'] })).body.data;
  expect((await admin.patch(`/prompts/${prompt.id}`, { tags: null })).status).toBe(422);
  expect((await admin.patch(`/prompts/${prompt.id}`, { tags: [] })).body.data.tags).toEqual([]);
  const server = (await admin.post('/mcp-servers', mcp('M'))).body.data;
  expect((await admin.patch(`/mcp-servers/${server.id}`, { name: null })).status).toBe(422);
  expect((await admin.patch(`/mcp-servers/${server.id}`, { mcpServer: null })).body.data.mcpServer).toEqual(
    server.mcpServer,
  );
});

test('an inner object is replaced whole', async () => {
  const { admin } = await empty();
  const server = (await admin.post('/mcp-servers', mcp('M', { headers: { Accept: 'x' }, timeoutSeconds: 5 }))).body;
  const inner = { name: 'other', url: 'https://other.example' };
  const after = await admin.patch(`/mcp-servers/${server.data.id}`, { mcpServer: inner });
  expect(after.body.data.mcpServer).toMatchObject({ name: 'other', headers: {}, timeoutSeconds: null });
  const rail = (
    await admin.post('/guardrails', { ...guardrail('G'), guardrail: banList(['a'], { reject_message: 'no' }) })
  ).body.data;
  const replaced = await admin.patch(`/guardrails/${rail.id}`, { guardrail: banList(['b']) });
  expect(replaced.body.data.guardrail).toMatchObject({ banned_words: ['b'], reject_message: '' });
});

test('lists: guardrails by position, sort order and age; prompts by id and version; the others by age', async () => {
  const { admin } = await empty();
  for (const [name, sortOrder] of [
    ['c', 1],
    ['a', 1],
    ['b', 0],
    ['d', 2],
  ] as const) {
    expect((await admin.post('/guardrails', guardrail(name, ['x'], { sortOrder }))).status).toBe(201);
  }
  expect((await admin.get('/guardrails')).body.map((row: Json) => row.name)).toEqual(['b', 'c', 'a', 'd']);
  for (const promptId of ['z', 'a', 'z', 'B']) await admin.post('/prompts', { promptId, content: '' });
  const prompts = (await admin.get('/prompts')).body.map((row: Json) => `${row.promptId}${row.version}`);
  expect(prompts).toEqual(['B1', 'a1', 'z1', 'z2']);
});

test('records made in one breath are listed in the order they were made', async () => {
  const { admin } = await empty();
  const names = Array.from({ length: 40 }, (_, index) => `n${index}`);
  for (const name of names) await admin.post('/integrations', slack(name));
  expect((await admin.get('/integrations')).body.map((row: Json) => row.name)).toEqual(names);
});
