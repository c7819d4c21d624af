import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { SCRIPTED_MODEL } from '../support/agents.ts';
import { tempFolder } from '../support/app.ts';
import { isAlive } from '../support/machine.ts';
import { configWith, EVERYTHING, pidsIn, TOOL_CALLER, TOOLS_PROGRAM, toolsServer } from '../support/mcp.ts';
import { textOf } from '../support/runs.ts';
import { inTime, startServer } from './command.ts';

/** The reference server, which says who it is. */
const REFERENCE = `
import { appendFileSync } from 'node:fs';
appendFileSync('trace', 'start ' + process.pid + '\\n');
await import(${JSON.stringify(EVERYTHING)});
`;

/** One program that ends with its input, one that does not end for anything, and has started another such. */
const files = {
  'agent.ts': TOOL_CALLER,
  'scripted.ts': SCRIPTED_MODEL,
  'tools.mjs': TOOLS_PROGRAM,
  'reference.mjs': REFERENCE,
  'config.yaml': configWith([
    { name: 'every', transport: 'stdio', command: process.execPath, args: ['reference.mjs'] },
    toolsServer('stubborn', { tools: 'pid', mode: 'stubborn' }),
  ]),
};

test.each(['SIGTERM', 'SIGINT', 'SIGKILL'] as const)('%s leaves no program behind', async (signal) => {
  const cwd = tempFolder(files);
  const server = await startServer(['serve'], { cwd });
  await expect.poll(() => pidsIn(cwd), { timeout: 10_000 }).toHaveLength(3);
  expect(textOf(await server.say('echo {"message":"hello"}'))).toBe('done: Echo: hello');
  expect(pidsIn(cwd).every(isAlive)).toBe(true);
  server.signal(signal);
  expect(await inTime(server.exited, () => 'the exit')).toBe(signal === 'SIGKILL' ? null : 0);
  // Nobody but a shell is left to end them when the server was killed.
  await expect.poll(() => pidsIn(cwd).filter(isAlive), { timeout: 10_000 }).toEqual([]);
});

test('a second signal does not leave them behind either', async () => {
  const cwd = tempFolder(files);
  const server = await startServer(['serve'], { cwd });
  await expect.poll(() => pidsIn(cwd), { timeout: 10_000 }).toHaveLength(3);
  server.signal('SIGTERM');
  await server.logged(({ msg }) => msg.startsWith('stopping'));
  server.signal('SIGTERM');
  await inTime(server.exited, () => 'the exit');
  await expect.poll(() => pidsIn(cwd).filter(isAlive), { timeout: 10_000 }).toEqual([]);
});

test('an engine by itself has the tools of its file, and takes new ones', async () => {
  const grown = configWith([toolsServer('garden', { tools: 'grow,repeat' })]);
  const cwd = tempFolder({ ...files, 'config.yaml': grown });
  const server = await startServer(['agent', 'serve', '--source', 'file'], { cwd });
  await server.say('grow');
  await server.logged(({ msg }) => msg.includes('the agent is built anew'));
  await expect.poll(async () => textOf(await server.say('grown {"a":1}')), { timeout: 10_000 }).toBe('done: {"a":1}');
  expect(existsSync(join(cwd, 'trace'))).toBe(true);
});
