import { randomUUID } from 'node:crypto';
import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { percentile } from './stats.mjs';
import { order, wholeText } from './tokens.mjs';

/**
 * Drives a server with `runs` runs, `concurrency` of them at any time, each on a thread of its own.
 *
 * @throws when a stream is not complete to the last token.
 */
export async function drive(contender, scenario) {
  const { concurrency, runs, tokens, delayMs, spread } = scenario;
  const done = [];
  let started = 0;
  const worker = async (_, place) => {
    if (spread === true) await sleep((place * tokens * delayMs) / concurrency);
    while (started < runs) {
      started += 1;
      done.push(await run(contender, scenario));
    }
  };
  const cpuBefore = await contender.cpuMs();
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: concurrency }, worker));
  const seconds = (performance.now() - startedAt) / 1000;
  const cpuMs = (await contender.cpuMs()) - cpuBefore;

  // After the clock has stopped: parsing costs the load generator more than receiving.
  const text = wholeText(tokens);
  for (const { body } of done) check(body, text, contender.label);
  const times = (key) => done.map((entry) => entry[key]);
  return {
    runsPerSecond: runs / seconds,
    cpuMsPerRun: cpuMs / runs,
    firstEvent: percentile(times('firstEvent'), 0.5),
    firstEvent99: percentile(times('firstEvent'), 0.99),
    firstToken: percentile(times('firstToken'), 0.5),
    end: percentile(times('end'), 0.5),
    end99: percentile(times('end'), 0.99),
  };
}

function run({ port, sockets }, scenario) {
  const payload = JSON.stringify({
    threadId: randomUUID(),
    runId: randomUUID(),
    messages: [{ id: randomUUID(), role: 'user', content: order(scenario) }],
    tools: [],
    context: [],
  });
  return new Promise((resolve, reject) => {
    const startedAt = performance.now();
    const since = () => performance.now() - startedAt;
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(payload) };
    const outgoing = request({ port, host: '127.0.0.1', path: '/agent/run', method: 'POST', agent: sockets, headers });
    outgoing.on('error', reject);
    outgoing.on('response', (response) => {
      const chunks = [];
      let firstEvent;
      let firstToken;
      response.on('data', (chunk) => {
        firstEvent ??= since();
        if (firstToken === undefined && chunk.includes('TEXT_MESSAGE_CONTENT')) firstToken = since();
        chunks.push(chunk);
      });
      response.on('error', reject);
      response.on('end', () => resolve({ firstEvent, firstToken, end: since(), body: Buffer.concat(chunks) }));
    });
    outgoing.end(payload);
  });
}

function check(body, text, label) {
  const events = body
    .toString()
    .split('\n\n')
    .slice(0, -1)
    .map((frame) => JSON.parse(frame.slice(frame.indexOf('data: ') + 'data: '.length)));
  const deltas = events.filter(({ type }) => type === 'TEXT_MESSAGE_CONTENT').map(({ delta }) => delta);
  if (events[0]?.type !== 'RUN_STARTED' || events.at(-1)?.type !== 'RUN_FINISHED' || deltas.join('') !== text) {
    throw new Error(`${label} sent a stream that is not complete: ${body.toString().slice(-500)}`);
  }
}
