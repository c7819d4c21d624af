import { createHmac, createPublicKey, type JsonWebKey } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { expect, test } from 'vitest';
import { createTestApp } from '../support/app.ts';
import { createGate, gatedAgent, until } from '../support/gates.ts';
import { type OidcProvider, startOidcProvider } from '../support/oidc.ts';
import { runEvents, runInput } from '../support/runs.ts';
import { openRun } from '../support/streams.ts';
import { API, HOST, raw, requestText, ssoMode } from './support.ts';

const ANA = 'ana@example.org';
const BOB = 'bob@example.org';

type User = Record<'authorization', string>;

/** A server that asks for a token, and the headers of two users of the same provider. */
async function signedOn(more: { env?: (provider: OidcProvider) => Record<string, string> } = {}) {
  const provider = await startOidcProvider();
  const agent = { type: 'LANGGRAPH', config: { name: 'desk', graph_definition: 'agent.ts:graph' } };
  const sso = { enabled: true, issuer: provider.issuer, client_id: 'agent' };
  const { app, listen } = await createTestApp({
    files: { 'agent.ts': gatedAgent('v1'), 'config.yaml': JSON.stringify({ agent, sso }) },
    env: { SERVICE_ALLOW_PRIVATE_TARGETS: 'loopback', ...more.env?.(provider) },
  });
  const as = async (email: string): Promise<User> => ({ authorization: `Bearer ${await provider.token({ email })}` });
  return { app, provider, base: await listen(), ana: await as(ANA), bob: await as(BOB), as };
}

const sessionsOf = async (app: FastifyInstance, headers: Record<string, string>): Promise<unknown[]> =>
  (await app.inject({ url: '/agent/sessions', headers })).json();

/** What is asked for last, since nothing is left to ask for then. */
const endsIt = ({ method }: { method: string }): boolean => method === 'DELETE';

/** The runtime routes that name a thread or a run, with ids in the place of the names. */
async function routesOf(app: FastifyInstance, threadId: string, runId: string) {
  await app.ready();
  return app.allRoutes
    .filter(({ method, url, config }) => method !== 'HEAD' && config?.access === 'runtime' && /:(?!format)/.test(url))
    .map(({ method, url }) => ({
      method: method as 'GET',
      url: url.replace(/:(thread|session)_id/, threadId).replace(':run_id', runId),
    }))
    .sort((left, right) => Number(endsIt(left)) - Number(endsIt(right)));
}

test('another user finds nothing of a run or its thread on any route, and starts nothing on it', async () => {
  const { app, base, ana, bob } = await signedOn();
  const gate = createGate();
  const input = runInput(gate.name);
  const stream = await openRun(base, input, ana);
  await until(() => gate.arrived === 1);
  const routes = await routesOf(app, input.threadId, input.runId);
  expect(routes.length).toBeGreaterThanOrEqual(6);
  const unknown = await routesOf(app, 'nobodys', 'nobodys');
  const bodies = [
    ['/agent/run', input],
    ['/agent/run', runInput('mine', { threadId: input.threadId })],
    ['/agent/run', runInput('mine', { threadId: input.threadId, forwardedProps: { onBusy: 'rollback' } })],
    ['/agent/clientkit/stream', runInput('mine', { threadId: input.threadId })],
    ['/agent/invoke', { session_id: input.threadId, query: 'q' }],
    ['/agent/stream', { session_id: input.threadId, query: 'q' }],
  ] as const;
  const tryAll = async (): Promise<void> => {
    for (const [index, { method, url }] of routes.entries()) {
      const answer = await app.inject({ method, url, headers: bob });
      expect(answer.statusCode, url).toBe(404);
      const other = unknown[index] as { method: 'GET'; url: string };
      expect(answer.json(), url).toEqual((await app.inject({ ...other, headers: bob })).json());
      expect((await app.inject({ method, url })).statusCode, url).toBe(401);
    }
    for (const [url, payload] of bodies) {
      const answer = await app.inject({ method: 'POST', url, payload, headers: bob });
      expect(answer.statusCode, url).toBe(404);
      expect((await app.inject({ method: 'POST', url, payload })).statusCode, url).toBe(401);
    }
    expect(await sessionsOf(app, bob)).toEqual([]);
  };
  await tryAll();
  gate.open();
  expect((await stream.all()).at(-1)).toMatchObject({ type: 'RUN_FINISHED' });
  await tryAll();
  expect(await sessionsOf(app, ana)).toHaveLength(1);
  for (const { method, url } of routes) {
    expect((await app.inject({ method, url, headers: ana })).statusCode, url).toBe(200);
  }
});

