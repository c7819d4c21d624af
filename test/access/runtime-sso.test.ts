import { expect, test } from 'vitest';
import { empty, withAgent } from '../admin/support.ts';
import { ECHO } from '../support/agents.ts';
import { createTestApp } from '../support/app.ts';
import { GRAPH_FILES, messagesGraph } from '../support/graphs.ts';
import { startOidcProvider } from '../support/oidc.ts';
import { parseEvents, textOf } from '../support/runs.ts';
import { bearer, run, runtimeStatus, seat, ssoOf, tokenOf } from './support.ts';

/** Says who its user is: as a node sees it, and as a tool does. */
const WHO = messagesGraph(
  `.addNode('ask', () => ({ messages: [new AIMessage({ content: '', tool_calls: [{ id: 'c1', name: 'who', args: {} }] })] }))
  .addNode('tools', new ToolNode(tools))
  .addNode('say', async (state) => {
    await new Promise((resolve) => setImmediate(resolve));
    return { messages: [new AIMessage(currentUser() + ' / ' + state.messages.at(-1).content)] };
  })
  .addEdge(START, 'ask')
  .addEdge('ask', 'tools')
  .addEdge('tools', 'say')
  .addEdge('say', END)`,
  `import { currentUser } from 'agent-engine-server/agent';
const tools = [tool(async () => String(currentUser()), { name: 'who', description: 'who', schema: z.object({}) })];`,
);

const OPEN = [
  '/health',
  '/health?strict=1',
  '/_engine/info',
  '/sso/info',
  '/runtime-config.js',
  '/docs',
  '/openapi.json',
];

async function enforced(more: object = {}, agent?: string) {
  const provider = await startOidcProvider({ algorithms: ['ES256'] });
  const server = await withAgent({ files: { ...GRAPH_FILES, ...(agent !== undefined && { 'agent.ts': agent }) } });
  const written = await server.admin.patch('/sso', ssoOf(provider, more));
  expect(written.status).toBe(200);
  return { ...server, provider };
}

/** Every route of the runtime, as the server itself describes them. */
async function runtimeRoutes(app: Parameters<typeof seat>[0]): Promise<[string, string][]> {
  const { body } = await seat(app).get('//openapi.json');
  return Object.entries(body.paths as Record<string, object>)
    .filter(([path]) => path.startsWith('/agent/'))
    .flatMap(([path, methods]) =>
      Object.keys(methods).map((method): [string, string] => [method.toUpperCase(), path.replace(/\{\w+\}/g, 'x')]),
    );
}

test('every route of the runtime needs a good token', async () => {
  const { app, provider } = await enforced();
  const routes = await runtimeRoutes(app);
  expect(routes.map(([, path]) => path)).toEqual(
    expect.arrayContaining([
      '/agent/run',
      '/agent/invoke',
      '/agent/stream',
      '/agent/clientkit/stream',
      '/agent/config',
    ]),
  );
  const good = await tokenOf(provider, 'ana@example.org');
  const bad = [{}, bearer('x'), bearer(await provider.sign({ aud: 'other' })), { authorization: 'Basic eDp5' }];
  for (const [method, path] of routes) {
    for (const headers of bad) {
      const answer = await seat(app, headers).call(method, `/${path}`, method === 'POST' ? {} : undefined);
      expect(answer.status, `${method} ${path}`).toBe(401);
      expect(answer.headers['www-authenticate']).toMatch(/^Bearer/);
      expect(answer.body).toEqual({ detail: expect.any(String) });
    }
    const admitted = await seat(app, good).call(method, `/${path}`, method === 'POST' ? {} : undefined);
    expect([401, 403], `${method} ${path}`).not.toContain(admitted.status);
  }
});

