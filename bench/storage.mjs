/**
 * `npm run bench:storage`: how large one long conversation becomes, with and without pruning.
 *
 * @module
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { readOptions } from './options.mjs';
import { table } from './report.mjs';
import { median } from './stats.mjs';
import { order } from './tokens.mjs';

const HELP = `Usage: npm run bench:storage -- [options]

  --turns <n>       turns of the conversation (default 500)
  --tokens <n>      tokens of an answer, about nine bytes each (default 50)
  --postgres <url>  an empty database; without it SQLite alone is measured
  --only <kind>     sqlite or postgres alone
  --dist <dist>     build to measure (default ./dist)`;

const { options, dist } = readOptions(HELP, {
  turns: { type: 'string', default: '500' },
  tokens: { type: 'string', default: '50' },
  postgres: { type: 'string' },
  only: { type: 'string' },
});
const { readEnv } = await import(`${dist}/env.js`);
const { createServices } = await import(`${dist}/services.js`);
const { buildApp } = await import(`${dist}/app.js`);
const [turns, tokens] = [Number(options.turns), Number(options.tokens)];
const graphFile = fileURLToPath(new URL('graph.mjs', import.meta.url));
const THREAD = 'long';
let said = 0;

const sizes = [];
const cuts = [];
const kinds = options.postgres === undefined ? ['sqlite'] : ['sqlite', 'postgres'];
for (const kind of kinds.filter((one) => options.only === undefined || one === options.only)) {
  for (const keep of ['0', '100']) {
    console.error(`${kind}, ${turns} turns, SERVICE_CHECKPOINT_KEEP=${keep}`);
    const root = mkdtempSync(join(tmpdir(), 'bench-'));
    try {
      await withServer(root, kind, keep, async (app) => {
        const took = [];
        for (let turn = 0; turn < turns; turn++) took.push(await say(app));
        if (keep !== '0') await settled(app);
        const { bytes, checkpoints } = await sizeOf(app);
        const last = ms(median(took.slice(-20)));
        const kept = keep === '0' ? 'all' : keep;
        sizes.push([kind, kept, String(checkpoints), megabytes(bytes), await inUse(app), last]);
      });
      if (keep !== '0') continue;
      // The same thread, when a server with a bound finds it.
      await withServer(root, kind, '100', async (app) => {
        const delay = monitorEventLoopDelay({ resolution: 1 });
        delay.enable();
        const startedAt = performance.now();
        const { checkpoints } = await round(app);
        const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
        delay.disable();
        const { bytes } = await sizeOf(app);
        cuts.push([kind, String(checkpoints), seconds, ms(delay.max / 1e6), megabytes(bytes), await inUse(app)]);
      });
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
  }
}
console.log(
  [
    `Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model}: one thread of ${turns} turns, ${tokens} tokens each.`,
    table(['Memory', 'Kept', 'Checkpoints', 'MB', 'MB in use', 'A turn at the end, ms'], sizes),
    table(['Cut at the start', 'Deleted', 'Seconds', 'Longest hold-up, ms', 'MB after', 'MB in use'], cuts),
  ].join('\n\n'),
);

/** Runs a server on one memory while `work` goes on. */
async function withServer(root, kind, keep, work) {
  const url = kind === 'sqlite' ? 'sqlite:///conversations.db' : options.postgres;
  const config = { name: 'bench', graph_definition: `${graphFile}:graph`, checkpointer: { type: kind, db_url: url } };
  // JSON is YAML.
  writeFileSync(join(root, 'config.yaml'), JSON.stringify({ agent: { type: 'LANGGRAPH', config } }));
  const { env } = readEnv({ SERVICE_CHECKPOINT_KEEP: keep });
  const services = await createServices({ env, log: pino({ level: 'silent' }), root, variables: {} });
  const app = await buildApp(services);
  await services.configurator.boot();
  if (services.configurator.bootError !== undefined) throw new Error(services.configurator.bootError);
  try {
    await work(app);
  } finally {
    if (keep !== '0') await app.inject({ method: 'DELETE', url: `/agent/sessions/${THREAD}` });
    await app.close();
  }
}

/** One turn. @returns what it took, in milliseconds. */
async function say(app) {
  said += 1;
  const messages = [{ id: `u${said}`, role: 'user', content: order({ tokens, delayMs: 0 }) }];
  const payload = { threadId: THREAD, runId: `r${said}`, messages, tools: [], context: [] };
  const startedAt = performance.now();
  const { body } = await app.inject({ method: 'POST', url: '/agent/run', payload });
  if (!body.includes('RUN_FINISHED')) throw new Error(`a turn failed: ${body.slice(-300)}`);
  return performance.now() - startedAt;
}

async function report(app) {
  return (await app.inject('/admin/api/v1/storage')).json();
}

async function sizeOf(app) {
  return (await report(app)).memory;
}

/** Megabytes without what is free: SQLite tells, PostgreSQL is tidied up for it. */
async function inUse(app) {
  const { backend, bytes, reusableBytes } = await sizeOf(app);
  if (backend !== 'postgres') return megabytes(bytes - reusableBytes);
  const { default: pg } = await import('pg');
  const client = new pg.Client({ connectionString: options.postgres });
  await client.connect();
  await client.query('VACUUM FULL');
  await client.end();
  return megabytes((await sizeOf(app)).bytes);
}

/** Waits until the first look at all threads is over. */
async function round(app) {
  for (;;) {
    const { lastRound } = (await report(app)).pruning;
    if (lastRound !== null) return lastRound;
    await sleep(200);
  }
}

/** Waits until pruning after runs has caught up: a thread may be some runs above its bound. */
async function settled(app) {
  for (let last = Number.POSITIVE_INFINITY; ; ) {
    const { checkpoints } = await sizeOf(app);
    if (checkpoints === last) return;
    last = checkpoints;
    await sleep(1_500);
  }
}

function megabytes(bytes) {
  return (bytes / 1_000_000).toFixed(1);
}

function ms(value) {
  return value.toFixed(1);
}
