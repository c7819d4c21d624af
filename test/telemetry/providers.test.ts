import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { expect, test } from 'vitest';
import { tempFolder } from '../support/app.ts';
import { oneModel } from '../support/graphs.ts';
import { type Receiver, spanOf, startReceiver } from '../support/otlp.ts';
import { runEvents, runInput } from '../support/runs.ts';
import { configure, otlp, runTraced, statusOf, traced } from './support.ts';

const AGENT = oneModel(`new ScriptedModel([['Good ', 'day']])`);

/** Runs the agent once for a provider; what its collector got. */
async function whatGets(provider: (url: string) => object) {
  const receiver = await startReceiver();
  const server = await traced(AGENT, provider(receiver.url));
  const input = runInput('hello');
  const { spans } = await runTraced(server, receiver, input);
  const [request] = receiver.requests;
  if (request === undefined) throw new Error('nothing came');
  expect(request.method).toBe('POST');
  expect(request.headers['content-type']).toBe('application/x-protobuf');
  return { request, spans, input, server, receiver };
}

test('LANGFUSE', async () => {
  const config = { publicKey: 'pk-lf-1', secretKey: 'sk-lf-2', runName: 'Desk' };
  const { request, spans } = await whatGets((host) => ({ provider: 'LANGFUSE', config: { host, ...config } }));
  expect(request.path).toBe('/api/public/otel/v1/traces');
  expect(request.headers).toMatchObject({
    authorization: `Basic ${Buffer.from('pk-lf-1:sk-lf-2').toString('base64')}`,
    'x-langfuse-ingestion-version': '4',
  });
  for (const span of spans) expect(span.attributes['langfuse.trace.name']).toBe('Desk');
  expect(spanOf(spans, 'AGENT').attributes['langfuse.observation.type']).toBe('agent');
  const model = spanOf(spans, 'LLM').attributes;
  expect(model['langfuse.observation.type']).toBe('generation');
  expect(JSON.parse(String(model['langfuse.observation.completion_start_time']))).toMatch(/^\d{4}-.*Z$/);
});

test('PHOENIX', async () => {
  const config = { projectName: 'desk', apiKey: 'px-key-1' };
  const { request, spans, server } = await whatGets((url) => ({
    provider: 'PHOENIX',
    config: { collectorEndpoint: `${url}/`, ...config },
  }));
  expect((await server.admin.get('/observability')).body.observability.config.apiKey).toBe('***');
  expect(request.path).toBe('/v1/traces');
  expect(request.headers.authorization).toBe('Bearer px-key-1');
  for (const span of spans) expect(span.resource['openinference.project.name']).toBe('desk');
});

test('LANGSMITH', async () => {
  const config = { apiKey: 'lsv2_1', projectName: 'desk', runName: 'Desk run' };
  const { request, spans, input } = await whatGets((endpoint) => ({
    provider: 'LANGSMITH',
    config: { endpoint, ...config },
  }));
  expect(request.path).toBe('/otel/v1/traces');
  expect(request.headers).toMatchObject({ 'x-api-key': 'lsv2_1', 'langsmith-project': 'desk' });
  const root = spanOf(spans, 'AGENT').attributes;
  expect(root).toMatchObject({ 'langsmith.trace.name': 'Desk run', 'langsmith.span.kind': 'chain' });
  expect(spanOf(spans, 'LLM').attributes).toMatchObject({
    'langsmith.span.kind': 'llm',
    'langsmith.metadata.thread_id': input.threadId,
  });
  expect(spanOf(spans, 'LLM').attributes).not.toHaveProperty('langsmith.trace.name');
});

test.each([
  ['', '/v1/traces'],
  ['/', '/v1/traces'],
  ['/v1/traces', '/v1/traces'],
  ['/v1', '/v1/traces'],
  ['/tenants/a', '/tenants/a/v1/traces'],
])('OTLP to %j', async (path, expected) => {
  const { request } = await whatGets((url) =>
    otlp(`${url}${path}`, { headers: { 'X-Scope-OrgID': 'a', 'x-key': 'k' } }),
  );
  expect(request.path).toBe(expected);
  expect(request.headers).toMatchObject({ 'x-scope-orgid': 'a', 'x-key': 'k' });
});

