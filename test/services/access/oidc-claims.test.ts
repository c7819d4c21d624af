import { describe, expect, test } from 'vitest';
import { checkAllowed, readClaims, type TokenClaims, userIdOf } from '../../../src/services/access/oidc/claims.ts';

const claims = (email?: string, emailVerified?: boolean): TokenClaims => ({ subject: 'u-1', email, emailVerified });

test('the e-mail address is the user, else the subject', () => {
  expect(userIdOf(claims('Ann@Example.org'))).toBe('Ann@Example.org');
  expect(userIdOf(claims('ann@example.org', true))).toBe('ann@example.org');
  expect(userIdOf(claims('ann@example.org', false))).toBe('u-1');
  expect(userIdOf(claims())).toBe('u-1');
  expect(userIdOf(readClaims({ sub: 'u-1', email: '' }))).toBe('u-1');
  expect(userIdOf(readClaims({ sub: 'u-1', email: '  ', email_verified: true }))).toBe('u-1');
  for (const payload of [
    {},
    { sub: '' },
    { sub: '', email: '' },
    { sub: null },
    { email: 'a@b.c', email_verified: false },
  ]) {
    expect(() => userIdOf(readClaims(payload))).toThrow(
      expect.objectContaining({ description: 'The token names no user' }),
    );
  }
});

test('email_verified may be a text', () => {
  const read = (email_verified: unknown) => readClaims({ email_verified }).emailVerified;
  expect([true, 'true', false, 'false', null, undefined].map(read)).toEqual([
    ...[true, true, false, false, undefined, undefined],
  ]);
});

describe('allow lists', () => {
  const lists = { emails: ['Bob@Other.example', 'k@x.example'], domains: ['Example.ORG'] };

  test.each([null, []])('unset (%j), they admit everybody', (unset) => {
    for (const who of [claims(), claims('ann@example.org', false)]) {
      expect(() => checkAllowed(who, { emails: unset, domains: unset })).not.toThrow();
    }
  });

  test.each([
    'ann@example.org',
    'ANN@EXAMPLE.ORG',
    'bob@other.example',
    'BOB@other.EXAMPLE',
    'a@b@example.org',
    'K@x.example',
  ])('%s may enter', (email) => {
    for (const verified of [true, undefined]) expect(() => checkAllowed(claims(email, verified), lists)).not.toThrow();
  });

  test.each([
    'ann@other.example',
    'bob@other.example.org',
    'ann@sub.example.org',
    'ann@example.org.evil.example',
    'ann@notexample.org',
    'ann@example.org@evil.example',
    'ann@example.org ',
    'ann@example.org.',
    '@example.org',
    'example.org',
    'ann@',
    // The Kelvin sign, whose lower case is k.
    '\u212a@x.example',
  ])('%s may not', (email) => {
    expect(() => checkAllowed(claims(email, true), lists)).toThrow('The e-mail address of the token is not admitted');
  });

  test('with either set, an address is needed that is not said to be unverified', () => {
    for (const set of [
      { emails: ['ann@example.org'], domains: null },
      { emails: null, domains: ['example.org'] },
    ]) {
      expect(() => checkAllowed(claims('ann@example.org'), set)).not.toThrow();
      expect(() => checkAllowed(claims(), set)).toThrow('The token names no e-mail address');
      expect(() => checkAllowed(claims('ann@example.org', false), set)).toThrow('is not verified');
      expect(() => checkAllowed(claims('bob@other.example'), set)).toThrow('is not admitted');
    }
  });
});
