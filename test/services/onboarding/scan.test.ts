import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { type ScanLimits, scanProject } from '../../../src/services/onboarding/scan.ts';
import { ScanResult, stateOf } from '../../../src/services/onboarding/scan-result.ts';
import { packageFile } from '../../cli/command.ts';
import { tempFolder } from '../../support/app.ts';

const AGENT = `import { StateGraph } from '@langchain/langgraph';\nexport const graph = new StateGraph({}).compile();\n`;
const PYTHON = 'from langgraph.graph import StateGraph\n\ngraph = StateGraph(dict).compile()\n';

/** A folder with these files, and with the folders they are in. */
function project(files: Record<string, string>): string {
  const root = tempFolder();
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

/** Scans, with time enough for a busy machine unless the test says otherwise. */
async function scan(root: string, limits: Partial<ScanLimits> = {}): Promise<ScanResult> {
  const result = await scanProject(root, { milliseconds: 20_000, parseMilliseconds: 10_000, ...limits });
  return ScanResult.parse(result);
}

async function places(root: string, limits?: Partial<ScanLimits>): Promise<string[]> {
  const { detected } = await scan(root, limits);
  return detected.map(({ filePath, variableName }) => `${filePath}:${variableName}`);
}

const config = (type: string, target: string, name = ''): string =>
  `agent:\n  type: ${type}\n  config:\n    name: "${name}"\n    ${type === 'ADK' ? 'agent' : 'graph_definition'}: "${target}"\n`;

test('an empty folder, and one that is not there, hold nothing', async () => {
  const root = tempFolder();
  const nothing = {
    detected: [],
    unsupported: [],
    hasSourceFiles: false,
    hasPythonFiles: false,
    hasServiceConfig: false,
    truncated: false,
  };
  expect(await scan(root)).toMatchObject({ root, ...nothing });
  expect(await scan(join(root, 'gone'))).toMatchObject({ root: join(root, 'gone'), ...nothing });
});

test('a source is found, with where it is and how sure that is', async () => {
  const result = await scan(project({ 'support_desk/agent.ts': AGENT }));
  expect(result.detected).toEqual([
    {
      framework: 'LANGGRAPH',
      filePath: 'support_desk/agent.ts',
      variableName: 'graph',
      inferredName: 'Support Desk',
      confidence: 'MEDIUM',
      source: 'source',
    },
  ]);
  expect(result).toMatchObject({
    hasSourceFiles: true,
    hasPythonFiles: false,
    hasServiceConfig: false,
    truncated: false,
  });
  expect(Number.isInteger(result.scanDurationMs)).toBe(true);
});

test('every kind of source is read, to depth 4, and nothing of what was installed, built or hidden', async () => {
  const found = ['a.ts', 'b.mts', 'c.cts', 'd.js', 'e.mjs', 'test/fixtures/f.ts', '1/2/3/4/g.ts', 'dist.ts'];
  const ignored = ['1/2/3/4/5/h.ts', 'i.tsx', 'j.d.ts', 'k.txt', '.hidden/l.ts'].concat(
    ['node_modules', 'dist', 'build', 'coverage', 'target', 'venv', 'env', '__pycache__'].map(
      (name) => `x/${name}/m.ts`,
    ),
  );
  const root = project(Object.fromEntries([...found, ...ignored].map((path) => [path, AGENT])));
  expect(await places(root)).toEqual(
    ['a.ts', 'b.mts', 'c.cts', 'd.js', 'dist.ts', 'e.mjs', 'test/fixtures/f.ts', '1/2/3/4/g.ts'].map(
      (path) => `${path}:graph`,
    ),
  );
});

test('the built program scans as well', async () => {
  const root = project({ 'agent.ts': AGENT, 'config.yaml': config('LANGGRAPH', 'agent.ts') });
  const built = (await import(packageFile('dist/services/onboarding/scan.js'))) as { scanProject: typeof scanProject };
  const { detected } = await built.scanProject(root, { milliseconds: 20_000, parseMilliseconds: 10_000 });
  expect(detected).toMatchObject([{ filePath: 'agent.ts', variableName: 'graph', confidence: 'HIGH' }]);
});

test('nothing that is found is run', async () => {
  const root = tempFolder();
  const marker = join(root, 'harm.txt');
  writeFileSync(
    join(root, 'agent.ts'),
    `import { writeFileSync } from 'node:fs';\nwriteFileSync(${JSON.stringify(marker)}, 'done');\n${AGENT}`,
  );
  writeFileSync(join(root, 'config.yaml'), config('LANGGRAPH', 'agent.ts'));
  expect(await places(root)).toEqual(['agent.ts:graph']);
  expect(existsSync(marker)).toBe(false);
});

test('symbolic links are not followed: to files, to folders, in circles, out of the folder, into nothing', async () => {
  const outside = project({ 'other.ts': AGENT, 'config.yaml': config('LANGGRAPH', 'other.ts:graph') });
  const root = project({ 'in/agent.ts': AGENT });
  symlinkSync(join(outside, 'other.ts'), join(root, 'file.ts'));
  symlinkSync(outside, join(root, 'folder'));
  symlinkSync(root, join(root, 'in/circle'));
  symlinkSync(join(root, 'in/agent.ts'), join(root, 'again.ts'));
  symlinkSync(join(root, 'nowhere'), join(root, 'broken.ts'));
  symlinkSync(join(outside, 'config.yaml'), join(root, 'config.yaml'));
  const result = await scan(root);
  expect(result.detected.map(({ filePath }) => filePath)).toEqual(['in/agent.ts']);
  expect(result).toMatchObject({ hasServiceConfig: false, truncated: false });
});

test('a configuration does not lead out of the folder or through a link', async () => {
  const outside = project({ 'other.ts': AGENT });
  const root = project({
    'config.yaml': config('LANGGRAPH', `${outside}/other.ts:graph`),
    'a/config.yaml': config('LANGGRAPH', 'link.ts:graph'),
    'b/config.yml': config('LANGGRAPH', 'folder/other.ts:graph'),
  });
  symlinkSync(join(outside, 'other.ts'), join(root, 'link.ts'));
  symlinkSync(outside, join(root, 'folder'));
  const result = await scan(root);
  expect(result.detected).toEqual([]);
  expect(result.unsupported.map(({ filePath }) => filePath)).toEqual([
    expect.stringMatching(/^\.\.\/.*other\.ts$/),
    'link.ts',
    'folder/other.ts',
  ]);
  expect(new Set(result.unsupported.map(({ reason }) => reason)).size).toBe(1);
});

test('a file of 1 MB is read, a larger one is not', async () => {
  const padded = (size: number): string => AGENT.padEnd(size, '// filling\n');
  const root = project({ 'large.ts': padded(1024 * 1024), 'larger.ts': padded(1024 * 1024 + 1) });
  const result = await scan(root);
  expect(result.detected.map(({ filePath }) => filePath)).toEqual(['large.ts']);
  expect(result.truncated).toBe(false);
});

test('broken files are passed over', async () => {
  const root = project({
    'broken.ts': `${AGENT} const = ;`,
    'deep.ts': `${AGENT} const x = ${'['.repeat(200_000)};`,
    'binary.js': '\u0000\ufffd@langchain/langgraph',
    'config.yaml': 'agent: [unclosed',
    'a/config.yaml': 'just a text with the word agent',
    'a/b/config.yml': 'agent: { type: LANGGRAPH, config: { graph_definition: 7 } }',
    'langgraph.json': '{ "graphs": ',
    'package.json': '{',
    'whole.ts': AGENT,
  });
  const result = await scan(root);
  expect(result.detected).toMatchObject([{ filePath: 'whole.ts', inferredName: 'Whole' }]);
  expect(result).toMatchObject({ unsupported: [], hasServiceConfig: false, truncated: false });
});

test('a text that a parser would need hours for costs only its own time', async () => {
  const trap = `${AGENT} export const x = ${'<T>('.repeat(40)}1${')'.repeat(40)};`;
  const root = project({ 'a.ts': AGENT, 'b.ts': trap, 'c.ts': AGENT });
  const result = await scan(root, { parseMilliseconds: 1_000 });
  expect(result.detected.map(({ filePath }) => filePath)).toEqual(['a.ts', 'c.ts']);
  expect(result.truncated).toBe(true);
});

test('the event loop stays free meanwhile', async () => {
  const trap = `${AGENT} export const x = ${'<T>('.repeat(40)}1${')'.repeat(40)};`;
  let turns = 0;
  const timer = setInterval(() => {
    turns += 1;
  }, 10);
  try {
    await scan(project({ 'a.ts': trap }), { parseMilliseconds: 500 });
  } finally {
    clearInterval(timer);
  }
  expect(turns).toBeGreaterThan(10);
});

test('time that is up gives what was found until then', async () => {
  const trap = `${AGENT} export const x = ${'<T>('.repeat(40)}1${')'.repeat(40)};`;
  const root = project({ 'a.ts': trap, 'b.ts': AGENT, 'c.py': '' });
  const result = await scan(root, { milliseconds: 1_000, parseMilliseconds: 10_000 });
  expect(result).toMatchObject({ detected: [], hasSourceFiles: true, hasPythonFiles: true, truncated: true });
  expect(result.scanDurationMs).toBeLessThan(10_000);
  expect(await scan(root, { milliseconds: 0 })).toMatchObject({ detected: [], truncated: true });
});

test('a huge tree is read as far as the bound goes, nearest first', async () => {
  const files: Record<string, string> = { 'agent.ts': AGENT, 'z/z/far.ts': AGENT };
  for (let index = 0; index < 2_500; index += 1) files[`many/${index}.ts`] = '';
  const root = project(files);
  const result = await scan(root);
  expect(result.detected.map(({ filePath }) => filePath)).toEqual(['agent.ts']);
  expect(result.truncated).toBe(true);
  expect(await scan(root, { files: 3_000 })).toMatchObject({ detected: { length: 2 }, truncated: false });
  expect(await scan(root, { files: 3_000, entries: 100 })).toMatchObject({ detected: { length: 1 }, truncated: true });
});

test('no more agents are given back than asked for', async () => {
  const root = project({ 'a.ts': AGENT, 'b.ts': AGENT, 'c.ts': AGENT });
  expect(await scan(root, { agents: 2 })).toMatchObject({
    detected: [{ filePath: 'a.ts' }, { filePath: 'b.ts' }],
    truncated: true,
  });
});

test('a configuration names its agent for certain, and the source does not count twice', async () => {
  const root = project({
    'config.yaml': config('LANGGRAPH', './app/agent.ts:graph', 'desk'),
    'app/agent.ts': `${AGENT} export const other = new StateGraph({});`,
  });
  const result = await scan(root);
  expect(result.hasServiceConfig).toBe(true);
  expect(result.detected).toEqual([
    {
      framework: 'LANGGRAPH',
      filePath: 'app/agent.ts',
      variableName: 'graph',
      inferredName: 'desk',
      confidence: 'HIGH',
      source: 'config',
    },
    expect.objectContaining({ variableName: 'other', inferredName: 'App', confidence: 'MEDIUM', source: 'source' }),
  ]);
});

test.each([
  ['wrapped', { 'config.yaml': `engine_config:\n  ${config('LANGGRAPH', 'a.ts:x').replaceAll('\n', '\n  ')}` }],
  ['in the other spelling', { 'config.yml': 'agent: { type: LANGGRAPH, config: { graphDefinition: "a.ts:x" } }' }],
  ['two folders down', { '1/2/config.yaml': config('LANGGRAPH', 'a.ts:x') }],
  ['as JSON', { 'config.yaml': '{"agent":{"type":"LANGGRAPH","config":{"graph_definition":"a.ts:x"}}}' }],
])('a configuration is read %s', async (_, files) => {
  const result = await scan(project({ ...files, 'a.ts': '' }));
  expect(result).toMatchObject({
    hasServiceConfig: true,
    detected: [{ filePath: 'a.ts', variableName: 'x', confidence: 'HIGH' }],
  });
});

test('paths in a configuration count from the root, else from its own folder', async () => {
  const root = project({
    'one/config.yaml': config('LANGGRAPH', 'agent.ts:a'),
    'one/agent.ts': '',
    'three/config.yaml': config('LANGGRAPH', '../root.ts:c'),
    'two/config.yaml': config('ADK', 'root.ts:b'),
    'two/root.ts': '',
    'root.ts': '',
    '1/2/3/config.yaml': config('LANGGRAPH', 'root.ts:too_deep'),
  });
  expect((await scan(root)).detected).toMatchObject([
    { framework: 'LANGGRAPH', filePath: 'one/agent.ts', variableName: 'a' },
    { framework: 'LANGGRAPH', filePath: 'root.ts', variableName: 'c' },
    { framework: 'ADK', filePath: 'root.ts', variableName: 'b' },
  ]);
});

test('a configuration without the name of an export means the only agent there is', async () => {
  const root = project({ 'config.yaml': config('LANGGRAPH', 'agent.ts'), 'agent.ts': AGENT });
  expect((await scan(root)).detected).toMatchObject([
    { filePath: 'agent.ts', variableName: 'graph', confidence: 'HIGH' },
  ]);
  const none = project({ 'config.yaml': config('LANGGRAPH', 'agent.ts'), 'agent.ts': '' });
  expect(await scan(none)).toMatchObject({
    detected: [],
    unsupported: [{ filePath: 'agent.ts', reason: expect.stringContaining('which export') }],
  });
});

test('langgraph.json names agents by its keys, at the root only', async () => {
  const json = JSON.stringify({
    graphs: { desk: './src/a.ts:graph', 'night desk': { path: 'src/a.ts:other' }, bad: 7, gone: './gone.ts:graph' },
  });
  const root = project({ 'langgraph.json': json, 'below/langgraph.json': json, 'src/a.ts': AGENT });
  const result = await scan(root);
  expect(result.detected).toMatchObject([
    { filePath: 'src/a.ts', variableName: 'graph', inferredName: 'desk', confidence: 'HIGH', source: 'langgraph_json' },
    { filePath: 'src/a.ts', variableName: 'other', inferredName: 'night desk', confidence: 'HIGH' },
  ]);
  expect(result.unsupported).toEqual([{ filePath: 'gone.ts', reason: 'There is no such file.' }]);
  expect(result.hasServiceConfig).toBe(false);
});

test('Python agents are reported, not offered', async () => {
  const root = project({
    'agent.py': PYTHON,
    'adk/agent.py': 'from google.adk.agents import Agent\nroot_agent = Agent(name="a")\n',
    'other.py': 'print("StateGraph(")\n',
    'config.yaml': config('LANGGRAPH', 'bot/main.py:graph'),
    'langgraph.json': JSON.stringify({ graphs: { a: './lost.py:graph' } }),
  });
  const result = await scan(root);
  expect(result).toMatchObject({ detected: [], hasPythonFiles: true, hasSourceFiles: false, hasServiceConfig: true });
  expect(result.unsupported.map(({ filePath }) => filePath)).toEqual([
    'bot/main.py',
    'lost.py',
    'agent.py',
    'adk/agent.py',
  ]);
  expect(result.unsupported[0]?.reason).toContain('Python');
  const many = project(Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`a${index}.py`, PYTHON])));
  expect((await scan(many)).unsupported).toHaveLength(20);
});

