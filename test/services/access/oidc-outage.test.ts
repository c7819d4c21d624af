import type { RequestListener } from 'node:http';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createFetch } from '../../../src/outbound/fetch.ts';
import { createTargets } from '../../../src/outbound/targets.ts';
import { startOidcProvider } from '../../support/oidc.ts';
import { serve } from '../probes/support.ts';
import { expectRefused, NO_KEYS, NOT_FOR_US, openIssuer } from './oidc-support.ts';

/** Looks like a token until its signature is checked. */
const TOKEN = `${Buffer.from('{"alg":"RS256","kid":"any"}').toString('base64url')}.e30.AAAA`;

/** A web server that has a discovery document, and something for `/keys`. */
async function serveDocument(
  document: (url: string) => unknown,
  keys: RequestListener = (_, response) => response.end(),
) {
  const server = await serve((request, response) => {
    if (request.url === '/keys') keys(request, response);
    else response.end(JSON.stringify(document(server.url)));
  });
  return server;
}

const good = (url: string) => ({ issuer: url, jwks_uri: `${url}/keys` });

test('a provider that is down at the start is found when it comes back', async () => {
  const provider = await startOidcProvider();
  const token = await provider.token();
  await provider.stop();
  const { issuer, logs } = openIssuer(provider.issuer);
  await expectRefused(issuer, token, NO_KEYS);
  await expectRefused(issuer, token, NO_KEYS);
  await provider.start();
  await vi.waitFor(() => issuer.verify(token, 'agent'), { timeout: 10_000 });
  expect(logs).toEqual([
    expect.objectContaining({ level: 40, issuer: `${provider.issuer}/`, reason: 'The request failed: ECONNREFUSED' }),
    expect.objectContaining({ level: 30, msg: 'The sign-on keys can be had again' }),
  ]);
  // All is as if nothing had been.
  await provider.rotate();
  await expect(issuer.verify(await provider.token(), 'agent')).resolves.toBeTruthy();
  await provider.stop();
  issuer.refresh();
  await expect.poll(() => logs.map(({ level }) => level)).toEqual([40, 30, 40]);
});

test('what is no provider gives no keys', async () => {
  const answer = (status: number, body = '', headers = {}) =>
    serve((_, response) => response.writeHead(status, headers).end(body));
  const cases: [{ url: string } | Promise<{ url: string }>, string][] = [
    // A port below all those that are handed out, so that nobody else takes it meanwhile.
    [{ url: 'http://127.0.0.1:1' }, 'The request failed: ECONNREFUSED'],
    [{ url: 'no URL' }, 'The request failed: ERR_INVALID_URL'],
    [{ url: 'ftp://127.0.0.1' }, 'Not an http or https URL'],
    [answer(500, 'secret'), 'The provider answered with status 500'],
    [answer(404), 'The provider answered with status 404'],
    [answer(302, '', { location: '/elsewhere' }), 'The provider answered with status 302'],
    [answer(200), 'The answer is no discovery document'],
    [answer(200, '<html>secret</html>'), 'The answer is no discovery document'],
    [answer(200, '[]'), 'The answer is no discovery document'],
    [answer(200, 'x'.repeat(200_000)), 'The answer is too long'],
    [serveDocument((url) => ({ issuer: url })), 'The answer is no discovery document'],
    [serveDocument((url) => ({ issuer: [url], jwks_uri: `${url}/keys` })), 'The answer is no discovery document'],
    [serveDocument((url) => ({ issuer: url, jwks_uri: 'file:///etc/passwd' })), 'The answer is no discovery document'],
    [serveDocument((url) => ({ issuer: url, jwks_uri: '/keys' })), 'The answer is no discovery document'],
    [
      serveDocument((url) => ({ ...good(url), issuer: 'https://other.example' })),
      'The discovery document is of another issuer',
    ],
    [serveDocument((url) => ({ ...good(url), issuer: `${url}//` })), 'The discovery document is of another issuer'],
    [
      serveDocument((url) => ({ ...good(url), issuer: `${url}/tenant` })),
      'The discovery document is of another issuer',
    ],
    [serveDocument(good), 'Failed to parse the JSON Web Key Set HTTP response as JSON'],
    [serveDocument(good, (_, response) => response.writeHead(503).end()), 'The provider answered with status 503'],
    [
      serveDocument(good, (_, response) => response.writeHead(307, { location: '/' }).end()),
      'The provider answered with status 307',
    ],
    [serveDocument(good, (_, response) => response.end('{"keys":"none"}')), 'JSON Web Key Set malformed'],
  ];
  for (const [server, reason] of cases) {
    const { issuer, logs } = openIssuer((await server).url);
    await expectRefused(issuer, TOKEN, NO_KEYS);
    expect(logs).toEqual([expect.objectContaining({ reason })]);
    issuer.close();
  }
});

