import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { EnvProblem, readEnv } from '../../src/env.ts';
import { createFetch } from '../../src/outbound/fetch.ts';
import { createTargets, TargetRefused } from '../../src/outbound/targets.ts';
import { serve } from '../services/probes/support.ts';

const fetchBy = (rules: string[]) => createFetch({ targets: createTargets(rules), maxBytes: 1_000 });

/** Every notation of an address that is not on the public internet. */
const INSIDE = [
  '127.0.0.1',
  '127.9.9.9',
  '0.0.0.0',
  '10.0.0.1',
  '172.16.0.1',
  '192.168.1.1',
  '100.64.0.1',
  '169.254.169.254',
  '198.18.0.1',
  '224.0.0.1',
  '255.255.255.255',
  '[::1]',
  '[::]',
  '[fe80::1]',
  '[fd00:ec2::254]',
  '[::ffff:127.0.0.1]',
  '[::ffff:10.0.0.1]',
  '[64:ff9b::7f00:1]',
  '[2002:7f00:1::]',
  // As a URL these are 127.0.0.1.
  '2130706433',
  '0x7f.1',
  '0177.0.0.1',
];

describe('addresses inside the network', () => {
  test.each(INSIDE)('%s is refused unless it is allowed', async (host) => {
    await expect(fetchBy([])(`http://${host}:1/`)).rejects.toThrow('SERVICE_ALLOW_PRIVATE_TARGETS');
  });

  test('a name is judged by what it means', async () => {
    const { url } = await serve((_, response) => response.end('hello'));
    const named = url.replace('127.0.0.1', 'localhost');
    await expect(fetchBy([])(named)).rejects.toThrow(TargetRefused);
    expect(await (await fetchBy(['loopback'])(named)).text()).toBe('hello');
    expect(await (await fetchBy(['localhost'])(named)).text()).toBe('hello');
    await expect(fetchBy(['example.org'])(named)).rejects.toThrow(TargetRefused);
  });

  test.each([
    { rules: ['loopback'], passes: ['127.0.0.1', '::1', '::ffff:127.0.0.1'], fails: ['10.0.0.1', '169.254.169.254'] },
    { rules: ['private'], passes: ['10.1.2.3', '192.168.0.9', 'fd00::1'], fails: ['127.0.0.1', '169.254.169.254'] },
    { rules: ['10.2.0.0/16', 'fd12::/16'], passes: ['10.2.3.4', 'fd12::9'], fails: ['10.3.0.1', 'fd13::1'] },
    { rules: ['169.254.169.254'], passes: ['169.254.169.254'], fails: ['169.254.169.253'] },
    { rules: [], passes: ['93.184.216.34', '2606:4700::1111'], fails: [] },
  ])('$rules allow what they say', ({ rules, passes, fails }) => {
    const targets = createTargets(rules);
    for (const host of passes) expect(() => targets.check(host)).not.toThrow();
    for (const host of fails) expect(() => targets.check(host)).toThrow(TargetRefused);
  });

  test('the setting knows words for the usual cases', () => {
    const rules = (value: string) =>
      readEnv({ SERVICE_ALLOW_PRIVATE_TARGETS: value }).env.SERVICE_ALLOW_PRIVATE_TARGETS;
    expect(rules('true')).toEqual(['loopback', 'private']);
    expect(rules('false')).toEqual([]);
    expect(rules('')).toBeUndefined();
    expect(rules('10.0.0.0/8, Mcp.internal')).toEqual(['10.0.0.0/8', 'mcp.internal']);
    expect(() => rules('http://mcp:80')).toThrow(EnvProblem);
  });
});

describe('redirects', () => {
  test('are followed only to where a call may go', async () => {
    const { url } = await serve((request, response) => {
      const to = request.url === '/in' ? 'http://10.0.0.1/' : request.url === '/file' ? 'file:///etc/passwd' : '/there';
      if (request.url === '/there') return response.end('arrived');
      response.writeHead(302, { location: to }).end();
    });
    const go = fetchBy(['loopback']);
    expect(await (await go(`${url}/here`)).text()).toBe('arrived');
    await expect(go(`${url}/in`)).rejects.toThrow(TargetRefused);
    await expect(go(`${url}/file`)).rejects.toThrow('Not an http or https URL');
    expect((await go(`${url}/here`, { redirect: 'manual' })).status).toBe(302);
    await expect(go(`${url}/here`, { redirect: 'error' })).rejects.toThrow('redirects');
  });

  test('end, and leave credentials at their origin', async () => {
    const seen: (string | undefined)[] = [];
    const other = await serve((request, response) => {
      seen.push(request.headers.authorization, request.method);
      response.end();
    });
    const { url } = await serve((request, response) => {
      seen.push(request.headers.authorization);
      response.writeHead(307, { location: request.url === '/loop' ? '/loop' : other.url }).end();
    });
    const headers = { authorization: 'Bearer secret' };
    await fetchBy(['loopback'])(`${url}/`, { method: 'POST', body: 'x', headers });
    expect(seen).toEqual(['Bearer secret', undefined, 'POST']);
    await expect(fetchBy(['loopback'])(`${url}/loop`)).rejects.toThrow('redirects');
  });
});

test('an answer that is too long is cut off, and a stopped call leaves nothing open', async () => {
  const { url, open } = await serve((request, response) => {
    if (request.url === '/long') response.end('x'.repeat(5_000));
    else response.write('and');
  });
  const go = fetchBy(['loopback']);
  await expect(go(`${url}/long`).then((response) => response.text())).rejects.toThrow('too long');
  const controller = new AbortController();
  const answer = await go(url, { signal: controller.signal });
  controller.abort();
  await expect(answer.text()).rejects.toThrow();
  await expect.poll(() => open.size).toBe(0);
});

test('a host name is looked up once: what was checked is what is called', async () => {
  // Were the name looked up again to connect, a rebinding resolver could answer otherwise the second time.
  const server = createServer((_, response) => response.end());
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const targets = createTargets(['loopback']);
  let lookups = 0;
  const counting = {
    check: targets.check,
    lookup: ((...args: Parameters<typeof targets.lookup>) => {
      lookups += 1;
      targets.lookup(...args);
    }) as typeof targets.lookup,
  };
  await createFetch({ targets: counting })(`http://localhost:${port}`);
  expect(lookups).toBe(1);
});
