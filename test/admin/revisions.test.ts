import { expect, test } from 'vitest';
import { ECHO } from '../support/agents.ts';
import { writeFiles } from '../support/app.ts';
import { banList, empty, guardrail, type Json, mcp, slack, withAgent } from './support.ts';

test('every write is one, newest first, in pages', async () => {
  const { admin } = await empty();
  const { id } = (await admin.post('/guardrails', guardrail('a'))).body.data;
  await admin.patch(`/guardrails/${id}`, { sortOrder: 2 });
  await admin.patch(`/guardrails/${id}`, {});
  await admin.del(`/guardrails/${id}`);
  await admin.patch('/sso', { sso: { enabled: false, issuer: 'https://x.example', clientId: 'c' } });
  const all = (await admin.get('/revisions')).body;
  expect(all.nextBefore).toBeNull();
  expect(all.items.map((item: Json) => [item.number, item.resource, item.action])).toEqual([
    [4, 'sso', 'update'],
    [3, 'guardrails', 'delete'],
    [2, 'guardrails', 'update'],
    [1, 'guardrails', 'create'],
  ]);
  expect(all.items[0].createdAt).toMatch(/Z$/);
  const first = (await admin.get('/revisions?limit=3')).body;
  expect(first.items.map((item: Json) => item.number)).toEqual([4, 3, 2]);
  const second = (await admin.get(`/revisions?limit=3&before=${first.nextBefore}`)).body;
  expect(second).toMatchObject({ items: [{ number: 1 }], nextBefore: null });
  expect((await admin.get('/revisions?limit=4')).body.nextBefore).toBeNull();
  for (const query of ['limit=0', 'limit=501', 'limit=x', 'before=-1', 'before=1.5', 'before=99999999999999999999']) {
    expect((await admin.get(`/revisions?${query}`)).status, query).toBe(422);
  }
});

test('a revision tells what it changed and what it led to', async () => {
  const { admin } = await empty();
  await admin.post('/guardrails', guardrail('a'));
  const { id } = (await admin.post('/guardrails', guardrail('b'))).body.data;
  await admin.patch(`/guardrails/${id}`, { sortOrder: 7, guardrail: banList(['beta']) });
  const { body } = await admin.get('/revisions/3');
  expect(body).toMatchObject({ number: 3, resource: 'guardrails', action: 'update' });
  expect(body.diff).toEqual(
    expect.arrayContaining([
      { type: 'change', path: ['guardrails', 'b', 'sortOrder'], before: 0, after: 7 },
      { type: 'change', path: ['guardrails', 'b', 'guardrail', 'banned_words', 0], before: 'alpha', after: 'beta' },
    ]),
  );
  expect(body.config.guardrails.map((row: Json) => row.slug)).toEqual(['a', 'b']);
  expect((await admin.get('/revisions/3/diff')).body.diff).toEqual(body.diff);
  expect((await admin.get('/revisions/3/diff?against=3')).body.diff).toEqual([]);
  const whole = (await admin.get('/revisions/3/diff?against=0')).body.diff;
  expect(whole).toMatchObject([
    { type: 'create', path: ['guardrails', 'a'] },
    { type: 'create', path: ['guardrails', 'b'] },
  ]);
  expect((await admin.get('/revisions/1/diff?against=2')).body.diff).toMatchObject([
    { type: 'remove', path: ['guardrails', 'b'] },
  ]);
  for (const path of ['/revisions/9', '/revisions/9/diff', '/revisions/1/diff?against=9', '/revisions/0']) {
    expect((await admin.get(path)).status, path).toBe(404);
  }
  for (const path of ['/revisions/x', '/revisions/-1', '/revisions/1/diff?against=x', '/revisions/1.5']) {
    expect((await admin.get(path)).status, path).toBe(422);
  }
});