test('keys over http are not taken from a provider that has https', async () => {
  const answer = { issuer: 'https://id.example', jwks_uri: 'http://id.example/keys' };
  const { issuer, logs } = openIssuer('https://id.example', async () => Response.json(answer));
  await expectRefused(issuer, TOKEN, NO_KEYS);
  expect(logs).toEqual([expect.objectContaining({ reason: 'The provider has https, its keys have not' })]);
});

test('only addresses that may be called are', async () => {
  const provider = await startOidcProvider();
  const { issuer, logs } = openIssuer(provider.issuer, createFetch({ targets: createTargets([]) }));
  await expectRefused(issuer, await provider.sign(), NO_KEYS);
  expect(logs[0]?.reason).toContain('SERVICE_ALLOW_PRIVATE_TARGETS');
  expect(provider.requests.discovery).toBe(0);
});

test('a key that cannot be used refuses the token', async () => {
  const keys = [{ kty: 'RSA', kid: 'any', n: 'AQAB', e: 'AQAB' }];
  const server = await serveDocument(good, (_, response) => response.end(JSON.stringify({ keys })));
  const { issuer } = openIssuer(server.url);
  await expectRefused(issuer, TOKEN, 'The signature of the token is not valid');
});

test('a provider that hangs is given five seconds', async () => {
  const hanging = [
    await serve(() => {}),
    await serve((_, response) => response.writeHead(200).write('{')),
    await serveDocument(good, () => {}),
  ];
  await Promise.all(
    hanging.map(async ({ url, open }) => {
      const { issuer, logs } = openIssuer(url);
      const started = Date.now();
      await expectRefused(issuer, TOKEN, NO_KEYS);
      expect(Date.now() - started).toBeLessThan(8_000);
      expect(logs).toEqual([expect.objectContaining({ reason: 'No answer within 5 seconds' })]);
      // The next ones do not wait for the attempts that follow.
      await expectRefused(issuer, TOKEN, NO_KEYS);
      issuer.close();
      await expect.poll(() => open.size).toBe(0);
    }),
  );
});

test('closing ends what waits', async () => {
  const { url, open } = await serve(() => {});
  const { issuer, logs } = openIssuer(url);
  const waiting = expectRefused(issuer, TOKEN, NO_KEYS);
  await expect.poll(() => open.size).toBe(1);
  issuer.close();
  await waiting;
  issuer.refresh();
  await expectRefused(issuer, TOKEN, NO_KEYS);
  await expect.poll(() => open.size).toBe(0);
  expect(logs).toEqual([]);
});

test('the slash at the end is as the provider has it', async () => {
  const provider = await startOidcProvider();
  const configured = openIssuer(`${provider.issuer}/`).issuer;
  await expect(configured.verify(await provider.sign(), 'agent')).resolves.toBeTruthy();
  await expectRefused(configured, await provider.sign({ iss: `${provider.issuer}/` }), NOT_FOR_US);

  const keys = JSON.stringify({ keys: provider.publicKeys() });
  const slashed = await serveDocument(
    (url) => ({ ...good(url), issuer: `${url}/` }),
    (_, response) => response.end(keys),
  );
  const { issuer } = openIssuer(slashed.url);
  await expect(issuer.verify(await provider.sign({ iss: `${slashed.url}/` }), 'agent')).resolves.toBeTruthy();
  await expectRefused(issuer, await provider.sign({ iss: slashed.url }), NOT_FOR_US);
});

test('attempts become rarer, and end when the issuer is closed', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const fetch = vi.fn(async () => new Response('', { status: 500 }));
  const { issuer, logs } = openIssuer('https://ann:secret@id.example/realm?key=secret', fetch);
  await expectRefused(issuer, TOKEN, NO_KEYS);
  for (const [index, seconds] of [1, 2, 4, 8, 16, 32, 60, 60].entries()) {
    await vi.advanceTimersByTimeAsync(seconds * 1_000 - 1);
    expect(fetch).toHaveBeenCalledTimes(index + 1);
    await vi.advanceTimersByTimeAsync(1);
    await expectRefused(issuer, TOKEN, NO_KEYS);
    expect(fetch).toHaveBeenCalledTimes(index + 2);
  }
  // A new configuration need not wait.
  issuer.refresh();
  await vi.advanceTimersByTimeAsync(0);
  expect(fetch).toHaveBeenCalledTimes(10);
  expect(vi.getTimerCount()).toBe(1);
  issuer.close();
  expect(vi.getTimerCount()).toBe(0);
  expect(logs).toHaveLength(1);
  expect(logs[0]).toMatchObject({ issuer: 'https://id.example/realm' });
  expect(JSON.stringify(logs)).not.toContain('secret');
});
