import { PassThrough } from 'node:stream';
import { compare, getRounds, hashSync } from 'bcryptjs';
import { expect, test } from 'vitest';
import { Fault } from '../../src/cli/fault.ts';
import { hashPassword } from '../../src/cli/hash-password.ts';
import { createTestApp, tempFolder } from '../support/app.ts';
import { command } from './command.ts';

const PASSWORD = 'correct horse ⚡';

/** A terminal somebody types `lines` at, each when it is asked for. */
function typist(...lines: string[]) {
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => undefined });
  const prompts = new PassThrough({ encoding: 'utf8' });
  let shown = '';
  prompts.on('data', (text: string) => {
    shown += text;
    if (text.endsWith(': ')) input.write(lines.shift() ?? '');
  });
  return { terminal: { input, prompts }, shown: () => shown };
}

test('a password from a pipe comes out as its bcrypt hash and nothing else', async () => {
  const { code, stdout, stderr } = await command(['hash-password'], {
    cwd: tempFolder(),
    input: `${PASSWORD}\r\nmore\n`,
  });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/^\$2b\$12\$[./\w]{53}\n$/);
  expect(await compare(PASSWORD, stdout.trim())).toBe(true);
  expect(getRounds(stdout.trim())).toBe(12);
});

test('a password can be given as an option', async () => {
  const { stdout } = await command(['hash-password', '--password', PASSWORD], { cwd: tempFolder() });
  expect(await compare(PASSWORD, stdout.trim())).toBe(true);
});

test('a terminal is asked twice and never shows what is typed', async () => {
  const { terminal, shown } = typist(`${PASSWORD}x\u007f\r`, `${PASSWORD}\r`);
  expect(await compare(PASSWORD, await hashPassword(undefined, terminal))).toBe(true);
  expect(shown()).toBe('Password: \nThe same again: \n');
});

test.each([
  ['differ', [`${PASSWORD}\r`, 'something else\r'], /differ/],
  ['are cancelled with Ctrl+C', ['half a pass\u0003'], /Cancelled/],
  ['are cancelled with Ctrl+D', ['\u0004'], /Cancelled/],
])('passwords that %s make no hash', async (_what, lines, says) => {
  await expect(hashPassword(undefined, typist(...lines).terminal)).rejects.toThrow(says);
});

test.each([
  ['', /too short.*8 characters/],
  ['sevench', /too short/],
  ['⚡⚡⚡⚡⚡⚡⚡', /too short/],
  ['x'.repeat(73), /too long.*72 bytes/],
  ['é'.repeat(37), /too long/],
])('the password %j is refused', async (password, says) => {
  await expect(hashPassword(password)).rejects.toThrow(says);
  await expect(hashPassword(password)).rejects.toBeInstanceOf(Fault);
});

test('a refused password is one line and exit code 1', async () => {
  const { code, stdout, stderr } = await command(['hash-password'], { cwd: tempFolder(), input: 'short\n' });
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^The password is too short: [^\n]*\n$/);
});

test('a forgotten password is set anew, which ends every login', async () => {
  const cwd = tempFolder({
    '.env': `SERVICE_ADMIN_AUTH_MODE=password\nSERVICE_SESSION_SECRET=${'s'.repeat(32)}\nSERVICE_ADMIN_PASSWORD_HASH=${hashSync('the old one', 4)}\n`,
  });
  const { app, listen } = await createTestApp({ root: cwd, env: passwordMode(hashSync('the old one', 4)) });
  const base = await listen();
  const logIn = (password: string) =>
    app.inject({ method: 'POST', url: '/admin/api/v1/auth/login', payload: { password } });
  const cookie = String((await logIn('the old one')).headers['set-cookie']).split(';')[0] ?? '';
  const me = async () =>
    (await (await fetch(`${base}/admin/api/v1/auth/me`, { headers: { cookie } })).json()) as object;
  expect(await me()).toMatchObject({ authenticated: true });
  const { code, stdout, stderr } = await command(['reset-password'], { cwd, input: 'the new one\n' });
  expect({ code, stderr, stdout }).toEqual({ code: 0, stderr: '', stdout: expect.stringContaining('is set') });
  expect(await me()).toMatchObject({ authenticated: false });
  expect((await logIn('the old one')).statusCode).toBe(401);
  expect((await logIn('the new one')).statusCode).toBe(200);
});

function passwordMode(hash: string): Record<string, string> {
  return {
    SERVICE_ADMIN_AUTH_MODE: 'password',
    SERVICE_SESSION_SECRET: 's'.repeat(32),
    SERVICE_ADMIN_PASSWORD_HASH: hash,
  };
}