test('an address under /agent without a route needs one, too, however it is spelled', async () => {
  const { app, provider } = await enforced();
  const good = await tokenOf(provider, 'ana@example.org');
  const paths = ['/agent', '/agent/', '/agent/none', '/agent/run/x/y/z', '/AGENT/none', '/agent/none?q=/health'];
  for (const path of [...paths, '/agent%2Fnone', '/%61gent/none', '/%61gent/capabilities', '/agent/capabilities/']) {
    expect((await seat(app).get(`/${path}`)).status, path).toBe(401);
    expect([200, 404], path).toContain((await seat(app, good).get(`/${path}`)).status);
  }
  for (const method of ['GET', 'PUT', 'DELETE', 'PATCH', 'HEAD']) {
    expect((await app.inject({ method: method as 'GET', url: '/agent/run' })).statusCode, method).toBe(401);
  }
  // Whatever a path is made of, nothing of the runtime is behind it.
  for (const path of ['//agent/capabilities', '/./agent/capabilities', '/health/../agent/capabilities']) {
    expect((await app.inject({ url: path })).statusCode, path).not.toBe(200);
  }
});

test('what a page needs before anybody has signed on is open', async () => {
  const { app, provider } = await enforced({ audience: 'agent', allowedEmails: ['ana@example.org'] });
  for (const path of OPEN) expect((await seat(app).get(`/${path}`)).status, path).toBe(200);
  expect((await seat(app).get('//sso/info')).body).toEqual({
    enabled: true,
    issuer: provider.issuer,
    clientId: 'agent',
    audience: 'agent',
  });
});

test('the user is the address of the token, else its subject, through the whole run', async () => {
  const { app, provider } = await enforced({}, WHO);
  const said = async (headers: Record<string, string>): Promise<string> => {
    const { status, body } = await run(app, headers);
    expect(status).toBe(200);
    return textOf(parseEvents(body));
  };
  const ana = await tokenOf(provider, 'ana@example.org');
  expect(await said(ana)).toBe('ana@example.org / ana@example.org');
  expect(await said({ ...ana, 'x-service-user-id': 'bob@example.org' })).toBe('ana@example.org / ana@example.org');
  expect(await said(bearer(await provider.sign({ sub: 'subject-7' })))).toBe('subject-7 / subject-7');
  expect(await said(await tokenOf(provider, '', { sub: 'subject-8' }))).toBe('subject-8 / subject-8');
  // Anybody may claim an address the provider has not verified.
  const claimed = await tokenOf(provider, 'ana@example.org', { sub: 'subject-9', email_verified: false });
  expect(await said(claimed)).toBe('subject-9 / subject-9');
  // Two at once do not meet.
  const users = Array.from({ length: 6 }, (_, index) => `user${index}@example.org`);
  const answers = await Promise.all(users.map(async (user) => said(await tokenOf(provider, user))));
  expect(answers).toEqual(users.map((user) => `${user} / ${user}`));
});

test('conversations belong to the user of the token, and to no name in a header', async () => {
  const { app, provider } = await enforced();
  const ana = await tokenOf(provider, 'ana@example.org');
  const bob = await tokenOf(provider, 'bob@example.org');
  const asAna = { 'x-service-user-id': 'ana@example.org' };
  expect((await run(app, ana, 'hello', 'thread-a')).status).toBe(200);
  const list = async (headers: Record<string, string>) => (await seat(app, headers).get('//agent/sessions')).body;
  expect(await list(ana)).toMatchObject([{ id: 'thread-a', userId: 'ana@example.org', preview: 'hello' }]);
  expect(await list({ ...ana, 'x-service-user-id': 'bob@example.org' })).toHaveLength(1);
  expect(await list({ ...bob, ...asAna })).toEqual([]);
  expect((await seat(app, { ...bob, ...asAna }).get('//agent/sessions/thread-a')).status).toBe(404);
  expect((await run(app, { ...bob, ...asAna }, 'mine now', 'thread-a')).status).toBe(404);
  expect((await seat(app, ana).get('//agent/sessions/thread-a')).body.messages).toHaveLength(2);
  expect((await seat(app, asAna).get('//agent/sessions')).status).toBe(401);
});

