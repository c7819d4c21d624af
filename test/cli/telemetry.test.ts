import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { SCRIPTED_MODEL } from '../support/agents.ts';
import { tempFolder } from '../support/app.ts';
import { isWhole, startReceiver, treeOf } from '../support/otlp.ts';
import { GATED, SQLITE_CONFIG } from './agents.ts';
import { inTime, startServer } from './command.ts';
import { webGate } from './web.ts';

const files = (observability: string) => ({
  'agent.ts': GATED,
  'scripted.ts': SCRIPTED_MODEL,
  'config.yaml': `${SQLITE_CONFIG}\nobservability: ${observability}\n`,
});

test('SIGTERM sends what waits, the run under way included, before the process ends', async () => {
  const receiver = await startReceiver();
  const gate = await webGate();
  // In the spelling of a file, and with a secret from the environment.
  const entry = `{ provider: LANGSMITH, config: { endpoint: "${receiver.url}", api_key: "\${KEY}", project_name: desk } }`;
  const server = await startServer(['serve'], { cwd: tempFolder(files(entry)), env: { KEY: 'lsv2_key' } });
  const running = server.say(gate.url);
  await inTime(gate.reached, () => 'the run to be under way');
  server.signal('SIGTERM');
  await server.logged(({ msg }) => msg.startsWith('stopping'));
  gate.open();
  const runId = String((await running)[0]?.runId);
  expect(await inTime(server.exited, () => 'the exit')).toBe(0);
  expect(isWhole(receiver.spans, runId)).toBe(true);
  expect(treeOf(receiver.spans)).toEqual(['AGENT keeper', '  CHAIN model', '    LLM chat script-1']);
  expect(receiver.requests[0]?.headers).toMatchObject({ 'x-api-key': 'lsv2_key', 'langsmith-project': 'desk' });
});

test('a collector that does not answer holds the exit up for no more than five seconds', async () => {
  const receiver = await startReceiver();
  receiver.answer(() => new Promise(() => {}));
  const entry = `[{ provider: OTLP, config: { endpoint: "${receiver.url}" } }]`;
  const server = await startServer(['serve'], { cwd: tempFolder(files(entry)) });
  await server.say('hello');
  server.signal('SIGTERM');
  await server.logged(({ msg }) => msg === 'spans could not be delivered before the end');
  expect(await inTime(server.exited, () => 'the exit')).toBe(0);
});

test('an engine by itself is traced too', async () => {
  const receiver = await startReceiver();
  const entry = `{ provider: OTLP, config: { endpoint: "${receiver.url}", headers: { x-key: k } } }`;
  const server = await startServer(['agent', 'serve'], { cwd: tempFolder(files(entry)) });
  await server.say('hello');
  const spans = await receiver.until((all) => all.length === 3);
  expect(treeOf(spans)).toEqual(['AGENT keeper', '  CHAIN model', '    LLM chat script-1']);
});

/** Boots the built server in a process of its own, and tells which packages it has loaded. */
const LOADED = `
import { createRequire } from 'node:module';
const dist = process.argv[1];
const { readEnv } = await import(dist + 'env.js');
const { createServices } = await import(dist + 'services.js');
const { buildApp } = await import(dist + 'app.js');
const silent = () => undefined;
const log = { info: silent, warn: silent, error: silent, debug: silent, trace: silent, fatal: silent, child: () => log };
const services = await createServices({ env: readEnv({}).env, log, root: process.cwd(), variables: {} });
const app = await buildApp(services);
await services.configurator.boot();
if (services.configurator.bootError !== undefined) throw new Error(services.configurator.bootError);
const loaded = Object.keys(createRequire(import.meta.url).cache).some((path) => path.includes('@opentelemetry'));
await app.close();
console.log(loaded ? 'loaded' : 'not loaded');
`;

test.each([
  ['[]', 'not loaded'],
  ['[{ provider: OTLP, config: { endpoint: "http://127.0.0.1:9" } }]', 'loaded'],
])('with observability %s OpenTelemetry is %s', async (observability, expected) => {
  const dist = new URL('../../dist/', import.meta.url).href;
  const args = ['--input-type=module', '-e', LOADED, dist];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: tempFolder(files(observability)) });
  expect(stdout.trim()).toBe(expected);
  expect(fileURLToPath(dist)).toContain('dist');
});
