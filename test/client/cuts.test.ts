import type { BaseEvent } from '@ag-ui/client';
import { expect, test } from 'vitest';
import type { ResumableHttpAgent } from '../../src/client.ts';
import { stage } from '../support/client.ts';
import { type Cut, createCuttingProxy } from '../support/cutting-proxy.ts';
import { EVERYTHING, HUNDRED, TALKER } from './agents.ts';
import { type Held, held, renamed, resumable, watchTexts } from './support.ts';

const QUESTION = { id: 'u1', role: 'user', content: 'Which train?' } as const;

/** What a client has to have in the end. */
const outcome = ({ messages, state }: Held): unknown => renamed({ messages, state });

/** Events with neighbouring pieces of one text put together, since a log may do so. */
function folded(events: readonly BaseEvent[]): unknown {
  const all: BaseEvent[] = [];
  for (const event of events) {
    const last = all.at(-1);
    const same =
      last?.type === event.type && last.messageId === event.messageId && last.toolCallId === event.toolCallId;
    if (same && typeof event.delta === 'string') all[all.length - 1] = { ...last, delta: last.delta + event.delta };
    else all.push(event);
  }
  return renamed(all.map(({ threadId, runId, timestamp, ...event }) => event));
}

/** Asks as often as there are turns, the last time within `last`. */
async function converse(
  agent: ResumableHttpAgent,
  turns: number,
  last: (run: () => Promise<Held>) => Promise<Held>,
): Promise<Held> {
  for (let turn = 1; turn < turns; turn += 1) {
    agent.addMessage({ ...QUESTION, id: `q${turn}` });
    await agent.runAgent();
  }
  agent.addMessage(QUESTION);
  return last(() => held(agent));
}

/** A conversation without cuts, and for each frame of its last run how many bytes it has. */
async function uncut(base: string, turns: number): Promise<{ reference: Held; sizes: number[] }> {
  let body = Promise.resolve('');
  const agent = resumable(`${base}/agent/run`, {
    fetch: async (url, init) => {
      const response = await fetch(url, init);
      body = response.clone().text();
      return response;
    },
  });
  const reference = await converse(agent, turns, (run) => run());
  const sizes = (await body)
    .split('\n\n')
    .slice(0, -1)
    .map((frame) => Buffer.byteLength(frame) + 2);
  return { reference, sizes };
}

const SMALL_LOG = { SERVICE_RUN_LOG_MAX_BYTES: '1024' };

test.each([
  ['in the log', 1, {}, 1],
  ['gone from the log', 1, SMALL_LOG, 40],
  ['gone from the log, on a thread with a past', 2, SMALL_LOG, 40],
] as const)('a run cut anywhere ends as if uncut, with the rest %s', { timeout: 120_000 }, async (...row) => {
  const [, turns, env, delay] = row;
  const { base } = await stage(EVERYTHING, { env });
  const { reference, sizes } = await uncut(base, turns);
  const turn = ['user', 'reasoning', 'assistant', 'tool', 'tool', 'reasoning', 'assistant'];
  expect(reference.messages.map(({ role }) => role)).toEqual(Array(turns).fill(turn).flat());
  expect(reference.state).toMatchObject({ found: { tools: 2 * turns } });
  expect(sizes.length).toBeGreaterThan(30);

  const answers = { whole: 0, anew: 0, anewInTheMiddle: 0 };
  const check = async (cut: Cut): Promise<void> => {
    const proxy = await createCuttingProxy(base, ({ index }) => (index === turns - 1 ? cut : undefined));
    const rejoined: Promise<string>[] = [];
    const agent = resumable(`${proxy.base}/agent/run`, {
      reconnect: { initialDelayMs: delay, maxDelayMs: 100 },
      fetch: async (url, init) => {
        const response = await fetch(url, init);
        if (proxy.requests.length > turns) rejoined.push(response.clone().text());
        return response;
      },
    });
    let expectPrefixes = (_: Held): void => undefined;
    const result = await converse(agent, turns, (run) => {
      expectPrefixes = watchTexts(agent);
      return run();
    });
    const where = `cut after ${cut.frames} frames and ${cut.bytes} bytes`;
    expect(proxy.cuts, where).toBe(1);
    expect(outcome(result), where).toEqual(outcome(reference));
    expectPrefixes(result);
    const [answer = ''] = await Promise.all(rejoined);
    if (!answer.startsWith('data: {"type":"RUN_STARTED"')) {
      answers.whole += 1;
      expect(folded(result.events), where).toEqual(folded(reference.events));
    } else if (answer.includes('_START"')) answers.anewInTheMiddle += 1;
    else answers.anew += 1;
  };
  const cuts = sizes.flatMap((size, frames): Cut[] => [
    { frames, bytes: 0 },
    { frames, bytes: Math.floor(size / 2) },
    { frames, bytes: size - 1 },
  ]);
  for (let at = 0; at < cuts.length; at += 8) await Promise.all(cuts.slice(at, at + 8).map(check));
  if (delay > 1) expect(answers.anew + answers.anewInTheMiddle).toBeGreaterThan(10);
  else expect(answers.whole).toBe(cuts.length);
});

/** Random numbers that are the same each time. */
function randomly(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

test('200 clients, each cut three times anywhere, lose nothing', { timeout: 120_000 }, async () => {
  const { base } = await stage(TALKER, { env: { SERVICE_LOG_LEVEL: 'warn' } });
  const random = randomly(42);
  const planned = new Map<string, Cut[]>();
  for (let client = 0; client < 200; client += 1) {
    // What is left after a cut may come in few frames, but it has more bytes than this.
    planned.set(String(client), [
      { frames: random(80), bytes: random(40) },
      { bytes: random(300) },
      { bytes: random(300) },
    ]);
  }
  const proxy = await createCuttingProxy(base, ({ headers }) => planned.get(String(headers['x-client']))?.shift());
  const texts = await Promise.all(
    [...planned.keys()].map(async (client) => {
      const agent = resumable(`${proxy.base}/agent/run`, {
        initialMessages: [QUESTION],
        headers: { 'x-client': client },
      });
      let streamed = '';
      agent.subscribe({
        onTextMessageContentEvent: ({ event }) => {
          streamed += event.delta;
        },
      });
      await agent.runAgent();
      return [streamed, agent.messages.at(-1)?.content];
    }),
  );
  expect(proxy.cuts).toBe(600);
  expect(texts).toEqual(Array(200).fill([HUNDRED, HUNDRED]));
});

test('a run whose answer was lost is posted again and runs once', async () => {
  const { base } = await stage(TALKER);
  const proxy = await createCuttingProxy(base, ({ index }) => (index < 2 ? 'unanswered' : undefined));
  const agent = resumable(`${proxy.base}/agent/run`, { initialMessages: [QUESTION] });
  const { messages } = await held(agent);
  expect(proxy.requests.map(({ method }) => method)).toEqual(['POST', 'POST', 'POST']);
  expect(messages.map(({ content }) => content)).toEqual([QUESTION.content, HUNDRED]);
});

test('an answer that ends properly before its run is no end', async () => {
  const { base } = await stage(TALKER);
  const proxy = await createCuttingProxy(base, ({ index }) => (index < 3 ? { frames: 10, clean: true } : undefined));
  const agent = resumable(`${proxy.base}/agent/run`, { initialMessages: [QUESTION] });
  expect((await held(agent)).messages.at(-1)?.content).toBe(HUNDRED);
  expect(proxy.cuts).toBeGreaterThan(0);
});