const NAMES = ['x-service-user-id', 'X-Service-User-Id', 'X-SERVICE-USER-ID', 'X_Service_User_Id', 'x-user-id'];

test('no header makes a user another one', async () => {
  const { app, ana, bob } = await signedOn();
  const hers = runInput('hers');
  await runEvents(app, hers, ana);
  for (const name of NAMES) {
    const headers = { ...bob, [name]: ANA };
    const his = runInput('his');
    await runEvents(app, his, headers);
    const taken = await app.inject({
      method: 'POST',
      url: '/agent/run',
      payload: runInput('more', { threadId: hers.threadId }),
      headers,
    });
    expect(taken.statusCode, name).toBe(404);
    for (const { method, url } of await routesOf(app, hers.threadId, hers.runId)) {
      expect((await app.inject({ method, url, headers })).statusCode, `${name} ${url}`).toBe(404);
    }
    for (const route of await routesOf(app, his.threadId, his.runId)) {
      if (endsIt(route)) continue;
      const { method, url } = route;
      expect((await app.inject({ method, url, headers: bob })).statusCode, `${name} ${url}`).toBe(200);
      expect((await app.inject({ method, url, headers: ana })).statusCode, `${name} ${url}`).toBe(404);
    }
  }
  expect(await sessionsOf(app, { ...bob, 'x-service-user-id': ANA })).toHaveLength(NAMES.length);
  expect(await sessionsOf(app, ana)).toHaveLength(1);
});

