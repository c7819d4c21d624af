import { expect, test } from 'vitest';
import { ref } from '../admin/support.ts';
import { inTime, startServer } from '../cli/command.ts';
import { ECHO } from '../support/agents.ts';
import { tempFolder, writeFiles } from '../support/app.ts';
import { type OidcProvider, startOidcProvider } from '../support/oidc.ts';
import { engineOnly, run, runtimeStatus, seat, tokenOf } from './support.ts';

const AGENT = 'agent: { type: LANGGRAPH, config: { name: bare, graph_definition: "./agent.ts:graph" } }\n';
const ES256 = { algorithms: ['ES256'] };
const ANA = 'ana@example.org';

const SPELLINGS = {
  snake_case: ({ issuer }: OidcProvider) =>
    `${AGENT}sso: { enabled: true, issuer: "${issuer}", client_id: agent, allowed_emails: [${ANA}] }\n`,
  camelCase: ({ issuer }: OidcProvider) =>
    `${AGENT}sso: { issuer: "${issuer}", clientId: other, audience: agent, allowedEmails: [${ANA}] }\n`,
};

test.each(Object.entries(SPELLINGS))('an engine by itself asks for the token its file wants: %s', async (_, config) => {
  const provider = await startOidcProvider(ES256);
  const { app, root } = await engineOnly(config(provider));
  const ana = await tokenOf(provider, ANA);
  for (const path of ['/agent/capabilities', '/agent/config', '/agent/graph', '/agent/none']) {
    expect((await seat(app).get(`/${path}`)).status, path).toBe(401);
  }
  expect((await run(app)).status).toBe(401);
  expect((await run(app, ana)).status).toBe(200);
  expect((await run(app, await tokenOf(provider, 'bob@example.org'))).status).toBe(401);
  expect((await seat(app).get('//sso/info')).body).toMatchObject({ enabled: true, issuer: provider.issuer });
  for (const path of ['/health', '/_engine/info']) expect((await seat(app).get(`/${path}`)).status).toBe(200);
  expect((await seat(app).get('/sso')).status).toBe(404);

  // What the file says later counts after a reload, and not if the reload fails.
  writeFiles(root, { 'config.yaml': AGENT.replace('agent.ts', 'none.ts') });
  expect((await seat(app).post('//reload')).status).toBe(422);
  expect(await runtimeStatus(app)).toBe(401);
  writeFiles(root, { 'config.yaml': AGENT });
  expect((await seat(app).post('//reload')).status).toBe(200);
  expect(await runtimeStatus(app)).toBe(200);
});

test('a file that cannot be read keeps everybody out', async () => {
  const provider = await startOidcProvider(ES256);
  const good = SPELLINGS.snake_case(provider);
  const ana = await tokenOf(provider, ANA);
  const faults = [
    good.replace(provider.issuer, ref('UNSET_VARIABLE')),
    good.replace(provider.issuer, 'nonsense'),
    good.replace('client_id: agent', 'client_id: ""'),
    good.replace('sso: {', 'sso: ['),
  ];
  for (const config of faults) {
    const { app, root } = await engineOnly(config);
    for (const headers of [{}, ana]) expect(await runtimeStatus(app, headers), config).toBe(503);
    expect((await seat(app).get('//health')).body.status).toBe('degraded');
    writeFiles(root, { 'config.yaml': good });
    expect((await seat(app).post('//reload')).status).toBe(200);
    expect([await runtimeStatus(app), await runtimeStatus(app, ana)]).toEqual([401, 200]);
  }
});

test('an agent that cannot start does not open the door', async () => {
  const provider = await startOidcProvider(ES256);
  const { app } = await engineOnly(SPELLINGS.camelCase(provider), { files: { 'agent.ts': 'nonsense(' } });
  expect(await runtimeStatus(app)).toBe(401);
  expect(await runtimeStatus(app, await tokenOf(provider, ANA))).toBe(503);
});

test('keys of the settings, and limits of who may reload, hold for an engine by itself', async () => {
  const key = 'engine-key-of-more-than-16';
  const { app } = await engineOnly(AGENT, {
    env: { SERVICE_API_KEYS: `ci=${key}@runtime`, SERVICE_REQUIRE_API_KEY: 'true' },
  });
  expect([await runtimeStatus(app), await runtimeStatus(app, { 'x-api-key': key })]).toEqual([401, 200]);
  const password = { SERVICE_ADMIN_AUTH_MODE: 'password', SERVICE_SESSION_SECRET: 'x'.repeat(32) };
  const admin = 'admin-key-of-more-than-16';
  const closed = await engineOnly(AGENT, {
    env: { ...password, SERVICE_API_KEYS: `ci=${key}@runtime,ops=${admin}@admin:write` },
  });
  const reload = async (headers = {}) => (await seat(closed.app, headers).post('//reload')).status;
  expect([await reload(), await reload({ 'x-api-key': key }), await reload({ 'x-api-key': admin })]).toEqual([
    401, 403, 200,
  ]);
});

test('agent serve, as a process, asks for the token', async () => {
  const provider = await startOidcProvider(ES256);
  const cwd = tempFolder({ 'agent.ts': ECHO, 'config.yaml': SPELLINGS.snake_case(provider) });
  const server = await startServer(['agent', 'serve'], { cwd });
  expect((await server.get('/agent/capabilities')).status).toBe(401);
  const headers = await tokenOf(provider, ANA);
  expect((await server.get('/agent/capabilities', headers)).status).toBe(200);
  expect((await server.get('/health')).status).toBe(200);
  server.signal('SIGTERM');
  expect(await inTime(server.exited, () => 'the exit')).toBe(0);
});
