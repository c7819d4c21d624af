import { mkdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { databaseFault, Fault, listenFault } from '../../src/cli/fault.ts';
import { chooseSource } from '../../src/cli/source.ts';
import { readEnv } from '../../src/env.ts';
import { ECHO } from '../support/agents.ts';
import { tempFolder } from '../support/app.ts';
import { command } from './command.ts';

/** Mistakes at the command line: what is called, in which folder, and what the caller is told. */
const MISTAKES: {
  what: string;
  args: string[];
  files?: Record<string, string>;
  folders?: string[];
  env?: Record<string, string>;
  says: RegExp;
}[] = [
  { what: 'an unknown command', args: ['srve'], says: /unknown command 'srve'\n\(Did you mean serve\?\)/ },
  {
    what: 'an unknown option',
    args: ['serve', '--prot', '1'],
    says: /unknown option '--prot'\n\(Did you mean --port\?\)/,
  },
  {
    what: 'a port out of range',
    args: ['serve', '-p', '99999'],
    says: /'99999' is invalid.*whole number from 0 to 65535/,
  },
  {
    what: 'a bad setting',
    args: ['serve'],
    env: { SERVICE_PORT: 'http' },
    says: /^SERVICE_PORT is "http" but must be/,
  },
  {
    what: 'a missing configuration file',
    args: ['serve', '-c', 'nowhere.yaml'],
    says: /^The configuration file nowhere\.yaml does not exist\.\n.*agent-engine init/,
  },
  {
    what: 'an engine without a configuration',
    args: ['agent', 'serve'],
    says: /^The configuration file \.\/config\.yaml does not exist\.\n.*--path/,
  },
  { what: 'an unreadable .env', args: ['serve'], folders: ['.env'], says: /\.env cannot be read/ },
  {
    what: 'a damaged database',
    args: ['serve', 'agent.ts'],
    files: { 'agent.ts': ECHO, 'broken.db': 'this is no database, '.repeat(100) },
    env: { DATABASE_URL: 'sqlite:///./broken.db' },
    says: /broken\.db is damaged, or is no SQLite file\.\n.*DATABASE_URL/,
  },
  {
    what: 'a database in a folder that is a file',
    args: ['setup'],
    files: { data: '' },
    says: /data\/service\.db cannot be opened or written\.\n.*DATABASE_URL/,
  },
  {
    what: 'an open address',
    args: ['serve', '--host', '0.0.0.0'],
    says: /^SERVICE_HOST "0\.0\.0\.0" would let other machines.*SERVICE_ALLOW_OPEN_ADMIN=true/,
  },
];

test.each(MISTAKES)('$what is answered in plain words', async ({ args, files, folders, env, says }) => {
  const cwd = tempFolder(files);
  for (const folder of folders ?? []) mkdirSync(join(cwd, folder));
  const { code, stdout, stderr } = await command(args, { cwd, ...(env !== undefined && { env }) });
  expect(code).toBe(1);
  expect(stdout).toBe('');
  expect(stderr.trimEnd()).toMatch(says);
  expect(stderr).not.toMatch(/^ +at /m);
});

test.each([
  ['an agent file as configuration file', { config: 'agent.ts' }, 'agent-engine serve agent.ts'],
  ['a configuration file as agent', { agent: 'my.yaml' }, 'agent-engine serve --config my.yaml'],
  ['an agent and a configuration file', { agent: 'agent.ts', config: 'my.yaml' }, 'either an agent file or --config'],
  [
    'a manager without its address',
    { engineOnly: { source: 'manager' } },
    'SERVICE_MANAGER_HOST and SERVICE_AGENT_API_KEY',
  ],
  ['a manager and a file', { engineOnly: { source: 'manager', path: 'my.yaml' } }, '--path belongs to --source file'],
] as const)('%s is answered with what to do', (_what, options, says) => {
  expect(() => chooseSource(options, readEnv({}).env, {}, '/project')).toThrow(says);
});

test('a second server on the same port ends with one line', async () => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void taken.close());
  const { port } = taken.address() as { port: number };
  const cwd = tempFolder({ 'agent.ts': ECHO });
  const { code, stderr } = await command(['serve', 'agent.ts', '--port', String(port)], { cwd });
  expect(code).toBe(1);
  expect(stderr).toMatch(new RegExp(`^Port ${port} on 127\\.0\\.0\\.1 is in use by another program\\..*--port.*\\n$`));
});

test.each(['EACCES', 'EADDRNOTAVAIL', 'ENOTFOUND'])('a listening failure with %s is explained', (code) => {
  const fault = listenFault(Object.assign(new Error('listen'), { code }), 'example.invalid', 80);
  expect(fault).toBeInstanceOf(Fault);
  expect((fault as Fault).lines).toHaveLength(1);
});

test.each(['SQLITE_READONLY', 'SQLITE_BUSY', 'SQLITE_FULL', 'EACCES', 'EROFS'])(
  'a database failure with %s is explained',
  (code) => {
    const fault = databaseFault(Object.assign(new Error('open'), { code }), '/data/service.db');
    expect(fault).toBeInstanceOf(Fault);
    expect((fault as Fault).lines.join('\n')).toContain('DATABASE_URL');
  },
);

test('a failure that is none of these stays as it is', () => {
  const bug = new TypeError('x is not a function');
  expect(databaseFault(bug, '/data/service.db')).toBe(bug);
  expect(listenFault(bug, '127.0.0.1', 80)).toBe(bug);
});