/** A key file of a service account whose tokens come from the receiver. */
function serviceAccount(receiver: Receiver): { file: string; publicKey: string } {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', {
    modulusLength: 2_048,
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  const file = join(tempFolder(), 'key.json');
  const content = {
    type: 'service_account',
    project_id: 'project-of-the-key',
    private_key_id: 'kid-1',
    private_key: privateKey,
    client_email: 'desk@p-1.iam.gserviceaccount.com',
    token_uri: `${receiver.url}/token`,
  };
  writeFileSync(file, JSON.stringify(content));
  return { file, publicKey };
}

const TOKEN = 'ya29.a-token-of-google';

/** Makes the receiver give tokens. */
function giveTokens(receiver: Receiver): void {
  receiver.answer(({ path }, response) => {
    if (!path.includes('token')) return undefined;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ access_token: TOKEN, expires_in: 3_600 }));
    return 'handled';
  });
}

test('GCP_TRACE, with the key of a service account', async () => {
  const receiver = await startReceiver();
  giveTokens(receiver);
  const { file } = serviceAccount(receiver);
  const config = { gcpProjectId: 'p-1', traceName: 'desk run', flushInterval: 0, endpoint: receiver.url, region: 'eu' };
  const server = await traced(
    AGENT,
    { provider: 'GCP_TRACE', config },
    { env: { GOOGLE_APPLICATION_CREDENTIALS: file } },
  );
  const { spans } = await runTraced(server, receiver);
  await runTraced(server, receiver);
  const tokens = receiver.requests.filter(({ path }) => path === '/token');
  // One token serves for an hour.
  expect(tokens).toHaveLength(1);
  const grant = new URLSearchParams(tokens[0]?.body.toString());
  expect(grant.get('grant_type')).toBe('urn:ietf:params:oauth:grant-type:jwt-bearer');
  const assertion = grant.get('assertion') ?? '';
  expect(decodeProtectedHeader(assertion)).toMatchObject({ alg: 'RS256', kid: 'kid-1' });
  expect(decodeJwt(assertion)).toMatchObject({
    iss: 'desk@p-1.iam.gserviceaccount.com',
    aud: `${receiver.url}/token`,
    scope: 'https://www.googleapis.com/auth/trace.append',
  });
  const sent = receiver.requests.find(({ path }) => path === '/v1/traces');
  expect(sent?.headers.authorization).toBe(`Bearer ${TOKEN}`);
  expect(spanOf(spans, 'AGENT')).toMatchObject({
    name: 'desk run',
    resource: { 'gcp.project_id': 'p-1', 'cloud.region': 'eu' },
  });
});

test('GCP_TRACE sends the share of traces it is told to', async () => {
  const receiver = await startReceiver();
  giveTokens(receiver);
  const env = { GOOGLE_APPLICATION_CREDENTIALS: serviceAccount(receiver).file };
  const config = { gcpProjectId: 'p-1', samplingRate: 0, flushInterval: 0, endpoint: receiver.url };
  const all = await startReceiver();
  const server = await traced(AGENT, [{ provider: 'GCP_TRACE', config }, otlp(all.url)], { env });
  await runTraced(server, all);
  expect(receiver.requests).toEqual([]);
  // Told by the id, so that all spans of a trace are in or out, with every exporter of every server.
  const half = [{ provider: 'GCP_TRACE', config: { ...config, samplingRate: 0.5 } }, otlp(all.url)];
  await configure(server.admin, half);
  for (const [traceId, sampled] of [
    ['4bf92f3577b34da6a3cfffffffffffff', false],
    ['4bf92f3577b34da6a3c0000000000001', true],
  ] as const) {
    const input = runInput('hello');
    await runTraced(server, all, input, { traceparent: `00-${traceId}-00f067aa0ba902b7-01` });
    if (sampled) await receiver.until((spans) => spans.some((span) => span.traceId === traceId));
  }
  expect(new Set(receiver.spans.map(({ traceId }) => traceId))).toEqual(new Set(['4bf92f3577b34da6a3c0000000000001']));
});

