/**
 * `npm run bench:tracing`: what recording spans, and sending them, costs a run. Several servers in one process take
 * turns, run by run and without HTTP, so that nothing but the tracing differs.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { pino } from 'pino';
import { table } from './report.mjs';
import { median } from './stats.mjs';
import { order } from './tokens.mjs';

const HELP = `Usage: npm run bench:tracing -- [options]

  --rounds <n>   rounds that count (default 60)
  --runs <n>     runs of each server in a round (default 50)
  --tokens <n>   tokens of a run (default 200)
  --prompt <n>   characters of further messages in the conversation (default 0)
  --dist <dist>  build to measure (default ./dist)`;

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '60' },
    runs: { type: 'string', default: '50' },
    tokens: { type: 'string', default: '200' },
    prompt: { type: 'string', default: '0' },
    dist: { type: 'string', default: fileURLToPath(new URL('../dist', import.meta.url)) },
    help: { type: 'boolean', default: false },
  },
});
if (options.help) {
  console.log(HELP);
  process.exit(0);
}
if (!existsSync(resolve(options.dist, 'app.js'))) {
  console.error(`${options.dist} holds no build: run npm run build first.`);
  process.exit(1);
}
const [rounds, runs, tokens, prompt] = [options.rounds, options.runs, options.tokens, options.prompt].map(Number);
const dist = pathToFileURL(resolve(options.dist)).href;
const { readEnv } = await import(`${dist}/env.js`);
const { createServices } = await import(`${dist}/services.js`);

// In a thread of its own, so that receiving is not counted.
const collector = new Worker(
  `import { createServer } from 'node:http';
   import { parentPort } from 'node:worker_threads';
   const server = createServer((request, response) => request.resume().on('end', () => response.end()));
   server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));`,
  { eval: true, type: 'module' },
);
const port = await new Promise((resolve) => collector.once('message', resolve));
const otlp = (path) => ({ provider: 'OTLP', config: { endpoint: `http://127.0.0.1:${port}/${path}` } });

const contenders = [
  await start('nobody listens', [], []),
  await start('recording only', [], [{ onEnd() {} }]),
  await start('one exporter', [otlp('a')], []),
  await start('three exporters', [otlp('a'), otlp('b'), otlp('c')], []),
];
for (let round = -5; round < rounds; round += 1) {
  for (const contender of contenders) {
    const before = process.threadCpuUsage?.() ?? process.cpuUsage();
    const startedAt = performance.now();
    for (let n = 0; n < runs; n += 1) await run(contender.services);
    const ms = performance.now() - startedAt;
    const after = process.threadCpuUsage?.(before) ?? process.cpuUsage(before);
    if (round >= 0) contender.rounds.push({ ms: ms / runs, cpu: (after.user + after.system) / 1_000 / runs });
  }
}
const [base] = contenders;
const rows = contenders.map(({ label, rounds: measured }) => {
  const ratios = measured.map(({ ms }, round) => base.rounds[round].ms / ms).sort((a, b) => a - b);
  const at = (share) => ratios[Math.floor(share * (ratios.length - 1))].toFixed(3);
  const middle = (key) => median(measured.map((round) => round[key])).toFixed(2);
  return [label, middle('ms'), middle('cpu'), `${at(0.5)}× (${at(0.25)}–${at(0.75)})`];
});
console.log(table(['Server', 'ms per run', 'CPU ms per run', 'runs/s, median and quartiles'], rows));
for (const { services, folder } of contenders) {
  await services.close();
  rmSync(folder, { recursive: true, force: true });
}
await collector.terminate();

async function start(label, observability, sinks) {
  const folder = mkdtempSync(join(tmpdir(), 'bench-tracing-'));
  const graphFile = fileURLToPath(new URL('graph.mjs', import.meta.url));
  const agent = { type: 'LANGGRAPH', config: { name: 'bench', graph_definition: `${graphFile}:graph` } };
  writeFileSync(join(folder, 'config.yaml'), JSON.stringify({ agent, observability }));
  const { env } = readEnv({ SERVICE_RUN_RETENTION_SECONDS: '0' });
  const log = pino({ level: 'silent' });
  const services = await createServices({ env, log, root: folder, variables: {}, sinks });
  await services.configurator.boot();
  if (services.configurator.bootError !== undefined) throw new Error(services.configurator.bootError);
  return { label, services, folder, rounds: [] };
}

async function run(services) {
  const said = [{ id: randomUUID(), role: 'user', content: order({ tokens, delayMs: 0 }) }];
  if (prompt > 0) said.unshift({ id: randomUUID(), role: 'user', content: 'lorem ipsum '.repeat(prompt / 12) });
  const input = { threadId: randomUUID(), runId: randomUUID(), messages: said, tools: [], context: [], state: {} };
  const reading = await services.runs.start(input, null, () => undefined);
  await reading.done;
}
