import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { hashSync } from 'bcryptjs';
import type { FastifyInstance } from 'fastify';
import { expect, test } from 'vitest';
import { call, login, PASSWORD, passwordApp, sql, tryLogin } from './support.ts';

const TRUSTING = { SERVICE_TRUST_PROXY: '1' };

/** Tries a password from an address, as a trusted proxy names it, or from the connection's own. */
async function from(app: FastifyInstance, address: string, password = 'wrong', trusted = true): Promise<number> {
  const headers: Record<string, string> = trusted ? { 'x-forwarded-for': address } : {};
  return (await tryLogin(app, password, headers, trusted ? {} : { remoteAddress: address })).statusCode;
}

async function fail(app: FastifyInstance, address: string, times = 5, trusted = true): Promise<void> {
  for (let count = 0; count < times; count += 1) expect(await from(app, address, 'wrong', trusted)).toBe(401);
}

const refusals = (root: string) =>
  sql<{ address: string; detail: string }>(root, "SELECT * FROM audit_log WHERE outcome = 'refused'");

test('after five failures a client has to wait, with the right password too; another has not', async () => {
  const { app } = await passwordApp();
  await fail(app, '203.0.113.9', 5, false);
  for (const password of ['wrong', PASSWORD]) {
    const answer = await tryLogin(app, password, {}, { remoteAddress: '203.0.113.9' });
    expect(answer.statusCode).toBe(429);
    expect(answer.json()).toMatchObject({ error: { code: 'rate_limited' } });
    const wait = Number(answer.headers['retry-after']);
    expect(Number.isInteger(wait) && wait > 0 && wait <= 300, String(wait)).toBe(true);
    expect(answer.headers['set-cookie']).toBeUndefined();
  }
  expect(await from(app, '203.0.113.10', PASSWORD, false)).toBe(200);
});

test('a login wipes the slate', async () => {
  const { app } = await passwordApp();
  await fail(app, '203.0.113.9', 4, false);
  expect(await from(app, '203.0.113.9', PASSWORD, false)).toBe(200);
  await fail(app, '203.0.113.9', 5, false);
  expect(await from(app, '203.0.113.9', PASSWORD, false)).toBe(429);
});

test('wrong current passwords of a change count as well', async () => {
  const { app } = await passwordApp();
  const cookie = await login(app);
  const body = (currentPassword: string) => ({ currentPassword, newPassword: 'battery staple' });
  const change = async (current: string): Promise<number> =>
    (await call(app, 'POST', '/auth/change-password', { cookie }, body(current))).statusCode;
  for (let count = 0; count < 5; count += 1) expect(await change('wrong')).toBe(401);
  expect(await change(PASSWORD)).toBe(429);
  expect((await tryLogin(app, PASSWORD)).statusCode).toBe(429);
});

test('behind a trusted proxy each client counts for itself', async () => {
  const { app } = await passwordApp(TRUSTING);
  await fail(app, '203.0.113.9');
  expect(await from(app, '203.0.113.9', PASSWORD)).toBe(429);
  expect(await from(app, '203.0.113.10', PASSWORD)).toBe(200);
});

test('what a client itself says of its address does not count', async () => {
  const { app } = await passwordApp(TRUSTING);
  for (let count = 0; count < 5; count += 1) {
    expect(await from(app, `198.51.100.${count}, 203.0.113.9`)).toBe(401);
  }
  expect(await from(app, '198.51.100.99, 203.0.113.9', PASSWORD)).toBe(429);
  const plain = await passwordApp();
  for (let count = 0; count < 5; count += 1) expect(await from(plain.app, `198.51.100.${count}`)).toBe(401);
  for (const header of ['x-forwarded-for', 'forwarded', 'x-real-ip', 'cf-connecting-ip', 'true-client-ip']) {
    expect((await tryLogin(plain.app, PASSWORD, { [header]: '198.51.100.200' })).statusCode, header).toBe(429);
  }
});

test('a network of IPv6 addresses is one client, its neighbour another; IPv4 in its clothes is IPv4', async () => {
  const { app } = await passwordApp(TRUSTING);
  for (let count = 1; count <= 5; count += 1) expect(await from(app, `2001:db8:1:2:${count}::${count}`)).toBe(401);
  expect(await from(app, '2001:0DB8:0001:0002:ffff::1', PASSWORD)).toBe(429);
  expect(await from(app, '2001:db8:1:3::1', PASSWORD)).toBe(200);
  await fail(app, '203.0.113.9');
  expect(await from(app, '::ffff:203.0.113.9', PASSWORD)).toBe(429);
  expect(await from(app, '::ffff:203.0.113.10', PASSWORD)).toBe(200);
});

test('fifty at once are no way around', async () => {
  const { app, root } = await passwordApp();
  const passwords = Array.from({ length: 50 }, (_, index) => (index === 49 ? PASSWORD : `wrong ${index}`));
  const statuses = await Promise.all(passwords.map((password) => from(app, '203.0.113.9', password, false)));
  expect(statuses.filter((status) => status === 401)).toHaveLength(5);
  expect(statuses.filter((status) => status === 429)).toHaveLength(45);
  expect(await refusals(root)).toHaveLength(6);
  expect(await sql(root, 'SELECT * FROM admin_sessions')).toEqual([]);
});

test('ten thousand wrong logins of one address leave six entries', { timeout: 60_000 }, async () => {
  const { app, root } = await passwordApp();
  const statuses = new Map<number, number>();
  await flood(async () => {
    const status = await from(app, '203.0.113.9', 'wrong', false);
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  });
  expect(Object.fromEntries(statuses)).toEqual({ 401: 5, 429: 9_995 });
  expect(await refusals(root)).toHaveLength(6);
  expect(await from(app, '203.0.113.10', PASSWORD, false)).toBe(200);
});

test('ten thousand wrong logins of as many addresses keep neither the admin nor anybody else out', {
  timeout: 120_000,
}, async () => {
  // Dear enough that passwords have to wait for their check.
  const { app, root } = await passwordApp({ ...TRUSTING, SERVICE_ADMIN_PASSWORD_HASH: hashSync(PASSWORD, 8) });
  expect(await from(app, '203.0.113.77', PASSWORD)).toBe(200);
  const before = heapBytes();
  let [checked, isOver, logins] = [0, false, 0];
  const flooding = flood(async (index) => {
    const status = await from(app, `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`);
    expect([401, 429]).toContain(status);
    if (status === 401) checked += 1;
  }).finally(() => {
    isOver = true;
  });
  const others = async (): Promise<void> => {
    while (!isOver) {
      expect((await app.inject({ url: '/health' })).statusCode).toBe(200);
      // Whoever has known the password once is not kept out by the crowd at the door.
      expect(await from(app, '203.0.113.77', PASSWORD)).toBe(200);
      if (!isOver) logins += 1;
    }
  };
  await Promise.all([flooding, others()]);
  expect(logins).toBeGreaterThan(0);
  // What was not checked leaves no trace.
  expect(checked).toBeLessThan(10_000);
  expect(await refusals(root)).toHaveLength(checked);
  expect(heapBytes() - before).toBeLessThan(48 * 1024 * 1024);
  await expect.poll(() => from(app, '203.0.113.78', PASSWORD)).toBe(200);
});

/** Ten thousand calls, two hundred at a time. */
async function flood(one: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < 10_000) {
      next += 1;
      await one(next);
    }
  };
  await Promise.all(Array.from({ length: 200 }, worker));
}

/** What is in use after everything that nobody needs is gone. */
function heapBytes(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed;
}
