import { expect, onTestFinished, test, vi } from 'vitest';
import { startOidcProvider } from '../../support/oidc.ts';
import { BAD_SIGNATURE, expectRefused, NO_KEYS, openIssuer } from './oidc-support.ts';

/** Moves the clocks that keys live by; timers go on as they are. */
function travel(): (minutes: number) => void {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  return (minutes) => void vi.advanceTimersByTime(minutes * 60_000);
}

test('a thousand tokens at once cause one fetch', async () => {
  const provider = await startOidcProvider();
  const token = await provider.sign();
  const { issuer } = openIssuer(provider.issuer);
  await Promise.all(Array.from({ length: 1_000 }, () => issuer.verify(token, 'agent')));
  await Promise.all(Array.from({ length: 1_000 }, () => issuer.verify(token, 'agent')));
  expect(provider.requests).toMatchObject({ discovery: 1, jwks: 1 });
});

test('new keys are taken up when a token needs them, and the old ones end', async () => {
  const provider = await startOidcProvider();
  const { issuer, logs } = openIssuer(provider.issuer);
  const old = await provider.token();
  await issuer.verify(old, 'agent');
  await provider.rotate();
  await expect(issuer.verify(old, 'agent')).resolves.toBeTruthy();
  const tokens = await Promise.all(Array.from({ length: 20 }, () => provider.token()));
  await Promise.all(tokens.map((token) => issuer.verify(token, 'agent')));
  expect(provider.requests.jwks).toBe(2);
  await expectRefused(issuer, old, BAD_SIGNATURE);
  expect(provider.requests.jwks).toBe(2);
  expect(logs).toEqual([]);
});

test('new keys are taken up for tokens that name none, too', async () => {
  const provider = await startOidcProvider();
  const { issuer } = openIssuer(provider.issuer);
  await issuer.verify(await provider.sign({}, { kid: undefined }), 'agent');
  await provider.rotate();
  await expect(issuer.verify(await provider.sign({}, { kid: undefined }), 'agent')).resolves.toBeTruthy();
});

test('tokens with unknown keys cause one fetch a minute', async () => {
  const pass = travel();
  const provider = await startOidcProvider();
  const { issuer } = openIssuer(provider.issuer);
  const attack = async (): Promise<void> => {
    for (let index = 0; index < 30; index += 1) {
      await expectRefused(issuer, await provider.sign({}, { kid: `unknown-${index}` }), BAD_SIGNATURE);
    }
  };
  await attack();
  expect(provider.requests.jwks).toBe(2);
  pass(0.9);
  await attack();
  expect(provider.requests.jwks).toBe(2);
  pass(0.2);
  await attack();
  expect(provider.requests).toMatchObject({ discovery: 3, jwks: 3 });
});

test('tokens with unknown keys cause no more when the provider fails', async () => {
  const fetch = vi.fn<typeof globalThis.fetch>();
  const provider = await startOidcProvider();
  fetch.mockImplementation(globalThis.fetch);
  const { issuer, logs } = openIssuer(provider.issuer, fetch);
  const good = await provider.sign();
  await issuer.verify(good, 'agent');
  expect(fetch).toHaveBeenCalledTimes(2);
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  fetch.mockRejectedValue(new TypeError('fetch failed'));
  const forged = await Promise.all(Array.from({ length: 30 }, (_, index) => provider.sign({}, { kid: `${index}` })));
  for (const token of forged) await expectRefused(issuer, token, NO_KEYS);
  await Promise.all(forged.map((token) => expectRefused(issuer, token, NO_KEYS)));
  expect(fetch).toHaveBeenCalledTimes(3);
  await expect(issuer.verify(good, 'agent')).resolves.toBeTruthy();
  expect(logs).toHaveLength(1);
});

test('keys serve for an hour while the provider is away, and no longer', async () => {
  const pass = travel();
  const provider = await startOidcProvider();
  const { issuer, logs } = openIssuer(provider.issuer);
  const token = await provider.sign({ exp: Math.floor(Date.now() / 1_000) + 86_400 });
  await issuer.verify(token, 'agent');
  await provider.stop();
  pass(59);
  await expect(issuer.verify(token, 'agent')).resolves.toBeTruthy();
  // Old as they are, they are looked for already.
  await expect.poll(() => logs).toHaveLength(1);
  await expect(issuer.verify(token, 'agent')).resolves.toBeTruthy();
  pass(2);
  await expectRefused(issuer, token, NO_KEYS);
  await provider.start();
  await vi.waitFor(() => issuer.verify(token, 'agent'), { timeout: 10_000 });
  expect(logs.map(({ level }) => level)).toEqual([40, 30]);
});

test('keys that nobody needed for an hour are fetched once when a token comes', async () => {
  const pass = travel();
  const provider = await startOidcProvider();
  const { issuer } = openIssuer(provider.issuer);
  const token = await provider.sign({ exp: Math.floor(Date.now() / 1_000) + 86_400 });
  await issuer.verify(token, 'agent');
  pass(90);
  await Promise.all(Array.from({ length: 100 }, () => issuer.verify(token, 'agent')));
  expect(provider.requests).toMatchObject({ discovery: 2, jwks: 2 });
  pass(55);
  await Promise.all(Array.from({ length: 100 }, () => issuer.verify(token, 'agent')));
  await expect.poll(() => provider.requests.jwks).toBe(3);
});

test('a refresh happens in the background', async () => {
  const provider = await startOidcProvider();
  const { issuer } = openIssuer(provider.issuer);
  const old = await provider.sign();
  await issuer.verify(old, 'agent');
  await provider.rotate();
  issuer.refresh();
  issuer.refresh();
  await expect(issuer.verify(old, 'agent')).resolves.toBeTruthy();
  await vi.waitFor(() => expectRefused(issuer, old, BAD_SIGNATURE));
  await expect(issuer.verify(await provider.sign(), 'agent')).resolves.toBeTruthy();
});