test('GCP_LOGGING, with a token of the machine’s own', async () => {
  const receiver = await startReceiver();
  giveTokens(receiver);
  const config = { logName: 'desk/runs', severity: 'notice', endpoint: receiver.url, gcpProjectId: 'p-1' };
  const agent = oneModel(`new ScriptedModel([['fine'], [new TypeError('x')]])`);
  const env = { GCE_METADATA_HOST: `127.0.0.1:${receiver.port}` };
  const server = await traced(agent, { provider: 'GCP_LOGGING', config }, { env });
  const input = runInput('hello');
  await runEvents(server.app, input);
  await runEvents(server.app, runInput('again'));
  type Entry = Record<string, unknown> & { jsonPayload: { kind: string; attributes: object } };
  type Write = { entries: Entry[] } & Record<string, unknown>;
  const writes = (): Write[] =>
    receiver.requests.filter(({ path }) => path === '/v2/entries:write').map(({ json }) => json as Write);
  await expect.poll(() => writes().flatMap(({ entries }) => entries).length, { timeout: 10_000 }).toBe(6);
  const token = receiver.requests.find(({ path }) => path.includes('/token'));
  expect(token?.headers['metadata-flavor']).toBe('Google');
  expect(decodeURIComponent(token?.path ?? '')).toContain('scopes=https://www.googleapis.com/auth/logging.write');
  const [write] = writes();
  expect(write).toMatchObject({
    logName: 'projects/p-1/logs/desk%2Fruns',
    resource: { type: 'global', labels: { project_id: 'p-1' } },
    partialSuccess: true,
  });
  const entries = writes().flatMap((one) => one.entries);
  const root = entries.find(({ jsonPayload }) => jsonPayload.kind === 'AGENT');
  expect(root).toMatchObject({
    severity: 'NOTICE',
    spanId: expect.stringMatching(/^[0-9a-f]{16}$/),
    trace: expect.stringMatching(/^projects\/p-1\/traces\/[0-9a-f]{32}$/),
    traceSampled: true,
    timestamp: expect.stringMatching(/Z$/),
    jsonPayload: { name: 'agent', status: 'ok', attributes: { 'service.run_id': input.runId, 'input.value': 'hello' } },
  });
  const failed = entries.filter(({ severity }) => severity === 'ERROR').map(({ jsonPayload }) => jsonPayload.kind);
  expect(failed.sort()).toEqual(['AGENT', 'CHAIN', 'LLM']);
});

test('a token that Google has taken back is asked for anew', async () => {
  const receiver = await startReceiver();
  giveTokens(receiver);
  const env = { GOOGLE_APPLICATION_CREDENTIALS: serviceAccount(receiver).file };
  const config = { gcpProjectId: 'p-1', flushInterval: 0, endpoint: receiver.url };
  const server = await traced(AGENT, { provider: 'GCP_TRACE', config }, { env });
  await runTraced(server, receiver);
  let tokens = 1;
  receiver.answer(({ path, headers }, response) => {
    if (path === '/token') {
      tokens += 1;
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ access_token: `ya29.token-${tokens}`, expires_in: 3_600 }));
      return 'handled';
    }
    if (headers.authorization !== `Bearer ${TOKEN}`) return undefined;
    response.writeHead(401).end();
    return 'handled';
  });
  await runTraced(server, receiver);
  expect(tokens).toBe(2);
  await expect.poll(() => statusOf(server.admin)).toMatchObject({ state: 'ok', exported: 6, failed: 0 });
});

test('without credentials of Google’s an exporter says so, and the runs go on', async () => {
  const receiver = await startReceiver();
  const config = { gcpProjectId: 'p-1', flushInterval: 0, endpoint: receiver.url };
  const env = { GOOGLE_APPLICATION_CREDENTIALS: '/nowhere/key.json' };
  const server = await traced(AGENT, { provider: 'GCP_TRACE', config }, { env });
  expect((await runEvents(server.app, runInput('hello'))).at(-1)).toMatchObject({ type: 'RUN_FINISHED' });
  await expect
    .poll(async () => (await statusOf(server.admin)).lastError, { timeout: 10_000 })
    .toBe('The file GOOGLE_APPLICATION_CREDENTIALS names cannot be read');
  expect(receiver.requests).toEqual([]);
});