test('nor does a header that is sent twice, or a second token', async () => {
  const { app, base, ana, bob } = await signedOn();
  await runEvents(app, runInput('hers'), ana);
  const authorization = (user: User): string => `Authorization: ${user.authorization}`;
  for (const lines of [
    [authorization(bob), `X-Service-User-Id: ${ANA}`, `X-Service-User-Id: ${ANA}`],
    [authorization(bob), 'X-Service-User-Id:', `x-service-user-id: ${ANA}`],
    [`X-Service-User-Id: ${BOB}`, authorization(bob), `X-Service-User-Id: ${ANA}`],
    [authorization(bob), authorization(ana)],
    [authorization(bob), `Cookie: service_session=${ANA}`],
  ]) {
    const { status, body } = await raw(base, requestText('GET', '/agent/sessions', lines));
    expect(status === 401 || body.includes('[]'), `${lines} ${body}`).toBe(true);
    expect(body).not.toContain('hers');
  }
  const both = [`${authorization(bob)}, ${ana.authorization}`];
  expect((await raw(base, requestText('GET', '/agent/sessions', both))).status).toBe(401);
});

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Tokens somebody without the provider's private key can make. */
async function hostileTokens({ issuer, publicKey, sign }: OidcProvider, email: string) {
  const now = Math.floor(Date.now() / 1000);
  const key = publicKey();
  const payload = { iss: issuer, aud: 'agent', sub: 'x', email, email_verified: true, iat: now, exp: now + 300 };
  const pem = createPublicKey({ key: key as JsonWebKey, format: 'jwk' }).export({
    type: 'spki',
    format: 'pem',
  }) as string;
  const hs256 = (secret: string, header: object = {}): string => {
    const text = `${encode({ alg: 'HS256', typ: 'JWT', kid: key.kid, ...header })}.${encode(payload)}`;
    return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`;
  };
  const good = await sign(payload);
  const [head, , signature] = good.split('.');
  const rival = await startOidcProvider();
  return {
    'alg none': `${encode({ alg: 'none' })}.${encode(payload)}.`,
    'alg None': `${encode({ alg: 'None', kid: key.kid })}.${encode(payload)}.`,
    'alg none with a signature': `${encode({ alg: 'none', kid: key.kid })}.${encode(payload)}.${signature}`,
    'no signature': `${head}.${encode(payload)}.`,
    'HS256 with the public key': hs256(pem),
    'HS256 with the public key, trimmed': hs256(pem.trim()),
    'HS256 with the JWK': hs256(JSON.stringify(key)),
    'HS256 with nothing': hs256(''),
    'HS256 that calls itself RS256': hs256(pem, { alg: 'RS256' }),
    'other claims under a good signature': `${head}.${encode({ ...payload, sub: 'y' })}.${signature}`,
    'a key of its own in the header': await rival.sign(payload, { jwk: rival.publicKey() }),
    'a key address of its own': await rival.sign(payload, { jku: `${rival.issuer}/jwks`, x5u: rival.issuer }),
    'another provider’s key under this one’s id': await rival.sign(payload, { kid: key.kid }, rival.publicKey().kid),
    'another issuer': await rival.sign({ email }),
    'another audience': await sign({ ...payload, aud: 'other' }),
    expired: await sign({ ...payload, exp: now - 60 }),
    'without an end': await sign({ ...payload, exp: undefined }),
    'not yet valid': await sign({ ...payload, nbf: now + 300 }),
    'encrypted in looks': `${encode({ alg: 'RSA-OAEP', enc: 'A256GCM' })}.a.b.c.d`,
    'of twenty thousand characters': `${encode({ alg: 'RS256' })}.${'a'.repeat(11_000)}.b`,
  };
}

test('a key does not let its holder be somebody, where users sign on', async () => {
  const key = 'planted-runtime-key-0123456789';
  const { app, ana } = await signedOn({ env: () => ({ SERVICE_API_KEYS: `bot=${key}` }) });
  const hers = runInput('hers');
  await runEvents(app, hers, ana);
  const headers = { 'x-api-key': key, 'x-service-user-id': ANA };
  expect(await sessionsOf(app, headers)).toEqual([]);
  const more = { payload: runInput('more', { threadId: hers.threadId }), headers };
  expect((await app.inject({ method: 'POST', url: '/agent/run', ...more })).statusCode).toBe(404);
});

test('a token that the provider has not signed for us opens neither chat nor administration', async () => {
  const { app, provider, as } = await signedOn({ env: ({ issuer }) => ssoMode(issuer) });
  const boss = await as('boss@example.org');
  const get = async (url: string, authorization: string) =>
    await app.inject({ url, headers: { host: HOST, authorization } });
  expect((await get(`${API}/agent`, boss.authorization)).statusCode).toBe(200);
  expect((await get('/agent/sessions', boss.authorization)).statusCode).toBe(200);
  for (const [name, token] of Object.entries(await hostileTokens(provider, 'boss@example.org'))) {
    for (const url of [`${API}/agent`, '/api/v1/agents/x', '/agent/sessions', `/agent/config`]) {
      const answer = await get(url, `Bearer ${token}`);
      expect(answer.statusCode, `${name} ${url}`).toBe(401);
      expect(String(answer.headers['www-authenticate'])).toMatch(/^Bearer/);
      expect(answer.body).not.toContain(token);
      expect(answer.body).not.toContain('boss@');
    }
    const run = { method: 'POST' as const, url: '/agent/run', payload: runInput('hi') };
    const answer = await app.inject({ ...run, headers: { authorization: `Bearer ${token}` } });
    expect(answer.statusCode, name).toBe(401);
  }
});

test('a user of the provider is no admin, and reloads nothing', async () => {
  const { app, bob } = await signedOn({ env: ({ issuer }) => ssoMode(issuer) });
  for (const [method, url] of [
    ['GET', `${API}/agent`],
    ['POST', `${API}/guardrails`],
    ['POST', '/reload'],
  ] as const) {
    const answer = await app.inject({ method, url, headers: { host: HOST, ...bob }, payload: '{}' });
    expect(answer.statusCode, url).toBe(401);
  }
  expect((await app.inject({ url: '/agent/sessions', headers: bob })).statusCode).toBe(200);
});
