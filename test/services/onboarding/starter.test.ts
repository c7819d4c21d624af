import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { Problem } from '../../../src/problems.ts';
import { scanProject } from '../../../src/services/onboarding/scan.ts';
import { planStarter, writePlan, writeStarter } from '../../../src/services/onboarding/starter.ts';
import { createTestApp, tempFolder } from '../../support/app.ts';
import { runEvents, runInput, textOf } from '../../support/runs.ts';

const FILES = ['.env.example', '.gitignore', 'README.md', 'agent.ts', 'package.json'];

/** What a folder holds: file to text. */
function contents(root: string): Record<string, string> {
  return Object.fromEntries(readdirSync(root).map((name) => [name, readFileSync(join(root, name), 'utf8')]));
}

async function rejection(promise: Promise<unknown>): Promise<Problem> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(Problem);
  return error as Problem;
}

test('a starter is five files, of an agent that answers', async () => {
  const root = tempFolder();
  const written = await writeStarter(root, 'LANGGRAPH', 'My Desk');
  expect(readdirSync(root).sort()).toEqual(FILES);
  expect([...written.files].sort()).toEqual(FILES);
  expect(written.definition).toBe('agent.ts:graph');

  onTestFinished(() => void vi.unstubAllEnvs());
  vi.stubEnv('AGENT_MODEL', 'offline');
  const { app } = await createTestApp({ root, agent: written.definition });
  const input = runInput('hello');
  expect(textOf(await runEvents(app, input))).toMatch(/^You said: "hello" \(message 1 of this conversation\)/);
});

test('a starter speaks of itself by its name and of no file it lacks', async () => {
  const { files } = await planStarter('LANGGRAPH', 'My Desk $& {{port}}\n# Other', 8123);
  expect(files['README.md']).toMatch(/^# My Desk \$& \{\{port\}\} # Other\n/);
  expect(files['README.md']).toContain('http://127.0.0.1:8123/agent/run');
  expect(JSON.parse(files['package.json'] ?? '')).toMatchObject({ name: 'my-desk-port-other', private: true });
  for (const text of Object.values(files)) expect(text).not.toMatch(/\{\{(?!port)/);
  expect(files['README.md']).not.toContain('config.yaml');
  expect(files['README.md']).toContain('| `agent.ts` |');
  expect(files['agent.ts']).not.toContain('config.yaml');
  expect(files['.gitignore']).toContain('.env');
});

test.each([
  ['Starter Agent', 'starter-agent'],
  ['日本', 'my-agent'],
  ['../../etc', 'etc'],
  ['x'.repeat(80), 'x'.repeat(80)],
])('the package of a starter called %s is %s', async (name, id) => {
  const { files } = await planStarter('LANGGRAPH', name);
  expect(JSON.parse(files['package.json'] ?? '')).toMatchObject({ name: id });
});

test('the scan finds the starter', async () => {
  const root = tempFolder();
  await writeStarter(root, 'LANGGRAPH', 'My Desk');
  const { detected } = await scanProject(root, { milliseconds: 20_000, parseMilliseconds: 10_000 });
  expect(detected).toMatchObject([{ filePath: 'agent.ts', variableName: 'graph', inferredName: 'My Desk' }]);
});

test.each(FILES)('a %s that is there is named and left alone, and nothing is written', async (name) => {
  const root = tempFolder({ [name]: 'mine', 'other.txt': 'mine' });
  const error = await rejection(writeStarter(root, 'LANGGRAPH'));
  expect(error).toMatchObject({ code: 'conflict', status: 409 });
  expect(error.message).toContain(name);
  expect(contents(root)).toEqual({ [name]: 'mine', 'other.txt': 'mine' });
});

test('all that is in the way is named: files, folders, links into nothing', async () => {
  const root = tempFolder({ 'package.json': '{}' });
  mkdirSync(join(root, 'README.md'));
  symlinkSync(join(root, 'nowhere'), join(root, 'agent.ts'));
  const error = await rejection(writeStarter(root, 'LANGGRAPH'));
  for (const name of ['package.json', 'README.md', 'agent.ts']) expect(error.message).toContain(name);
  expect(error.message).not.toContain('.gitignore');
  expect(error.message).not.toContain(root);
  expect(readdirSync(root).sort()).toEqual(['README.md', 'agent.ts', 'package.json']);
});

test('of many at once one writes', async () => {
  const root = tempFolder();
  const results = await Promise.allSettled(
    Array.from({ length: 20 }, (_, index) => writeStarter(root, 'LANGGRAPH', `Number ${index}`)),
  );
  const winners = results.flatMap((result, index) => (result.status === 'fulfilled' ? [index] : []));
  expect(winners).toHaveLength(1);
  for (const result of results) {
    if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'conflict' });
  }
  const { files } = await planStarter('LANGGRAPH', `Number ${winners[0]}`);
  expect(contents(root)).toEqual(files);
});

test('remove takes the files back, and leaves what was edited, replaced or not written by it', async () => {
  const root = tempFolder({ 'other.txt': 'mine' });
  const first = await writeStarter(root, 'LANGGRAPH');
  expect(await first.remove()).toEqual([]);
  expect(readdirSync(root)).toEqual(['other.txt']);
  expect(await first.remove()).toEqual([]);

  const second = await writeStarter(root, 'LANGGRAPH');
  const target = join(tempFolder({ 'target.txt': readFileSync(join(root, 'package.json'), 'utf8') }), 'target.txt');
  writeFileSync(join(root, 'agent.ts'), 'edited');
  writeFileSync(join(root, '.gitignore'), '');
  rmSync(join(root, 'README.md'));
  rmSync(join(root, 'package.json'));
  symlinkSync(target, join(root, 'package.json'));
  expect((await second.remove()).sort()).toEqual(['.gitignore', 'agent.ts', 'package.json']);
  expect(readdirSync(root).sort()).toEqual(['.gitignore', 'agent.ts', 'other.txt', 'package.json']);
  expect(existsSync(target)).toBe(true);
});

test('a failure in the middle takes back what was written, and only that', async () => {
  const root = tempFolder({ 'other.txt': 'mine' });
  const plan = await planStarter('LANGGRAPH');
  const files = { ...plan.files, 'no/such/folder.txt': 'text', 'last.txt': 'text' };
  await expect(writePlan(root, { ...plan, files })).rejects.toThrow(/ENOENT/);
  expect(contents(root)).toEqual({ 'other.txt': 'mine' });
});

test('a name that is taken while the files are written is a conflict, and what was written goes', async () => {
  const root = tempFolder();
  const plan = await planStarter('LANGGRAPH');
  // The second name is the first one, so it is taken only once writing has begun.
  const files = { 'agent.ts': 'one', './agent.ts': 'two' };
  expect(await rejection(writePlan(root, { ...plan, files }))).toMatchObject({ code: 'conflict' });
  expect(readdirSync(root)).toEqual([]);
});

test.skipIf(process.getuid?.() === 0)('a folder that cannot be written stays as it is', async () => {
  const root = tempFolder();
  chmodSync(root, 0o500);
  await expect(writeStarter(root, 'LANGGRAPH')).rejects.toThrow(/EACCES/);
  chmodSync(root, 0o700);
  expect(readdirSync(root)).toEqual([]);
});

test('a starter for a framework that cannot run is refused, with its place', async () => {
  const root = tempFolder();
  const error = await rejection(writeStarter(root, 'ADK', 'Demo'));
  expect(error).toMatchObject({ code: 'validation_failed', details: [{ loc: ['body', 'framework'] }] });
  expect(error.message).toContain('ADK is not supported by this version');
  expect(readdirSync(root)).toEqual([]);
});
