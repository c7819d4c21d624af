/**
 * `npm run bench:admin`: small admin writes one after another while streams are open.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import { Agent, request } from 'node:http';
import { cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { startContender } from './contender.mjs';
import { readOptions } from './options.mjs';
import { table } from './report.mjs';
import { median, percentile } from './stats.mjs';
import { order, wholeText } from './tokens.mjs';

const HELP = `Usage: npm run bench:admin -- [options]

  --rounds <n>   rounds, each with and without writes (default 3)
  --writes <n>   writes of a round (default 100)
  --streams <n>  open streams (default 100)
  --dist <dist>  build to measure (default ./dist)`;

const DELAY_MS = 20;
/** Nothing counts in the first and the last of a stream, when it begins and ends with all the others. */
const MARGIN_MS = 1_000;
/** Writes before any that count: code that has run a few times only is half as fast as it will be. */
const WARM_UP = 20;

const { options, dist } = readOptions(HELP, {
  rounds: { type: 'string', default: '3' },
  writes: { type: 'string', default: '100' },
  streams: { type: 'string', default: '100' },
});
const [rounds, writes, streams] = [options.rounds, options.writes, options.streams].map(Number);

const server = await startContender('ours', { dist });
// Of its own: a write must not wait for a connection behind a stream.
const admin = new Agent({ keepAlive: true, maxSockets: 1 });
try {
  const made = await write('POST', '/guardrails', {
    name: 'Bench',
    position: 'input',
    guardrail: { config_id: 'ban_list', banned_words: ['forbidden'] },
  });
  const { id } = JSON.parse(made.body).data;
  const change = (n) => write('PATCH', `/guardrails/${id}`, { sortOrder: n });
  for (let n = 0; n < WARM_UP; n++) await change(n);
  // What the writes may take. Without writes the streams are as long.
  const spanMs = Math.max(4_000, writes * 50);
  const quiet = [];
  const busy = [];
  const answers = [];
  await underStreams(MARGIN_MS, () => sleep(MARGIN_MS));
  for (let round = 0; round < rounds; round++) {
    console.error(`round ${round + 1} of ${rounds}`);
    let tookMs = 0;
    busy.push(
      await underStreams(spanMs, async () => {
        const startedAt = performance.now();
        for (let n = 0; n < writes; n++) answers.push((await change(n)).ms);
        tookMs = performance.now() - startedAt;
      }),
    );
    // As long, since the longest of more gaps is longer.
    quiet.push(await underStreams(spanMs, () => sleep(tookMs)));
  }
  print({ answers, quiet, busy });
} finally {
  admin.destroy();
  await server.stop();
}

/**
 * Does something while streams are open.
 *
 * @returns for each stream its longest gap between two tokens in that time, in milliseconds.
 */
async function underStreams(spanMs, work) {
  const tokens = Math.ceil((spanMs + 2 * MARGIN_MS) / DELAY_MS);
  const running = Array.from({ length: streams }, () => open(tokens));
  // Over a connection each, as users have them; what they cost to begin is not what is asked here.
  await Promise.all(running.map(({ begun }) => begun));
  await sleep(MARGIN_MS);
  const from = performance.now();
  await work();
  const to = performance.now();
  const ended = await Promise.all(running.map(({ ended }) => ended));
  if (ended.some((times) => times.at(-1) < to)) throw new Error('the streams ended before the writes: lower --writes');
  return ended.map((times) => longestGap(times, from, to));
}

/** Opens a stream. `ended` gives the arrival times of its tokens, and is rejected when it is not complete. */
function open(tokens) {
  const payload = JSON.stringify({
    threadId: randomUUID(),
    runId: randomUUID(),
    messages: [{ id: randomUUID(), role: 'user', content: order({ tokens, delayMs: DELAY_MS }) }],
    tools: [],
    context: [],
  });
  let start;
  const begun = new Promise((resolve) => {
    start = resolve;
  });
  const ended = new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(payload) };
    const to = { port: server.port, host: '127.0.0.1', path: '/agent/run', method: 'POST', agent: false, headers };
    const outgoing = request(to, (response) => {
      const times = [];
      let text = '';
      let rest = '';
      let last = '';
      response.setEncoding('utf8').on('data', (piece) => {
        const now = performance.now();
        const frames = (rest + piece).split('\n\n');
        rest = frames.pop();
        for (const frame of frames) {
          const event = JSON.parse(frame.slice(frame.indexOf('data: ') + 'data: '.length));
          last = event.type;
          if (event.type !== 'TEXT_MESSAGE_CONTENT') continue;
          text += event.delta;
          times.push(now);
          start();
        }
      });
      response.on('error', reject);
      response.on('end', () => {
        if (last === 'RUN_FINISHED' && text === wholeText(tokens)) resolve(times);
        else reject(new Error(`a stream is not complete: it ends with ${last} after ${times.length} tokens`));
      });
    });
    outgoing.on('error', reject);
    outgoing.end(payload);
  });
  // A stream that fails before its first token has not begun, but nobody is to wait for it.
  return { begun: Promise.race([begun, ended]), ended };
}

/** The longest time without a token that touches the time from `from` to `to`. */
function longestGap(times, from, to) {
  let longest = 0;
  for (let n = 1; n < times.length; n++) {
    if (times[n] >= from && times[n - 1] <= to) longest = Math.max(longest, times[n] - times[n - 1]);
  }
  return longest;
}

/** Sends an admin write. @throws when it is not acknowledged. */
function write(method, path, content) {
  const payload = JSON.stringify(content);
  return new Promise((resolve, reject) => {
    const startedAt = performance.now();
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(payload) };
    const url = { port: server.port, host: '127.0.0.1', path: `/admin/api/v1${path}`, method, agent: admin, headers };
    const outgoing = request(url, async (response) => {
      const body = Buffer.concat(await response.toArray()).toString();
      const ms = performance.now() - startedAt;
      if (response.statusCode < 300) resolve({ ms, body });
      else reject(new Error(`a write was answered with ${response.statusCode}: ${body}`));
    });
    outgoing.on('error', reject);
    outgoing.end(payload);
  });
}

function print({ answers, quiet, busy }) {
  const ms = (value) => value.toFixed(1);
  const longest = (gaps) => gaps.map((round) => Math.max(...round));
  const gapRow = (label, gaps) => [
    label,
    ms(median(gaps.flat())),
    ms(percentile(gaps.flat(), 0.99)),
    longest(gaps).map(ms).join(', '),
  ];
  // The worst there was against what is usual.
  const extra = Math.max(...longest(busy)) - median(longest(quiet));
  const goal = (text, measured) => [text, '< 50', ms(measured), measured < 50 ? 'met' : '**missed**'];
  const parts = [
    `Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model}, ${rounds} rounds: ${streams} streams with a token every ${DELAY_MS} ms, ${writes} writes.`,
    table(
      ['Answer to a write, ms', 'median', 'p99', 'longest'],
      [['', ms(median(answers)), ms(percentile(answers, 0.99)), ms(Math.max(...answers))]],
    ),
    table(
      ['Longest gap of a stream, ms', 'median', 'p99', 'longest of each round'],
      [gapRow('without writes', quiet), gapRow('with writes', busy)],
    ),
    table(
      ['Goal', '', 'Measured', ''],
      [goal('answer to a write, median ms', median(answers)), goal('extra gap, ms', extra)],
    ),
  ];
  console.log(parts.join('\n\n'));
}