test('several exporters get the same spans', async () => {
  const [one, two] = [await startReceiver(), await startReceiver()];
  const phoenix = { provider: 'PHOENIX', config: { collectorEndpoint: two.url, projectName: 'p' } };
  const off = { ...otlp(`${two.url}/off`), enabled: false };
  // The same one twice is one.
  const server = await traced(AGENT, [otlp(one.url), phoenix, off, otlp(one.url)]);
  const input = runInput('hello');
  const { spans } = await runTraced(server, one, input);
  const others = await two.until((all) => all.length === spans.length);
  const ids = (list: { spanId: string }[]) => list.map(({ spanId }) => spanId).sort();
  expect(ids(others)).toEqual(ids(spans));
  expect(new Set(ids(spans)).size).toBe(spans.length);
  expect(two.requests.filter(({ path }) => path.startsWith('/off'))).toEqual([]);
  const exporters = async () => (await server.admin.get('/observability/status')).body.exporters;
  await expect.poll(exporters).toMatchObject([
    {
      provider: 'OTLP',
      endpoint: `${one.url}/v1/traces`,
      state: 'ok',
      exported: spans.length,
      queued: 0,
      lastError: null,
    },
    { provider: 'PHOENIX', endpoint: `${two.url}/v1/traces` },
  ]);
});

test.each([
  [{ provider: 'LANGFUSE', config: { host: 'cloud.langfuse.com' } }, 'host'],
  [{ provider: 'OTLP', config: { endpoint: 'ftp://x' } }, 'endpoint'],
  [{ provider: 'OTLP', config: { headers: { 'bad name': 'x' } } }, 'bad name'],
  // It would be sent a token of the operator's.
  [{ provider: 'GCP_TRACE', config: { endpoint: 'https://collector.example.org' } }, 'endpoint'],
  [{ provider: 'GCP_LOGGING', config: { endpoint: 'https://googleapis.com.example.org' } }, 'endpoint'],
])('%j is 422 and says where', async (provider, place) => {
  const { admin } = await traced(AGENT, []);
  const { status, body } = await admin.patch('/observability', { observability: [provider] });
  expect(status).toBe(422);
  expect(JSON.stringify(body.detail)).toContain(place);
});

test('an address that only becomes wrong with its variable is 422 too', async () => {
  const env = { COLLECTOR: 'not an address' };
  const { admin } = await traced(AGENT, [], { env });
  const { status, body } = await admin.patch('/observability', { observability: [otlp(`\${COLLECTOR}`)] });
  expect(status).toBe(422);
  expect(body.detail).toMatchObject([{ loc: ['observability', 0, 'config', 'endpoint'] }]);
});

test('a check tries the place spans are sent to, with the credentials', async () => {
  const receiver = await startReceiver();
  const server = await traced(AGENT, otlp(receiver.url, { headers: { 'x-key': 'right' } }));
  receiver.answer(({ headers, method }, response) => {
    if (method !== 'POST' || headers['x-key'] === 'right') return undefined;
    response.statusCode = 401;
    response.end();
    return 'handled';
  });
  const check = () => server.admin.post('/observability/check-connection');
  expect((await check()).body).toEqual({
    ok: true,
    details: { provider: 'OTLP', status: 200, ingest: 200 },
    error: null,
  });
  expect(receiver.spans).toEqual([]);
  await configure(server.admin, otlp(receiver.url, { headers: { 'x-key': 'wrong' } }));
  expect((await check()).body).toEqual({
    ok: false,
    details: null,
    error: 'The server refuses the credentials (status 401)',
  });
});

test('a check of Google’s providers asks for a token, and writes nothing', async () => {
  const receiver = await startReceiver();
  giveTokens(receiver);
  const env = { GOOGLE_APPLICATION_CREDENTIALS: serviceAccount(receiver).file };
  const config = { gcpProjectId: 'p-1', endpoint: receiver.url };
  const server = await traced(AGENT, { provider: 'GCP_LOGGING', config }, { env });
  const { body } = await server.admin.post('/observability/check-connection');
  expect(body).toEqual({ ok: true, details: { provider: 'GCP_LOGGING', ingest: 200 }, error: null });
  expect(receiver.requests.at(-1)?.json).toMatchObject({ dryRun: true });
  receiver.answer((_, response) => {
    response.statusCode = 403;
    response.end();
    return 'handled';
  });
  expect((await server.admin.post('/observability/check-connection')).body).toMatchObject({
    ok: false,
    error: 'Google refuses the credentials (status 403)',
  });
});
