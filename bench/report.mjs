import { arch, cpus } from 'node:os';
import { judge } from './goals.mjs';

const number = (value) => (value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2));
const spread = ({ median, min, max }) => `${median.toFixed(2)}× (${min.toFixed(2)}–${max.toFixed(2)})`;

/** The results as markdown, which reads well in a terminal too. */
export function report(results, { rounds, quick }) {
  const { boot, ...scenarios } = results;
  const parts = [`Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model ?? arch()}, ${rounds} rounds.`];
  if (quick) parts.push('A quick look: few runs, so not very sure.');
  const driven = Object.values(scenarios);
  if (driven.length > 0) parts.push(ratioTable(driven), absoluteTable(driven));
  if (boot !== undefined) parts.push(bootTable(Object.values(boot)));
  parts.push(goalTable(judge(results)));
  return parts.join('\n\n');
}

function ratioTable(driven) {
  const rows = driven.flatMap(({ scenario, pairs }) =>
    pairs.map(({ label, against, ratio }, index) => [
      index === 0 ? scenario.title : '',
      `${label} : ${against}`,
      spread(ratio.runsPerSecond),
      spread(ratio.cpuMsPerRun),
      spread(ratio.end),
    ]),
  );
  return table(['Scenario', 'Ratio', 'runs/s', 'CPU per run', 'median end'], rows);
}

function absoluteTable(driven) {
  const rows = driven.flatMap(({ scenario, contenders }) =>
    contenders.map(({ label, values: v }, index) => [
      index === 0 ? scenario.title : '',
      label,
      number(v.runsPerSecond),
      number(v.cpuMsPerRun),
      `${number(v.firstEvent)} / ${number(v.firstEvent99)}`,
      number(v.firstToken),
      `${number(v.end)} / ${number(v.end99)}`,
    ]),
  );
  const heads = [
    'Scenario',
    'Server',
    'runs/s',
    'CPU ms/run',
    'first event p50/p99 ms',
    'first token ms',
    'end p50/p99 ms',
  ];
  return table(heads, rows);
}

function bootTable(kinds) {
  const rows = kinds.map(({ label, bootMs, rssMb }) => [label, number(bootMs), number(rssMb)]);
  const rest = `memory after ${kinds[0].idleSeconds} s of rest, MB`;
  return table(['Server', 'start to first healthy answer, ms', rest], rows);
}

function goalTable(goals) {
  const rows = goals.map(({ text, goal, measured, met }) => [text, goal, number(measured), met ? 'met' : '**missed**']);
  return table(['Goal', '', 'Measured', ''], rows);
}

/** A Markdown table of texts, its columns padded. */
export function table(heads, rows) {
  const widths = heads.map((head, column) => Math.max(3, head.length, ...rows.map((row) => row[column].length)));
  const line = (cells) => `| ${cells.map((cell, column) => cell.padEnd(widths[column])).join(' | ')} |`;
  return [line(heads), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}
