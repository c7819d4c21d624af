import { describe, expect, test } from 'vitest';
import { empty, type Json, withAgent } from './support.ts';

const MEMORY = { agentFramework: 'LANGGRAPH', memory: { type: 'memory' } };
const OBSERVABILITY = { observability: { provider: 'LANGFUSE', enabled: false, config: { publicKey: 'pk' } } };
const SSO = { sso: { enabled: false, issuer: 'https://id.example.org', clientId: 'web' } };

describe.each([
  { path: '/memory', body: MEMORY as Json, missing: ['agentFramework', 'memory'] },
  { path: '/observability', body: OBSERVABILITY as Json, missing: ['observability'] },
  { path: '/sso', body: SSO as Json, missing: ['sso'] },
])('$path', ({ path, body, missing }) => {
  test('is absent, made by its first write, read, left alone by an empty one, and deleted', async () => {
    const { admin } = await withAgent();
    expect((await admin.get(path)).status).toBe(404);
    expect((await admin.del(path)).status).toBe(404);
    const made = await admin.patch(path, body);
    expect(made).toMatchObject({ status: 200, body: { data: body, reload: { status: 'reloaded', error: null } } });
    expect(Object.keys(made.body.data)).not.toContain('id');
    expect((await admin.get(path)).body).toEqual(made.body.data);
    const revision = await admin.revision();
    expect(await admin.patch(path, {})).toMatchObject({ status: 200, body: { data: made.body.data } });
    expect(await admin.revision()).toBe(revision);
    const [member] = missing as [string];
    const nulled = await admin.patch(path, { [member]: null });
    expect(nulled).toMatchObject({ status: 200, body: { data: body } });
    expect(await admin.revision()).toBe(revision + 1);
    const gone = await admin.del(path);
    expect(gone).toMatchObject({ status: 200, body: { data: { deleted: true }, reload: { status: 'reloaded' } } });
    expect(gone.body.data).toEqual({ deleted: true });
    expect((await admin.get(path)).status).toBe(404);
  });

  test('a first write lists each member it lacks', async () => {
    const { admin } = await withAgent();
    for (const nothing of [{}, Object.fromEntries(missing.map((member) => [member, null]))]) {
      const answer = await admin.patch(path, nothing);
      expect(answer.status).toBe(422);
      expect(answer.body.error.fieldErrors.map((fault: Json) => fault.field)).toEqual(missing);
      expect(answer.body.detail.map((fault: Json) => fault.type)).toEqual(missing.map(() => 'missing'));
    }
    expect((await admin.get(path)).status).toBe(404);
  });
});

describe('agent', () => {
  test('is 404 while there is none', async () => {
    const { admin } = await empty();
    expect(await admin.get('/agent')).toMatchObject({ status: 404, body: { error: { code: 'not_found' } } });
    expect((await admin.patch('/agent', { name: 'x' })).status).toBe(404);
    expect((await admin.patch('/agent', {})).status).toBe(404);
  });

  test('is described as the contract says', async () => {
    const { admin } = await withAgent();
    const { body } = await admin.get('/agent');
    expect(body).toMatchObject({ slug: null, name: 'agent', description: null, version: null, status: 'draft' });
    expect(body.baseEngineConfig).toMatchObject({
      server: { api: { port: 8000 } },
      agent: { type: 'LANGGRAPH', config: { name: 'agent', graph_definition: 'agent.ts:graph' } },
      mcpServers: null,
      guardrails: null,
      observability: null,
      sso: null,
      integrations: null,
      prompts: null,
    });
  });

  test('a patch changes what it brings, null clears, other members are ignored', async () => {
    const { admin } = await withAgent();
    const full = { name: 'Desk', description: 'd', version: '1', base_url: 'https://desk.example' };
    const made = await admin.patch('/agent', full);
    expect(made.body.data).toMatchObject({ name: 'Desk', description: 'd', version: '1', baseUrl: full.base_url });
    const nulls = { description: null, version: null, baseUrl: null, status: 'active', baseEngineConfig: {} };
    const cleared = await admin.patch('/agent', nulls);
    expect(cleared.body.data).toMatchObject({ name: 'Desk', description: null, version: null, baseUrl: null });
    expect(cleared.body.data).toMatchObject({ status: 'draft', baseEngineConfig: made.body.data.baseEngineConfig });
    expect((await admin.get('/agent')).body).toEqual(cleared.body.data);
    const revision = await admin.revision();
    expect((await admin.patch('/agent', { status: 'active' })).body.data).toEqual(cleared.body.data);
    expect(await admin.revision()).toBe(revision);
  });

  test.each([
    { name: null },
    { name: '' },
    { name: 'x'.repeat(256) },
    { version: 'x'.repeat(51) },
    { baseUrl: 'x'.repeat(256) },
    { name: 5 },
    { description: {} },
  ])('%j is 422 and changes nothing', async (body) => {
    const { admin } = await withAgent();
    const before = (await admin.get('/agent')).body;
    expect((await admin.patch('/agent', body)).status).toBe(422);
    expect((await admin.get('/agent')).body).toEqual(before);
  });

  test('it cannot be deleted or made here', async () => {
    const { admin } = await withAgent();
    expect((await admin.del('/agent')).status).toBe(404);
    expect((await admin.post('/agent', { name: 'x' })).status).toBe(404);
  });
});

