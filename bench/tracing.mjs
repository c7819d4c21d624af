/**
 * `npm run bench:tracing`: what recording spans, and sending them, costs a run. Several servers in one process take
 * turns, run by run and without HTTP, so that nothing but the tracing differs.
 *
 * @module
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { readOptions } from './options.mjs';
import { table } from './report.mjs';
import { measureSpanCost } from './span-cost.mjs';
import { median } from './stats.mjs';
import { order } from './tokens.mjs';

const HELP = `Usage: npm run bench:tracing -- [options]

  --rounds <n>   rounds that count (default 300)
  --runs <n>     runs of each server in a round (default 10)
  --tokens <n>   tokens of a run (default 200)
  --prompt <n>   characters of further messages in the conversation (default 0)
  --dist <dist>  build to measure (default ./dist)`;

const { options, dist } = readOptions(HELP, {
  rounds: { type: 'string', default: '300' },
  runs: { type: 'string', default: '10' },
  tokens: { type: 'string', default: '200' },
  prompt: { type: 'string', default: '0' },
});
const [rounds, runs, tokens, prompt] = [options.rounds, options.runs, options.tokens, options.prompt].map(Number);
const { readEnv } = await import(`${dist}/env.js`);
const { createServices } = await import(`${dist}/services.js`);

const cost = await measureSpanCost(dist, tokens);
const us = (value) => value.toFixed(0);
console.log(
  `By itself: recording a run of three spans takes ${us(cost.recording)} µs, encoding it ${us(cost.encoding)} µs for each ` +
    `exporter (${us(cost.bytes)} bytes).\n`,
);

// In a process of its own, so that receiving is not counted.
const COLLECTOR = `
const server = require('node:http').createServer((request, response) => request.resume().on('end', () => response.end()));
server.listen(0, '127.0.0.1', () => process.send(server.address().port));
process.on('disconnect', () => process.exit());`;
const collector = spawn(process.execPath, ['-e', COLLECTOR], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
const port = await new Promise((resolve) => collector.once('message', resolve));
const otlp = (path) => ({ provider: 'OTLP', config: { endpoint: `http://127.0.0.1:${port}/${path}` } });

const contenders = [
  await start('nobody listens', [], []),
  await start('recording only', [], [{ onEnd() {} }]),
  await start('one exporter', [otlp('a')], []),
  await start('three exporters', [otlp('a'), otlp('b'), otlp('c')], []),
];
for (let round = -30; round < rounds; round += 1) {
  // Each goes first in its turn: whoever follows another finds that one's caches.
  for (const at of contenders.keys()) {
    const contender = contenders[(at + round + 30) % contenders.length];
    const before = process.cpuUsage();
    const startedAt = performance.now();
    for (let n = 0; n < runs; n += 1) await run(contender.services);
    const ms = performance.now() - startedAt;
    const { user, system } = process.cpuUsage(before);
    if (round >= 0) contender.rounds.push({ ms: ms / runs, cpu: (user + system) / 1_000 / runs });
  }
}
const [base] = contenders;
const rows = contenders.map(({ label, rounds: measured }) => {
  const middle = (key) => median(measured.map((round) => round[key]));
  const ratios = (key) => {
    const sorted = measured.map((round, index) => base.rounds[index][key] / round[key]).sort((a, b) => a - b);
    const at = (share) => sorted[Math.floor(share * (sorted.length - 1))].toFixed(3);
    return `${at(0.5)}× (${at(0.25)}–${at(0.75)})`;
  };
  return [label, middle('cpu').toFixed(2), ratios('cpu'), ratios('ms')];
});
console.log(table(['Server', 'CPU ms per run', 'runs per CPU second', 'runs per second'], rows));
for (const { services, folder } of contenders) {
  await services.close();
  rmSync(folder, { recursive: true, force: true });
}
collector.disconnect();

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
