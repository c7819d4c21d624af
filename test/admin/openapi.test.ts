import { expect, test } from 'vitest';
import { empty, type Json } from './support.ts';

test('the schemas of all resources are served, with titles and marks on what is secret', async () => {
  const { admin } = await empty();
  const { status, body } = await admin.get('/schemas');
  expect(status).toBe(200);
  const names = ['agent', 'memory', 'observability', 'sso', 'mcp-servers', 'guardrails', 'prompts', 'integrations'];
  expect(Object.keys(body).sort()).toEqual(names.sort());
  for (const name of ['memory', 'observability', 'mcp-servers', 'guardrails', 'integrations']) {
    expect(JSON.stringify(body[name]), name).toContain('"secret":');
  }
  // One spelling each, the one that is stored.
  expect(Object.keys(body.guardrails.properties)).not.toContain('sort_order');
  const untitled: string[] = [];
  const walk = (schema: Json, path: string): void => {
    if (typeof schema !== 'object' || schema === null) return;
    for (const [key, member] of Object.entries<Json>(schema.properties ?? {})) {
      if (member.title === undefined && member.$ref === undefined && member.const === undefined)
        untitled.push(`${path}.${key}`);
    }
    for (const [key, entry] of Object.entries(schema)) walk(entry, `${path}.${key}`);
  };
  for (const [name, schema] of Object.entries(body)) walk(schema, name);
  expect(untitled).toEqual([]);
});

test('what is not there is a JSON 404 for any method', async () => {
  const { admin, app } = await empty();
  for (const path of ['/nothing', '/guardrails/a/b/c', '/', '', '/agents', '/nothing?x=1', '/%E0%A4%A']) {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD', 'TRACE']) {
      const answer = await app.inject({ method: method as 'GET', url: `/admin/api/v1${path}` });
      expect(answer.statusCode, `${method} ${path}`).toBe(404);
      expect(answer.headers['content-type'], `${method} ${path}`).toContain('application/json');
      expect(answer.headers['x-request-id'], `${method} ${path}`).toEqual(expect.any(String));
      if (method !== 'HEAD')
        expect(answer.json()).toMatchObject({ detail: expect.any(String), error: { code: 'not_found' } });
    }
  }
  // A route that is there, with another method.
  expect((await admin.call('PUT', '/guardrails', {})).status).toBe(404);
  expect((await admin.call('DELETE', '/guardrails')).status).toBe(404);
});
