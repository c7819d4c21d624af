/**
 * What we hold ourselves to (docs/performance.md). `value` reads it out of the results, in which a scenario that has
 * not been driven is missing.
 */
const GOALS = [
  { text: 'runs/s against graph.stream at 16', atLeast: 1.3, value: ({ c16 }) => c16?.ratio.runsPerSecond.median },
  { text: 'runs/s against graph.stream at 128', atLeast: 1.3, value: ({ c128 }) => c128?.ratio.runsPerSecond.median },
  { text: 'CPU per run against graph.stream at 16', atMost: 0.8, value: ({ c16 }) => c16?.ratio.cpuMsPerRun.median },
  { text: 'CPU per run against graph.stream at 128', atMost: 0.8, value: ({ c128 }) => c128?.ratio.cpuMsPerRun.median },
  { text: 'first event at one run, median ms', atMost: 1, value: ({ c1 }) => c1?.ours.firstEvent },
  { text: '500 ms stream at 32, median end ms', atMost: 510, value: ({ stream32 }) => stream32?.ours.end },
  { text: '500 ms stream at 32, p99 end ms', atMost: 560, value: ({ stream32 }) => stream32?.ours.end99 },
  { text: 'boot to first healthy answer, ms', atMost: 500, value: ({ boot }) => boot?.ours.bootMs },
  { text: 'idle memory, MB', atMost: 120, value: ({ boot }) => boot?.ours.rssMb },
];

/** The goals that have been measured, and whether they are met. */
export function judge(results) {
  return GOALS.flatMap(({ text, atLeast, atMost, value }) => {
    const measured = value(results);
    if (measured === undefined) return [];
    const met = atLeast === undefined ? measured <= atMost : measured >= atLeast;
    return [{ text, goal: atLeast === undefined ? `≤ ${atMost}` : `≥ ${atLeast}`, measured, met }];
  });
}
