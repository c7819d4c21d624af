import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { type Env, EnvProblem, isLoopback, processVariables, readEnv } from '../src/env.ts';
import { tempFolder } from './support/app.ts';

/** The lines a bad environment is answered with. */
function faults(variables: Record<string, string>): string[] {
  try {
    readEnv(variables);
  } catch (error) {
    if (error instanceof EnvProblem) return error.lines;
    throw error;
  }
  return [];
}

test('every setting has a default that works', () => {
  const { env, warnings } = readEnv({});
  expect(env).toMatchObject({ SERVICE_HOST: '127.0.0.1', SERVICE_CONFIG_PATH: './config.yaml' });
  expect(env.SERVICE_PORT).toBeUndefined();
  expect(warnings).toEqual([]);
});

test.each([
  ['SERVICE_HOST', 'http://127.0.0.1', 'must be an IP address or a host name'],
  ['SERVICE_HOST', '127.0.0.1:8000', 'must be an IP address or a host name'],
  ['SERVICE_PORT', '99999', 'must be a whole number from 0 to 65535'],
  ['SERVICE_PORT', '80.5', 'must be a whole number from 0 to 65535'],
  ['SERVICE_PORT', '-1', 'must be a whole number from 0 to 65535'],
  ['SERVICE_ADMIN_AUTH_MODE', 'ldap', 'must be none, password or sso'],
  ['SERVICE_ALLOW_OPEN_ADMIN', 'maybe', 'must be true or false'],
  ['SERVICE_ALLOWED_HOSTS', 'a.example, https://b.example', 'must be host names such as'],
  ['SERVICE_CORS_ORIGINS', 'https://chat.example/', 'must be origins such as'],
  ['SERVICE_CORS_ORIGINS', '*', 'must be origins such as'],
  ['SERVICE_MANAGER_HOST', 'manager.example', 'must be an http or https URL'],
  ['SERVICE_DRAIN_TIMEOUT_SECONDS', '30s', 'must be a whole number of seconds from 0 to 3600'],
  ['SERVICE_MAX_BODY_BYTES', '10MB', 'must be a whole number of bytes from 1024 to'],
  ['SERVICE_LOG_LEVEL', 'loud', 'must be trace, debug,'],
])('%s=%s is one line with its name, its value, the fault and what to do', (name, value, fault) => {
  const lines = faults({ [name]: value });
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain(`${name} is "${value}" but ${fault}`);
  expect(lines[0]).toMatch(/Correct it, or remove it( to get \S+)?\.$/);
});

test('there is one line for each bad setting, and the default is named', () => {
  expect(faults({ SERVICE_PORT: 'x', SERVICE_RUN_TIMEOUT_SECONDS: 'x' })).toEqual([
    'SERVICE_PORT is "x" but must be a whole number from 0 to 65535. Correct it, or remove it.',
    'SERVICE_RUN_TIMEOUT_SECONDS is "x" but must be a whole number of seconds from 0 to 86400. Correct it, or remove it to get 600.',
  ]);
});

test('no line shows a secret, is broken in two, or goes on for ever', () => {
  const lines = faults({
    SERVICE_RELOAD_TOKEN: 'hunter2',
    DATABASE_URL: 'postgres://me:hunter2@db/x',
    SERVICE_MANAGER_HOST: 'ftp://me:hunter2@manager',
    SERVICE_LOG_LEVEL: `loud\n${'x'.repeat(5000)}`,
  });
  expect(lines).toHaveLength(4);
  for (const line of lines) {
    expect(line).not.toContain('hunter2');
    expect(line).not.toContain('\n');
    expect(line.length).toBeLessThan(300);
  }
});

test.each([
  ['true', true],
  ['TRUE', true],
  ['1', true],
  ['yes', true],
  ['false', false],
  ['0', false],
  ['off', false],
])('%s is %s', (text, value) => {
  expect(readEnv({ SERVICE_ALLOW_OPEN_ADMIN: text }).env.SERVICE_ALLOW_OPEN_ADMIN).toBe(value);
});

