/**
 * `npm run bench`: the same graph behind three servers, interleaved (docs/performance.md).
 *
 * @module
 */
import { resolve } from 'node:path';
import { measureBoot } from './boot.mjs';
import { startContender } from './contender.mjs';
import { drive } from './load.mjs';
import { measure } from './measure.mjs';
import { buildAt, readOptions } from './options.mjs';
import { report } from './report.mjs';
import { saveReport } from './save.mjs';
import { quick, SCENARIOS, WARM_UP } from './scenarios.mjs';

const HELP = `Usage: npm run bench -- [options]

  --quick              fewer and shorter rounds: three quarters of a minute
  --only <name>        only this: ${SCENARIOS.map(({ name }) => name).join(', ')}, boot (may be repeated)
  --rounds <n>         rounds that count (default 5)
  --markdown           print nothing but the tables
  --save               also write the tables into docs/performance.md, in the place of this Node version
  --compare <dist>     drive another build of ours beside this one
  --dist <dist>        build to measure (default ./dist)
  --cpu-prof <folder>  write a CPU profile of ours there (all scenarios together: use --only)`;

const { options, dist } = readOptions(HELP, {
  quick: { type: 'boolean', default: false },
  only: { type: 'string', multiple: true, default: [] },
  rounds: { type: 'string' },
  markdown: { type: 'boolean', default: false },
  save: { type: 'boolean', default: false },
  compare: { type: 'string' },
  'cpu-prof': { type: 'string' },
});
const unknown = options.only.find((name) => name !== 'boot' && SCENARIOS.every((scenario) => scenario.name !== name));
if (unknown !== undefined) {
  console.error(`There is no scenario ${unknown}.\n\n${HELP}`);
  process.exit(1);
}
const rounds = Number(options.rounds ?? (options.quick ? 2 : 5));
const wanted = (name) => options.only.length === 0 || options.only.includes(name);
const say = (text) => options.markdown || console.error(text);

const results = {};
const scenarios = SCENARIOS.filter(({ name }) => wanted(name)).map(options.quick ? quick : (scenario) => scenario);
if (scenarios.length > 0) await driveAll(scenarios);
if (wanted('boot')) {
  say('boot');
  const kinds = await measureBoot({ dist, times: options.quick ? 3 : 7, idleSeconds: options.quick ? 2 : 40 });
  results.boot = Object.fromEntries(kinds.map((kind) => [kind.label, kind]));
}
const text = report(results, { rounds, quick: options.quick });
console.log(text);
if (options.save) saveReport(text);

async function driveAll(scenarios) {
  const profile = options['cpu-prof'];
  const contenders = [
    await startContender('bare', { label: 'bare handler', dist }),
    await startContender('graph-stream', { label: 'graph.stream', dist }),
    await startContender('ours', {
      dist,
      execArgv: profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${resolve(profile)}`],
    }),
  ];
  if (options.compare !== undefined) {
    contenders.push(await startContender('ours', { label: 'other build', dist: buildAt(options.compare) }));
  }
  try {
    say(WARM_UP.title);
    for (const contender of contenders) await drive(contender, options.quick ? quick(WARM_UP) : WARM_UP);
    for (const scenario of scenarios) {
      say(scenario.title);
      results[scenario.name] = await measure(scenario, contenders, rounds);
    }
  } finally {
    await Promise.all(contenders.map((contender) => contender.stop()));
  }
}