test.each([
  { agentFramework: 'ADK', memory: { type: 'in_memory' } },
  { agentFramework: 'CREWAI', memory: { type: 'memory' } },
  { agentFramework: 'LANGGRAPH', memory: { type: 'in_memory' } },
  { agentFramework: 'ADK', memory: { type: 'memory' } },
])('a memory that is not for the agent is 422 and changes nothing: %j', async (body) => {
  const { admin } = await withAgent();
  await admin.patch('/memory', MEMORY);
  const revision = await admin.revision();
  const refused = await admin.patch('/memory', body);
  expect(refused).toMatchObject({ status: 422, body: { error: { code: 'validation_failed' } } });
  expect((await admin.get('/memory')).body).toMatchObject(MEMORY);
  expect(await admin.revision()).toBe(revision);
});

test('the observability is answered as it was written: one provider or a list', async () => {
  const { admin } = await empty();
  const one = { provider: 'LANGFUSE', enabled: false, config: { publicKey: 'pk' } };
  const stamped = {
    ...one,
    config: { provider: 'LANGFUSE', host: 'https://cloud.langfuse.com', publicKey: 'pk', secretKey: '', runName: '' },
  };
  expect((await admin.patch('/observability', { observability: one })).body.data.observability).toEqual(stamped);
  const list = [one, { provider: 'PHOENIX', enabled: false, config: { project_name: 'p' } }];
  const answer = await admin.patch('/observability', { observability: list });
  expect(answer.body.data.observability).toMatchObject([
    stamped,
    { provider: 'PHOENIX', config: { provider: 'PHOENIX', projectName: 'p' } },
  ]);
  expect((await admin.get('/observability')).body.observability).toEqual(answer.body.data.observability);
  // The provider's name may be left out altogether.
  const bare = await admin.patch('/observability', { observability: { enabled: false, config: {} } });
  expect(bare.body.data.observability.provider).toBe('LANGFUSE');
});

test.each([
  { provider: 'LANGFUSE', enabled: false, config: { provider: 'PHOENIX' } },
  { provider: 'LANGFUSE', enabled: false },
  { provider: 'DATADOG', enabled: false, config: {} },
  { provider: 'GCP_TRACE', enabled: false, config: { samplingRate: 1.5 } },
  { provider: 'GCP_TRACE', enabled: false, config: { flushInterval: -1 } },
  'LANGFUSE',
  [[]],
])('an observability of %j is 422', async (observability) => {
  const { admin } = await empty();
  expect((await admin.patch('/observability', { observability })).status).toBe(422);
  expect((await admin.patch('/observability', { observability: [observability] })).status).toBe(422);
  expect((await admin.get('/observability')).status).toBe(404);
});

test('sso has twins, is replaced whole, and wants an address as issuer', async () => {
  const { admin } = await empty();
  const snake = { enabled: false, issuer: 'https://id.example', client_id: 'web', allowed_domains: ['a.example'] };
  const { data } = (await admin.patch('/sso', { sso: snake })).body;
  expect(data.sso).toEqual({
    enabled: false,
    issuer: 'https://id.example',
    clientId: 'web',
    client_id: 'web',
    audience: null,
    allowedDomains: ['a.example'],
    allowed_domains: ['a.example'],
    allowedEmails: null,
    allowed_emails: null,
  });
  const whole = await admin.patch('/sso', { sso: { enabled: false, issuer: 'http://two.example', clientId: 'w' } });
  expect(whole.body.data.sso).toMatchObject({ allowedDomains: null, issuer: 'http://two.example' });
  for (const issuer of ['id.example', 'ftp://x', '', 5, null]) {
    expect((await admin.patch('/sso', { sso: { ...snake, issuer } })).status, String(issuer)).toBe(422);
  }
});
