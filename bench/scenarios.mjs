/**
 * What is driven. `runs` is one batch of one contender; each round drives one batch per contender.
 *
 * `spread` lets the streams begin one after another over the length of one, as users do; without it all of them begin
 * at once, which also measures how quickly many runs get under way.
 *
 * @typedef {{ name: string, title: string, concurrency: number, runs: number, tokens: number, delayMs: number,
 *   spread?: boolean }} Scenario
 */

const STREAM = { concurrency: 32, runs: 96, tokens: 100, delayMs: 5 };

/** @type {Scenario[]} */
export const SCENARIOS = [
  { name: 'c1', title: '1 run at a time, 200 tokens', concurrency: 1, runs: 80, tokens: 200, delayMs: 0 },
  { name: 'c16', title: '16 at a time, 200 tokens', concurrency: 16, runs: 240, tokens: 200, delayMs: 0 },
  { name: 'c128', title: '128 at a time, 200 tokens', concurrency: 128, runs: 384, tokens: 200, delayMs: 0 },
  { name: 'paced128', title: '128 at a time, 100 tokens at 5 ms', ...STREAM, concurrency: 128, runs: 256 },
  { name: 'stream32', title: '32 streams of 500 ms, begun in turn', ...STREAM, spread: true },
  { name: 'burst32', title: '32 streams of 500 ms, begun at once', ...STREAM },
];

/** Driven before anything is measured: code that has run a few times only is half as fast as it will be. */
export const WARM_UP = { name: 'warm-up', title: 'warming up', concurrency: 16, runs: 640, tokens: 200, delayMs: 0 };

/** The same with fewer runs, for a quick look. */
export function quick(scenario) {
  return { ...scenario, runs: Math.max(scenario.concurrency, Math.round(scenario.runs / 3)) };
}
