import { expect, test } from 'vitest';
import { empty, ref, withAgent } from '../admin/support.ts';
import { ECHO } from '../support/agents.ts';
import { createTestApp, writeFiles } from '../support/app.ts';
import { createGate, gatedAgent } from '../support/gates.ts';
import { startOidcProvider } from '../support/oidc.ts';
import { parseEvents, runInput, textOf } from '../support/runs.ts';
import { bearer, type Headers, run, runtimeStatus, seat, sql, ssoOf, tokenOf } from './support.ts';

const ANA = 'ana@example.org';
const ES256 = { algorithms: ['ES256'] };

/** Begins a run whose agent waits at `gate`, over a real socket. */
async function open(base: string, gate: string, headers: Headers) {
  const response = await fetch(`${base}/agent/run`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(runInput(gate)),
  });
  expect(response.status).toBe(200);
  return response;
}

test('a list that no longer has its user ends no stream under way, and refuses the next request', async () => {
  const provider = await startOidcProvider(ES256);
  const { app, admin, listen } = await withAgent({ files: { 'agent.ts': gatedAgent('one') } });
  await admin.patch('/sso', ssoOf(provider, { allowedEmails: [ANA] }));
  const base = await listen();
  const gate = createGate();
  const ana = await tokenOf(provider, ANA);
  const bob = await tokenOf(provider, 'bob@example.org');
  const stream = await open(base, gate.name, ana);
  await expect.poll(() => gate.arrived).toBe(1);
  expect(await runtimeStatus(app, bob)).toBe(401);
  expect((await admin.patch('/sso', ssoOf(provider, { allowedEmails: ['bob@example.org'] }))).status).toBe(200);
  expect(await runtimeStatus(app, ana)).toBe(401);
  expect(await runtimeStatus(app, bob)).toBe(200);
  gate.open();
  const events = parseEvents(await stream.text());
  expect(textOf(events)).toBe(`one: ${gate.name}`);
  expect(events.at(-1)?.type).toBe('RUN_FINISHED');
  expect((await run(app, ana)).status).toBe(401);
});

test('switching it on ends no stream of somebody without a token', async () => {
  const provider = await startOidcProvider(ES256);
  const { app, admin, listen } = await withAgent({ files: { 'agent.ts': gatedAgent('one') } });
  const gate = createGate();
  const stream = await open(await listen(), gate.name, {});
  await expect.poll(() => gate.arrived).toBe(1);
  await admin.patch('/sso', ssoOf(provider));
  expect(await runtimeStatus(app)).toBe(401);
  gate.open();
  expect(parseEvents(await stream.text()).at(-1)?.type).toBe('RUN_FINISHED');
});

test('a change that is refused leaves the rules as they were', async () => {
  const provider = await startOidcProvider(ES256);
  const { app, admin, root } = await withAgent();
  await admin.patch('/sso', ssoOf(provider, { allowedEmails: [ANA] }));
  const ana = await tokenOf(provider, ANA);
  writeFiles(root, { 'agent.ts': 'export const graph = nothing;' });
  // The agent cannot be built any more, so nothing of the change goes live.
  for (const sso of [ssoOf(provider, { allowedEmails: ['bob@example.org'] }), ssoOf(provider, { enabled: false })]) {
    expect((await admin.patch('/sso', sso)).status).toBe(422);
    expect(await runtimeStatus(app)).toBe(401);
    expect(await runtimeStatus(app, ana)).toBe(200);
  }
  expect((await admin.del('/sso')).status).toBe(422);
  expect((await admin.patch('/sso', { sso: { issuer: 'nonsense', clientId: 'agent' } })).status).toBe(422);
  expect(await runtimeStatus(app)).toBe(401);
  expect((await admin.get('/sso')).body.sso.allowedEmails).toEqual([ANA]);
});

test('another issuer and another audience count from the moment they are written', async () => {
  const [one, two] = [await startOidcProvider(ES256), await startOidcProvider(ES256)];
  const { app, admin } = await withAgent();
  await admin.patch('/sso', ssoOf(one));
  const [fromOne, fromTwo] = [await tokenOf(one, ANA), await tokenOf(two, ANA)];
  const statuses = async () => [await runtimeStatus(app, fromOne), await runtimeStatus(app, fromTwo)];
  expect(await statuses()).toEqual([200, 401]);
  await admin.patch('/sso', ssoOf(two));
  expect(await statuses()).toEqual([401, 200]);
  // Who has the keys of one cannot speak in the name of the other.
  expect(await runtimeStatus(app, bearer(await one.sign({ iss: two.issuer, email: ANA })))).toBe(401);
  await admin.patch('/sso', ssoOf(two, { audience: 'api' }));
  expect(await runtimeStatus(app, fromTwo)).toBe(401);
  expect(await runtimeStatus(app, bearer(await two.sign({ aud: ['x', 'api'] })))).toBe(200);
  const { items } = (await admin.get('/revisions')).body;
  expect((await admin.post(`/revisions/${items.at(-2).number}/restore`)).status).toBe(200);
  expect(await statuses()).toEqual([200, 401]);
});

test('keys that are changed in mid-session let the new tokens in and keep the old ones out', async () => {
  const provider = await startOidcProvider(ES256);
  const { app, admin } = await withAgent();
  await admin.patch('/sso', ssoOf(provider));
  const old = await tokenOf(provider, ANA);
  expect((await run(app, old, 'one', 'thread-a')).status).toBe(200);
  await provider.rotate();
  const fresh = await tokenOf(provider, ANA);
  expect((await run(app, fresh, 'two', 'thread-a')).status).toBe(200);
  expect((await seat(app, fresh).get('//agent/sessions/thread-a')).body.messages).toHaveLength(4);
  expect((await run(app, old, 'three', 'thread-a')).status).toBe(401);
});