test.each<[keyof Env, string, unknown]>([
  ['SERVICE_HOST', '::1', '::1'],
  ['SERVICE_PORT', '0', 0],
  ['SERVICE_PORT', ' 8080 ', 8080],
  ['SERVICE_ALLOWED_HOSTS', 'Agent.example.org, proxy:8443,', ['agent.example.org', 'proxy:8443']],
  [
    'SERVICE_CORS_ORIGINS',
    'https://Chat.example.org,tauri://localhost',
    ['https://chat.example.org', 'tauri://localhost'],
  ],
  ['SERVICE_MAX_BODY_BYTES', '1024', 1024],
])('%s=%s is understood', (name, text, value) => {
  expect(readEnv({ [name]: text }).env[name]).toEqual(value);
});

test('an empty value is an unset one', () => {
  expect(readEnv({ SERVICE_PORT: '', SERVICE_LOG_LEVEL: '  ' }).env).toEqual(readEnv({}).env);
});

test('names are case-insensitive, and the exact spelling wins', () => {
  expect(readEnv({ service_port: '1' }).env.SERVICE_PORT).toBe(1);
  expect(readEnv({ service_port: '1', SERVICE_PORT: '2', Service_Port: '3' }).env.SERVICE_PORT).toBe(2);
});

test('names that are no settings, and half a pair, are warned about', () => {
  expect(readEnv({ SERVICE_PROT: '1', SERVICE_MANAGER_HOST: 'https://m.example', PATH: '/bin' }).warnings).toEqual([
    'SERVICE_PROT is not a setting of this server and does nothing',
    'SERVICE_MANAGER_HOST does nothing without SERVICE_AGENT_API_KEY',
  ]);
});

test.each(['0.0.0.0', '::', '192.0.2.1', 'agent.example.org'])('listening on %s needs a word of consent', (host) => {
  expect(faults({ SERVICE_HOST: host })).toEqual([
    expect.stringMatching(/^SERVICE_HOST ".*SERVICE_ALLOW_OPEN_ADMIN=true/),
  ]);
  expect(readEnv({ SERVICE_HOST: host, SERVICE_ALLOW_OPEN_ADMIN: 'true' }).env.SERVICE_HOST).toBe(host);
});

test.each([
  ['localhost', true],
  ['app.localhost', true],
  ['127.1.2.3', true],
  ['::1', true],
  ['[::1]', true],
  ['::ffff:127.0.0.1', true],
  ['127.0.0.1.example.org', false],
  ['localhost.example.org', false],
  ['0.0.0.0', false],
])('whether %s is loopback: %s', (host, expected) => {
  expect(isLoopback(host)).toBe(expected);
});

/** Sets variables of this process until the test ends. */
function withVariables(variables: Record<string, string>): void {
  const before = { ...process.env };
  Object.assign(process.env, variables);
  onTestFinished(() => {
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
    Object.assign(process.env, before);
  });
}

test('.env completes the environment and never overrides it', () => {
  const folder = tempFolder({
    '.env': 'MY_KEY="from .env"\nMY_SHELL_KEY=from .env\nMY_EMPTY=from .env\nSERVICE_PORT=1111\n# SERVICE_HOST=no\n',
  });
  withVariables({ MY_SHELL_KEY: 'from the shell', MY_EMPTY: '', service_port: '2222' });
  const variables = processVariables(join(folder, '.env'));
  expect(variables).toMatchObject({ MY_KEY: 'from .env', MY_SHELL_KEY: 'from the shell', MY_EMPTY: '' });
  // Another spelling of the same setting, but the environment's.
  expect(readEnv(variables).env.SERVICE_PORT).toBe(2222);
});

test.each([
  [undefined, 'false'],
  ['true', 'true'],
])('LangChain’s handlers are called in their own run, unless somebody says otherwise (%s)', (said, expected) => {
  vi.stubEnv('LANGCHAIN_CALLBACKS_BACKGROUND', said);
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(processVariables(join(tempFolder(), '.env')).LANGCHAIN_CALLBACKS_BACKGROUND).toBe(expected);
});

test('a missing .env is none; one that cannot be read is a fault', () => {
  const folder = tempFolder();
  expect(() => processVariables(join(folder, '.env'))).not.toThrow();
  writeFileSync(join(folder, 'file'), '');
  expect(() => processVariables(join(folder, 'file', '.env'))).toThrow(EnvProblem);
});
