import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { empty, UNKNOWN_ID, withAgent } from './support.ts';

const EVERYTHING = join(
  dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/package.json')),
  'dist/index.js',
);

const stdio = { name: 'everything', transport: 'stdio', command: process.execPath, args: [EVERYTHING, 'stdio'] };

test('what is not there cannot be tried out', async () => {
  const { admin } = await empty();
  for (const path of [
    '/memory/check-connection',
    '/observability/check-connection',
    `/mcp-servers/${UNKNOWN_ID}/tools`,
  ]) {
    expect(await admin.post(path), path).toMatchObject({ status: 404, body: { error: { code: 'not_found' } } });
  }
  expect((await admin.post('/mcp-servers/nonsense/tools')).status).toBe(422);
});

test('a memory is tried out as it is stored', async () => {
  const { admin } = await withAgent();
  const memory = { agentFramework: 'LANGGRAPH', memory: { type: 'sqlite', db_url: 'sqlite:///./chat.db' } };
  expect((await admin.patch('/memory', memory)).status).toBe(200);
  expect(await admin.post('/memory/check-connection')).toMatchObject({
    status: 200,
    body: { ok: true, details: { backend: 'sqlite' }, error: null },
  });
});

test('an exporter is tried out, whatever its server answers', async () => {
  const paths: string[] = [];
  const server = createServer((request, response) => {
    paths.push(`${request.method} ${request.url}`);
    response.statusCode = 404;
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const collectorEndpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { admin } = await empty();
  const off = { provider: 'PHOENIX', enabled: false, config: { collectorEndpoint } };
  expect((await admin.patch('/observability', { observability: off })).status).toBe(200);
  const { status, body } = await admin.post('/observability/check-connection');
  expect({ status, ...body }).toMatchObject({ status: 200, ok: true, details: { provider: 'PHOENIX' } });
  // It is switched off, so nobody is asked.
  expect(paths).toEqual([]);
});

test('the tools of an MCP server are found, where programs are allowed', async () => {
  const { admin } = await empty({ env: { SERVICE_ALLOW_STDIO_MCP: 'true' } });
  const made = await admin.post('/mcp-servers', { name: 'Everything', enabled: false, mcpServer: stdio });
  expect(made.status).toBe(201);
  const { status, body } = await admin.post(`/mcp-servers/${made.body.data.id}/tools`);
  expect(status).toBe(200);
  expect(body).toMatchObject({ ok: true, details: { name: 'everything', transport: 'stdio' }, error: null });
  expect(body.details.tools).toContain('echo');
  expect(body.details.toolCount).toBe(body.details.tools.length);
});

test('a program from the configuration file is not started over HTTP unless that is allowed', async () => {
  const entry = `{ name: p, transport: stdio, command: "${process.execPath}", args: ["-e", "0"], enabled: false }`;
  const { admin } = await withAgent({
    agent: undefined as never,
    files: {
      'config.yaml': `agent: { type: LANGGRAPH, config: { name: a, graph_definition: agent.ts:graph } }\nmcp_servers: [${entry}]\n`,
    },
  });
  const [server] = (await admin.get('/mcp-servers')).body;
  const { status, body } = await admin.post(`/mcp-servers/${server.id}/tools`);
  expect(status).toBe(422);
  expect(JSON.stringify(body)).toContain('SERVICE_ALLOW_STDIO_MCP');
});