test('a configuration that would grow without end is passed over', async () => {
  const lines = Array.from({ length: 30 }, (_, index) =>
    index === 0 ? 'a0: &a0 [agent]' : `a${index}: &a${index} [${`*a${index - 1}, `.repeat(9)}]`,
  );
  const root = project({
    'config.yaml': `${lines.join('\n')}\n${config('LANGGRAPH', 'agent.ts:graph')}`,
    'a/config.yaml': `agent: ${'['.repeat(100_000)}`,
    'agent.ts': AGENT,
  });
  const result = await scan(root, { parseMilliseconds: 3_000 });
  expect(result.detected).toMatchObject([{ confidence: 'MEDIUM', source: 'source' }]);
  expect(result.hasServiceConfig).toBe(false);
});

test.each([
  ['agent.ts', {}, 'My Agent'],
  ['src/agent.ts', {}, 'My Agent'],
  ['src/billing_agent.ts', {}, 'Billing'],
  ['my-bot/src/agent.ts', {}, 'My Bot'],
  ['кот-бот/agent.ts', {}, 'Кот Бот'],
  ['日本/agent.ts', {}, '日本'],
  ['cafe\u0301/agent.ts', {}, 'Café'],
  ['🦊 fox.ts', {}, '🦊 Fox'],
  ['deep/agent.ts', { 'package.json': '{"name":"support-desk"}' }, 'Support Desk'],
  ['agent.ts', { 'package.json': '{"name":"@acme/support_desk"}' }, 'Support Desk'],
  [
    'packages/a/src/agent.ts',
    { 'package.json': '{"name":"whole"}', 'packages/a/package.json': '{"name":"part"}' },
    'Part',
  ],
  ['a/agent.ts', { 'package.json': '{"name":"whole"}', 'a/package.json': '{"type":"module"}' }, 'Whole'],
  ['agent.ts', { 'package.json': 'null' }, 'My Agent'],
])('the agent in %s with %o is called %s', async (path, files, name) => {
  const root = project({ ...files, [path]: AGENT });
  expect((await scan(root)).detected).toMatchObject([{ filePath: path, inferredName: name }]);
});

