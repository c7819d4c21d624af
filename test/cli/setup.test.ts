import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ECHO } from '../support/agents.ts';
import { tempFolder } from '../support/app.ts';
import { SQLITE_CONFIG } from './agents.ts';
import { command } from './command.ts';

test('setup makes the database, checks the configuration, and can be run again', async () => {
  const cwd = tempFolder({ 'agent.ts': ECHO, 'my.yaml': SQLITE_CONFIG });
  const first = await command(['setup', '--config', 'my.yaml'], { cwd });
  expect(first).toEqual({
    code: 0,
    stdout:
      'Database data/service.db: made.\n' +
      'Configuration my.yaml: good. It serves the agent "keeper" from ./agent.ts:graph.\n',
    stderr: '',
  });
  expect(existsSync(join(cwd, 'data/service.db'))).toBe(true);
  expect((await command(['setup', '-c', 'my.yaml'], { cwd })).stdout).toContain(
    'Database data/service.db: up to date.',
  );
});

test('setup without a configuration says how to get one', async () => {
  const { code, stdout } = await command(['setup'], { cwd: tempFolder() });
  expect(code).toBe(0);
  expect(stdout).toMatch(/Configuration config\.yaml: there is none.*agent-engine init/);
});

test.each([
  [
    'a fault in it',
    'agent: { type: LANGGRAPH, config: { name: x } }',
    /my\.yaml cannot be used: line 1, agent\.config/,
  ],
  ['a variable that is not set', `agent: "\${NOT_SET}"`, /the variable NOT_SET is not set/],
  ['an agent that is not there', SQLITE_CONFIG, /the agent's file \.\/agent\.ts:graph does not exist/],
])('setup of a configuration with %s says so and fails', async (_what, config, says) => {
  const { code, stderr } = await command(['setup', '-c', 'my.yaml'], { cwd: tempFolder({ 'my.yaml': config }) });
  expect(code).toBe(1);
  expect(stderr).toMatch(says);
  expect(stderr.trimEnd().split('\n')).toHaveLength(1);
});