test('lists admit by address or by domain, and nobody else', async () => {
  const { app, provider } = await enforced({ allowedEmails: ['Eve@Other.org'], allowedDomains: ['example.org'] });
  const statusOf = async (email: string, more: object = {}) => runtimeStatus(app, await tokenOf(provider, email, more));
  expect(await statusOf('ana@example.org')).toBe(200);
  expect(await statusOf('eve@other.org')).toBe(200);
  for (const email of ['bob@other.org', 'ana@sub.example.org', 'example.org', 'ana@example.org@other.org', '']) {
    expect(await statusOf(email), email).toBe(401);
  }
  expect(await statusOf('ana@example.org', { email_verified: false })).toBe(401);
  expect(await runtimeStatus(app, bearer(await provider.sign()))).toBe(401);
});

test('a configuration that is disabled, or is none, leaves the runtime open', async () => {
  const { app, admin, provider } = await enforced({ enabled: false });
  const named = { 'x-service-user-id': 'ana' };
  expect((await seat(app).get('//sso/info')).body).toEqual({ enabled: false });
  expect((await run(app, named, 'hello', 'thread-a')).status).toBe(200);
  expect((await seat(app, named).get('//agent/sessions')).body).toMatchObject([{ userId: 'ana' }]);
  // A token that nobody asks for is not looked at.
  expect(await runtimeStatus(app, bearer('x'))).toBe(200);
  await admin.patch('/sso', ssoOf(provider));
  expect(await runtimeStatus(app)).toBe(401);
  expect((await admin.del('/sso')).status).toBe(200);
  expect(await runtimeStatus(app)).toBe(200);
  expect((await seat(app).get('//sso/info')).body).toEqual({ enabled: false });
});

test.each(['client_id: agent, allowed_domains: [example.org]', 'clientId: agent, allowedDomains: [example.org]'])(
  'a configuration file enforces it from the first request on: %s',
  async (block) => {
    const provider = await startOidcProvider({ algorithms: ['ES256'] });
    const config = `agent: { type: LANGGRAPH, config: { name: desk, graph_definition: "./agent.ts:graph" } }
sso: { issuer: "${provider.issuer}", ${block} }
`;
    const first = await empty({ files: { 'agent.ts': ECHO, 'config.yaml': config } });
    expect(await runtimeStatus(first.app)).toBe(401);
    expect(await runtimeStatus(first.app, await tokenOf(provider, 'ana@example.org'))).toBe(200);
    expect(await runtimeStatus(first.app, await tokenOf(provider, 'ana@other.org'))).toBe(401);
    expect((await first.admin.get('/sso')).body.sso.allowedDomains).toEqual(['example.org']);
    // From then on the database rules.
    const second = await createTestApp({ root: first.root, files: { 'config.yaml': config.replace(/^sso.*$/m, '') } });
    expect(await runtimeStatus(second.app)).toBe(401);
  },
);

test('a file that asks for it too late says so', async () => {
  const config = 'agent: { type: LANGGRAPH, config: { name: desk, graph_definition: "./agent.ts:graph" } }\n';
  const { root } = await empty({ files: { 'agent.ts': ECHO, 'config.yaml': config } });
  const sso = 'sso: { issuer: "https://id.example.org", client_id: agent }\n';
  const { app, logs, admin } = await empty({ root, files: { 'config.yaml': config + sso } });
  expect(await runtimeStatus(app)).toBe(200);
  expect(logs.filter(({ level }) => level === 40).map(({ msg }) => msg)).toEqual([
    expect.stringContaining('the configuration is in the database'),
  ]);
  expect((await admin.post('//reload', { path: 'config.yaml' })).status).toBe(200);
  expect(await runtimeStatus(app)).toBe(401);
});