test('a provider that is away keeps everybody out until it is back', async () => {
  const provider = await startOidcProvider(ES256);
  const { admin, root } = await withAgent();
  await admin.patch('/sso', ssoOf(provider));
  const ana = await tokenOf(provider, ANA);
  await provider.stop();
  const { app } = await createTestApp({ root });
  expect((await seat(app).get('//health?strict=1')).status).toBe(200);
  const refused = await run(app, ana);
  expect(refused).toMatchObject({ status: 401, body: { detail: 'The sign-on keys cannot be had right now' } });
  expect((await run(app)).status).toBe(401);
  await provider.start();
  await expect.poll(() => runtimeStatus(app, ana), { timeout: 20_000, interval: 200 }).toBe(200);
  expect(await runtimeStatus(app)).toBe(401);
});

test('a provider that goes away later leaves those in who are known by its keys', async () => {
  const provider = await startOidcProvider(ES256);
  const { app, admin } = await withAgent();
  await admin.patch('/sso', ssoOf(provider));
  const ana = await tokenOf(provider, ANA);
  expect(await runtimeStatus(app, ana)).toBe(200);
  await provider.stop();
  expect(await runtimeStatus(app, ana)).toBe(200);
  expect(await runtimeStatus(app, await tokenOf(provider, 'bob@example.org'))).toBe(200);
  await provider.rotate();
  expect(await runtimeStatus(app, await tokenOf(provider, ANA))).toBe(401);
});

test('a configuration that cannot be put together at the start keeps everybody out', async () => {
  const provider = await startOidcProvider(ES256);
  const first = await withAgent({ env: { KEEPER: 'sqlite:///./chat.db' } });
  await first.admin.patch('/sso', ssoOf(provider));
  const memory = { agentFramework: 'LANGGRAPH', memory: { type: 'sqlite', db_url: ref('KEEPER') } };
  expect((await first.admin.patch('/memory', memory)).status).toBe(200);
  const ana = await tokenOf(provider, ANA);
  const { app } = await createTestApp({ root: first.root });
  const admin = seat(app);
  expect((await admin.get('//health')).body).toMatchObject({ status: 'degraded', reason: expect.any(String) });
  for (const path of ['/agent/capabilities', '/agent/sessions', '/agent/none', '/agent/config']) {
    expect((await admin.get(`/${path}`)).status, path).toBe(503);
    expect((await seat(app, ana).get(`/${path}`)).status, path).toBe(503);
  }
  expect((await run(app)).status).toBe(503);
  // Mended by an admin, it is as strict as it was.
  const mended = { agentFramework: 'LANGGRAPH', memory: { type: 'memory' } };
  expect((await admin.patch('/memory', mended)).status).toBe(200);
  expect(await runtimeStatus(app)).toBe(401);
  expect(await runtimeStatus(app, ana)).toBe(200);
});

test('an agent that cannot start does not open the door', async () => {
  const provider = await startOidcProvider(ES256);
  const first = await withAgent();
  await first.admin.patch('/sso', ssoOf(provider));
  const { app } = await createTestApp({ root: first.root, files: { 'agent.ts': 'export const graph = nothing;' } });
  const ana = await tokenOf(provider, ANA);
  for (const path of ['/agent/capabilities', '/agent/sessions', '/agent/config']) {
    expect((await seat(app).get(`/${path}`)).status, path).toBe(401);
    expect((await seat(app, ana).get(`/${path}`)).status, path).toBe(503);
  }
  expect((await run(app)).status).toBe(401);
  expect((await run(app, ana)).status).toBe(503);
  expect((await seat(app).get('//sso/info')).body.enabled).toBe(true);
  writeFiles(first.root, { 'agent.ts': ECHO });
  expect((await seat(app).post('//reload')).status).toBe(200);
  expect([await runtimeStatus(app), await runtimeStatus(app, ana)]).toEqual([401, 200]);
});

test('a file whose rules cannot be stored starts no agent that everybody could use', async () => {
  const provider = await startOidcProvider(ES256);
  const { root } = await empty();
  const refuse =
    "BEFORE INSERT ON config_records WHEN NEW.resource = 'sso' BEGIN SELECT RAISE(ABORT, 'disk is full'); END";
  await sql(root, `CREATE TRIGGER full ${refuse}`);
  const config = `agent: { type: LANGGRAPH, config: { name: desk, graph_definition: "./agent.ts:graph" } }
sso: { issuer: "${provider.issuer}", client_id: agent }
`;
  const { app } = await createTestApp({ root, files: { 'agent.ts': ECHO, 'config.yaml': config } });
  expect(await runtimeStatus(app)).toBe(503);
  expect((await seat(app).get('//health')).body).toMatchObject({ status: 'degraded', reason: expect.any(String) });
  await sql(root, 'DROP TRIGGER full');
  expect((await seat(app).post('//reload')).status).toBe(200);
  expect(await runtimeStatus(app)).toBe(401);
  expect(await runtimeStatus(app, await tokenOf(provider, ANA))).toBe(200);
});

test('many first tokens at once ask the provider once', async () => {
  const provider = await startOidcProvider(ES256);
  const { app, admin } = await withAgent();
  await admin.patch('/sso', ssoOf(provider));
  const ana = await tokenOf(provider, ANA);
  const answers = await Promise.all(Array.from({ length: 20 }, () => runtimeStatus(app, ana)));
  expect(new Set(answers)).toEqual(new Set([200]));
  expect(provider.requests).toMatchObject({ discovery: 1, jwks: 1 });
});
