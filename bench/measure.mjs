import { drive } from './load.mjs';
import { median } from './stats.mjs';

const MEASURES = ['runsPerSecond', 'cpuMsPerRun', 'firstEvent', 'firstEvent99', 'firstToken', 'end', 'end99'];

/**
 * Drives a scenario in rounds, each contender once in every round, so that whatever else the machine does meets all of
 * them alike. A first round warms up for the scenario and is thrown away.
 *
 * @returns the median of the rounds for each contender, and how ours compares to each of the others.
 */
export async function measure(scenario, contenders, rounds) {
  const batches = new Map(contenders.map((contender) => [contender, []]));
  for (let round = 0; round <= rounds; round++) {
    for (const contender of contenders) {
      const batch = await drive(contender, scenario);
      if (round > 0) batches.get(contender).push(batch);
    }
  }
  const ours = contenders.find(({ label }) => label === 'ours');
  const summary = [...batches].map(([{ label }, list]) => ({ label, values: summarise(list) }));
  const pairs = contenders
    .filter((contender) => contender !== ours)
    .map((other) => ({ label: 'ours', against: other.label, ratio: compare(batches.get(ours), batches.get(other)) }));
  return {
    scenario,
    contenders: summary,
    pairs,
    ours: summary.find(({ label }) => label === 'ours').values,
    ratio: pairs.find(({ against }) => against === 'graph.stream').ratio,
  };
}

function summarise(batches) {
  return Object.fromEntries(MEASURES.map((name) => [name, median(batches.map((batch) => batch[name]))]));
}

/** Ratios within a round, where both had the same machine; then their middle and their extremes. */
function compare(ours, theirs) {
  return Object.fromEntries(
    MEASURES.map((name) => {
      const ratios = ours.map((batch, round) => batch[name] / theirs[round][name]);
      return [name, { median: median(ratios), min: Math.min(...ratios), max: Math.max(...ratios) }];
    }),
  );
}
