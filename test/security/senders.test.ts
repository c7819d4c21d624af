import type { Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createGate, gatedAgent, until } from '../support/gates.ts';
import { runInput, textOf } from '../support/runs.ts';
import { openRun, openSocket } from '../support/streams.ts';
import { API, HOST, login, OWN_PAGE, passwordApp, raw, requestText } from './support.ts';

const IMPATIENT = { SERVICE_REQUEST_TIMEOUT_SECONDS: '1' };

const HEAD = 'POST /admin/api/v1/auth/login HTTP/1.1\r\nHost: localhost\r\n';
const JSON_HEAD = `${HEAD}Content-Type: application/json\r\n`;

/** What a sender has said when it begins to be slow, and what it says again and again from then on. */
const SLOW: [name: string, begin: string, again: string][] = [
  ['that says nothing', '', ''],
  ['of half a request line', 'POST /agent/r', 'u'],
  ['of one header after the other', HEAD, 'X-Slow: a\r\n'],
  ['of a header that does not end', `${HEAD}X-Slow: `, 'a'],
  ['of a body that does not come', `${JSON_HEAD}Content-Length: 1000\r\n\r\n`, ''],
  ['of a body byte by byte', `${JSON_HEAD}Content-Length: 1000000\r\n\r\n`, ' '],
  ['of a body chunk by chunk', `${JSON_HEAD}Transfer-Encoding: chunked\r\n\r\n`, '1\r\n \r\n'],
  ['of a run byte by byte', `${JSON_HEAD.replace(/\S+ HTTP/, '/agent/run HTTP')}Content-Length: 1000000\r\n\r\n`, ' '],
];

/** Sends as slowly as it may be; gives what it is told before it is cut. */
async function dribble(base: string, begin: string, again: string): Promise<string> {
  const socket: Socket = await openSocket(base);
  let told = '';
  socket.on('data', (data) => {
    told += String(data);
  });
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.write(begin);
  const timer = setInterval(() => socket.write(again), 100);
  onTestFinished(() => clearInterval(timer));
  socket.resume();
  await closed;
  clearInterval(timer);
  return told;
}

test('slow senders are cut, while others are served and runs go on', async () => {
  const { app, listen } = await passwordApp(IMPATIENT, { files: { 'agent.ts': gatedAgent('v1') } });
  const base = await listen();
  const gate = createGate();
  const stream = await openRun(base, runInput(gate.name));
  await until(() => gate.arrived === 1);
  let cut = 0;
  const told = SLOW.map(async ([name, begin, again]) => {
    const text = await dribble(base, begin, again);
    cut += 1;
    return [name, text] as const;
  });
  await until(async () => {
    const { status } = await fetch(`${base}/health`);
    expect(status).toBe(200);
    return cut === SLOW.length;
  });
  for (const [name, text] of await Promise.all(told)) expect(text, name).toMatch(/^(HTTP\/1\.1 408 |$)/);
  // Longer than any request may take to arrive: what is slow to answer is another thing.
  gate.open();
  expect(textOf(await stream.all())).toBe(`v1: ${gate.name}`);
  expect((await app.inject({ url: '/agent/sessions', headers: { host: HOST } })).json()).toHaveLength(1);
});

const LIMIT = 4_096;

test('a body that is too large is 413 on every route that takes one', async () => {
  const { app } = await passwordApp({ SERVICE_MAX_BODY_BYTES: String(LIMIT) });
  await app.ready();
  const cookie = await login(app);
  const payload = JSON.stringify({ text: 'x'.repeat(LIMIT) });
  const routes = app.allRoutes.filter(({ method }) => ['POST', 'PATCH', 'PUT'].includes(String(method)));
  expect(routes.length).toBeGreaterThan(20);
  for (const { method, url } of routes) {
    const headers = { ...OWN_PAGE, cookie, 'content-type': 'application/json' };
    const answer = await app.inject({ method: method as 'POST', url, headers, payload });
    expect(answer.statusCode, `${method} ${url}`).toBe(413);
    expect(answer.body).not.toContain('xxxx');
  }
});

test('whoever has shown nothing is refused before his body is looked at', async () => {
  const { listen } = await passwordApp({ SERVICE_MAX_BODY_BYTES: String(LIMIT) });
  const base = await listen();
  const huge = ['Content-Type: application/json', `Content-Length: ${2 ** 40}`];
  for (const [path, status] of [
    [`${API}/guardrails`, 401],
    [`${API}/auth/change-password`, 401],
    ['/reload', 401],
    [`${API}/auth/login`, 413],
    ['/agent/run', 413],
  ] as const) {
    expect((await raw(base, requestText('POST', path, huge))).status, path).toBe(status);
  }
  const chunk = `${LIMIT.toString(16)}\r\n${' '.repeat(LIMIT)}\r\n`;
  const lines = ['Content-Type: application/json', 'Transfer-Encoding: chunked'];
  const text = requestText('POST', '/agent/run', lines);
  expect((await raw(base, `${text}${chunk}${chunk}0\r\n\r\n`)).status).toBe(413);
});

test('headers of any size end in an answer, not in trouble', async () => {
  const { app, listen } = await passwordApp();
  const base = await listen();
  for (const line of [`X-Large: ${'a'.repeat(100_000)}`, `Cookie: ${'a=b; '.repeat(20_000)}`]) {
    expect((await raw(base, requestText('GET', '/health', [line]))).status).toBe(431);
  }
  const many = Array.from({ length: 1_500 }, (_, index) => `X-${index}: a`);
  expect((await raw(base, requestText('GET', '/health', many))).status).toBeLessThan(500);
  expect((await raw(base, requestText('GET', `/${'a'.repeat(100_000)}`))).status).toBe(431);
  expect((await app.inject({ url: '/health' })).statusCode).toBe(200);
});

test('a body made to be costly is refused', async () => {
  const { app } = await passwordApp();
  const cookie = await login(app);
  for (const payload of [
    `{"password":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
    `{"password":"a","__proto__":{"isAdmin":true}}`,
    `{"constructor":{"prototype":{"isAdmin":true}}}`,
    '{"password":"\\ud800"}',
  ]) {
    const headers = { ...OWN_PAGE, 'content-type': 'application/json' };
    const login = await app.inject({ method: 'POST', url: `${API}/auth/login`, headers, payload });
    expect([401, 422]).toContain(login.statusCode);
    const admin = await app.inject({
      method: 'POST',
      url: `${API}/guardrails`,
      headers: { ...headers, cookie },
      payload,
    });
    expect(admin.statusCode).toBe(422);
  }
  expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined();
});