test('a name is one line and not endless', async () => {
  const root = project({ 'config.yaml': config('LANGGRAPH', 'a.ts:x', `two\\nlines${' x'.repeat(500)}`), 'a.ts': '' });
  const name = (await scan(root)).detected[0]?.inferredName ?? '';
  expect(name).toMatch(/^two lines x/);
  expect(name).toHaveLength(255);
});

test('the state says where onboarding stands', async () => {
  const states: [files: Record<string, string>, state: string][] = [
    [{}, 'EMPTY'],
    [{ 'README.md': '', 'package.json': '{}' }, 'EMPTY'],
    [{ 'index.js': '' }, 'NO_SUPPORTED'],
    [{ 'agent.py': PYTHON }, 'NO_SUPPORTED'],
    [{ 'agent.ts': AGENT }, 'ONE_DETECTED'],
    [{ 'a.ts': AGENT, 'b.ts': AGENT }, 'MANY_DETECTED'],
  ];
  for (const [files, state] of states) {
    const result = await scan(project(files));
    expect(stateOf(result, false)).toBe(state);
    expect(stateOf(result, true)).toBe('ALREADY_CONFIGURED');
  }
});

test('many scans at once give the same', async () => {
  const root = project({ 'a.ts': AGENT, 'b/c.ts': AGENT });
  const results = await Promise.all(Array.from({ length: 5 }, () => places(root)));
  for (const result of results) expect(result).toEqual(['a.ts:graph', 'b/c.ts:graph']);
});