test('a changed secret is a difference, and never shown', async () => {
  const { admin } = await empty();
  const { id } = (await admin.post('/integrations', slack('a'))).body.data;
  const config = { botToken: 'xoxb-SECOND', signingSecret: 's3' };
  await admin.patch(`/integrations/${id}`, { integration: { provider: 'SLACK', config } });
  const { diff } = (await admin.get('/revisions/2/diff')).body;
  expect(diff).toEqual([
    { type: 'change', path: ['integrations', 'a', 'integration', 'config', 'botToken'], before: '***', after: '***' },
  ]);
  for (const path of ['/revisions/1', '/revisions/2', '/revisions/2/diff?against=0', '/revisions/2/diff']) {
    expect(JSON.stringify((await admin.get(path)).body), path).not.toMatch(/xoxb|s3"/);
  }
});

test('a restore brings back rows, ids, slugs, prompts and secrets, live, as a new revision', async () => {
  const { admin } = await withAgent();
  const rail = (await admin.post('/guardrails', guardrail('Rail', ['alpha']))).body.data;
  await admin.post('/prompts', { promptId: 'p', content: 'one' });
  const prompt = (await admin.post('/prompts', { promptId: 'p', content: 'two' })).body.data;
  const server = (await admin.post('/mcp-servers', mcp('m', { url: 'https://u:pw@x.example' }))).body.data;
  const number = await admin.revision();
  const before = await Promise.all(
    ['/guardrails', '/prompts', '/mcp-servers', '/agent'].map((path) => admin.get(path)),
  );
  await admin.del(`/guardrails/${rail.id}`);
  await admin.del(`/prompts/${prompt.id}`);
  await admin.patch(`/mcp-servers/${server.id}`, { name: 'other', mcpServer: { name: 'x', url: 'https://z.example' } });
  await admin.patch('/agent', { name: 'Other' });
  expect((await admin.post('//agent/invoke', { query: 'alpha', session_id: 's' })).status).toBe(200);

  const at = await admin.revision();
  const stale = await admin.post(`/revisions/${number}/restore`, undefined, { 'if-match': `"${number}"` });
  expect(stale).toMatchObject({ status: 412, body: { error: { code: 'precondition_failed' } } });
  expect(await admin.revision()).toBe(at);
  const restored = await admin.post(`/revisions/${number}/restore`, undefined, { 'if-match': `"${at}"` });
  expect(restored).toMatchObject({ status: 200, body: { data: { revision: at + 1 }, reload: { status: 'reloaded' } } });
  const after = await Promise.all(['/guardrails', '/prompts', '/mcp-servers', '/agent'].map((path) => admin.get(path)));
  expect(after.map(({ body }) => body)).toEqual(before.map(({ body }) => body));
  expect((await admin.get(`/revisions/${at + 1}/diff?against=${number}`)).body.diff).toEqual([]);
  expect((await admin.get('/revisions?limit=1')).body.items[0]).toMatchObject({ number: at + 1, action: 'restore' });
  expect((await admin.post('//agent/invoke', { query: 'alpha', session_id: 's' })).status).toBe(429);
  expect((await admin.post('/prompts', { promptId: 'p', content: 'three' })).body.data.version).toBe(3);
  expect((await admin.post('/revisions/999/restore')).status).toBe(404);
});

test('a restore of what cannot start any more is 422 and changes nothing', async () => {
  const { admin, root } = await withAgent({ files: { 'agent.ts': ECHO } });
  await admin.post('/guardrails', guardrail('a', ['alpha']));
  await admin.patch('/agent', { name: 'Now' });
  writeFiles(root, { 'agent.ts': 'export const graph = 5;' });
  const at = await admin.revision();
  const refused = await admin.post('/revisions/1/restore');
  expect(refused).toMatchObject({ status: 422, body: { error: { code: 'reload_failed' } } });
  expect(await admin.revision()).toBe(at);
  expect((await admin.get('/agent')).body.name).toBe('Now');
  expect((await admin.get('/guardrails')).body).toHaveLength(1);
  expect((await admin.post('//agent/invoke', { query: 'hi', session_id: 's' })).status).toBe(200);
});
