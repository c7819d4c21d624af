import { createHmac, createPublicKey, type JsonWebKey } from 'node:crypto';
import { generateKeyPair, SignJWT } from 'jose';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { type OidcProvider, startOidcProvider } from '../../support/oidc.ts';
import { BAD_SIGNATURE, expectRefused, MALFORMED, NOT_FOR_US, openIssuer } from './oidc-support.ts';

const ALGORITHM = 'The algorithm of the token is not accepted';
const ALGORITHMS = 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'.split(' ');

const now = (): number => Math.floor(Date.now() / 1_000);
const encode = (part: unknown): string => Buffer.from(JSON.stringify(part)).toString('base64url');
const claimsOf = (provider: OidcProvider) => ({ iss: provider.issuer, aud: 'agent', sub: 'eve', exp: now() + 300 });

/** A token whose signature is made with a secret. */
function signHmac(payload: object, secret: string | Buffer, header: object = {}): string {
  const input = `${encode({ alg: 'HS256', ...header })}.${encode(payload)}`;
  return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`;
}

test("a provider's own token says who its bearer is", async () => {
  const provider = await startOidcProvider();
  const { issuer, logs } = openIssuer(provider.issuer);
  const token = await provider.token({ sub: 'u-1', email: 'Ann@Example.org', email_verified: true });
  expect(await issuer.verify(token, 'agent')).toEqual({
    subject: 'u-1',
    email: 'Ann@Example.org',
    emailVerified: true,
  });
  expect(await issuer.verify(await provider.token(), 'agent')).toEqual({
    subject: 'test-client',
    email: undefined,
    emailVerified: undefined,
  });
  await expectRefused(issuer, await provider.token({ exp: now() - 60 }), 'The token has expired');
  await expectRefused(issuer, await provider.token({ aud: 'other' }), NOT_FOR_US);
  await expect(issuer.verify(token, 'other')).rejects.toMatchObject({ description: NOT_FOR_US });
  expect(logs).toEqual([]);
});

test('asymmetric algorithms are accepted', async () => {
  const provider = await startOidcProvider({ algorithms: ALGORITHMS });
  const { issuer } = openIssuer(provider.issuer);
  for (const alg of ALGORITHMS) {
    const { subject } = await issuer.verify(await provider.sign({ sub: alg }, { alg }), 'agent');
    expect(subject).toBe(alg);
  }
});

test('no signature, and signatures made with the public key, are not', async () => {
  const provider = await startOidcProvider();
  const { issuer } = openIssuer(provider.issuer);
  const key = provider.publicKey();
  const { kid } = key;
  const payload = claimsOf(provider);
  const pem = createPublicKey({ key: key as JsonWebKey, format: 'jwk' })
    .export({ type: 'spki', format: 'pem' })
    .toString();
  for (const alg of ['none', 'None', 'NONE', '', undefined, null, 1, ['RS256'], 'RSA-OAEP', 'RS257']) {
    await expectRefused(issuer, `${encode({ alg, kid })}.${encode(payload)}.`, ALGORITHM);
  }
  const secrets = [
    pem,
    pem.trim(),
    JSON.stringify(key),
    key.n as string,
    Buffer.from(key.n as string, 'base64url'),
    '',
  ];
  for (const secret of secrets) {
    await expectRefused(issuer, signHmac(payload, secret), ALGORITHM);
    await expectRefused(issuer, signHmac(payload, secret, { kid }), ALGORITHM);
    // The same under the name of an algorithm that is accepted.
    await expectRefused(issuer, signHmac(payload, secret, { kid, alg: 'RS256' }), BAD_SIGNATURE);
  }
  await expectRefused(issuer, `${encode({ alg: 'RS256', kid })}.${encode(payload)}.`, BAD_SIGNATURE);
});

test('claims decide', async () => {
  // Stands still, so that a second more or less can be told.
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const provider = await startOidcProvider();
  const { issuer } = openIssuer(provider.issuer);
  const accepted: object[] = [
    { exp: now() - 29 },
    { nbf: now() - 1 },
    { nbf: now() + 30 },
    { aud: ['other', 'agent'] },
    { iat: undefined },
    { iat: now() + 600 },
    { email: null, email_verified: null },
  ];
  for (const claims of accepted) {
    await expect(
      issuer.verify(await provider.sign({ ...claims }), 'agent'),
      JSON.stringify(claims),
    ).resolves.toBeTruthy();
  }
  const refused: [object, string][] = [
    [{ exp: now() - 30 }, 'The token has expired'],
    [{ exp: now() - 31 }, 'The token has expired'],
    [{ exp: undefined }, 'The token does not say when it expires'],
    [{ exp: String(now() + 300) }, MALFORMED],
    [{ exp: null }, MALFORMED],
    [{ nbf: now() + 31 }, 'The token is not valid yet'],
    [{ nbf: '1' }, MALFORMED],
    [{ iat: 'now' }, MALFORMED],
    ...['other', 'AGENT', 'agent ', '', undefined, null, 1, [], ['other'], [['agent']], { agent: 1 }].map(
      (aud): [object, string] => [{ aud }, NOT_FOR_US],
    ),
    ...['https://elsewhere.example', `${provider.issuer}/`, '', undefined, null, 1, [provider.issuer]].map(
      (iss): [object, string] => [{ iss }, NOT_FOR_US],
    ),
    ...[1, ['ann'], {}, true, 'a\u0000b', 'x'.repeat(257)].flatMap((value): [object, string][] => [
      [{ sub: value }, MALFORMED],
      [{ email: value }, MALFORMED],
    ]),
    ...[1, 0, 'yes', '', [true], {}].map((email_verified): [object, string] => [{ email_verified }, MALFORMED]),
  ];
  for (const [claims, description] of refused) {
    const refusal = await issuer.verify(await provider.sign({ ...claims }), 'agent').then(
      () => 'accepted',
      (error: { description?: string }) => error.description,
    );
    expect(refusal, JSON.stringify(claims)).toBe(description);
  }
});

describe('signatures', () => {
  test('of another key, of another text, or of a key nobody knows are refused', async () => {
    const provider = await startOidcProvider();
    const { issuer } = openIssuer(provider.issuer);
    const { kid } = provider.publicKey();
    const foreign = await generateKeyPair('RS256');
    const forge = (header: object) =>
      new SignJWT(claimsOf(provider)).setProtectedHeader({ alg: 'RS256', ...header }).sign(foreign.privateKey);
    await expectRefused(issuer, await forge({ kid }), BAD_SIGNATURE);
    await expectRefused(issuer, await forge({ kid: 'nobody' }), BAD_SIGNATURE);
    await expectRefused(issuer, await forge({}), BAD_SIGNATURE);
    await expectRefused(issuer, await forge({ kid, jwk: provider.publicKey() }), BAD_SIGNATURE);
    const [head, , signature] = (await provider.sign()).split('.');
    await expectRefused(issuer, `${head}.${encode(claimsOf(provider))}.${signature}`, BAD_SIGNATURE);
    // One that is right, but made by an algorithm the key is not for.
    await expectRefused(issuer, await provider.sign({}, { kid: 1 }), BAD_SIGNATURE);
  });

  test('a token need not name its key', async () => {
    const one = await startOidcProvider();
    const { issuer } = openIssuer(one.issuer);
    await expect(issuer.verify(await one.sign({}, { kid: undefined }), 'agent')).resolves.toBeTruthy();
    const many = await startOidcProvider({ algorithms: ['ES256', 'RS256', 'RS256', 'RS256'] });
    const { issuer: other } = openIssuer(many.issuer);
    for (const key of many.publicKeys().slice(1)) {
      const token = await many.sign({}, { kid: undefined }, key.kid);
      await expect(other.verify(token, 'agent')).resolves.toBeTruthy();
    }
    await expectRefused(other, await one.sign({ iss: many.issuer }, { kid: undefined }), BAD_SIGNATURE);
  });
});

test('what is no token is refused at once, without keys', async () => {
  const { issuer } = openIssuer('http://127.0.0.1:1', () => new Promise(() => {}));
  for (const token of [
    '',
    ' ',
    '.',
    '..',
    'a.b.c',
    'garbage',
    '💥',
    '\u0000',
    `${encode([])}..`,
    `${encode(null)}.a.b`,
  ]) {
    await expectRefused(issuer, token, MALFORMED);
  }
  await expectRefused(issuer, 'a'.repeat(16 * 1024 + 1), 'The token is too long');
  await expectRefused(issuer, `${encode({ alg: 'RSA-OAEP', enc: 'A256GCM' })}.a.b.c.d`, ALGORITHM);
});

test('what looks like a token and is none is refused', async () => {
  const provider = await startOidcProvider();
  const { issuer } = openIssuer(provider.issuer);
  const [head, body, signature] = (await provider.sign()).split('.');
  for (const token of [`${head}`, `${head}.${body}`, `${head}.${body}.${signature}.x.y`, `${head}.é.${signature}`]) {
    await expect(issuer.verify(token, 'agent')).rejects.toMatchObject({ name: 'TokenRefused' });
  }
  const padded = await provider.sign({ padding: 'x'.repeat(11_000) });
  expect(padded.length).toBeLessThan(16 * 1024);
  await expect(issuer.verify(padded, 'agent')).resolves.toBeTruthy();
  await expectRefused(issuer, await provider.sign({ padding: 'x'.repeat(13_000) }), 'The token is too long');
});
