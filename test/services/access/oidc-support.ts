import { type Logger, pino } from 'pino';
import { expect, onTestFinished } from 'vitest';
import { createFetch } from '../../../src/outbound/fetch.ts';
import { createIssuer, type Issuer } from '../../../src/services/access/oidc/issuer.ts';
import { LOCAL } from '../probes/support.ts';

/** What a token is refused with while keys cannot be had. */
export const NO_KEYS = 'The sign-on keys cannot be had right now';
export const BAD_SIGNATURE = 'The signature of the token is not valid';
export const MALFORMED = 'The token is malformed';
export const NOT_FOR_US = 'The token is not meant for this server';

/** An issuer that ends with the test, and what it has logged. */
export function openIssuer(url: string, fetch = createFetch({ targets: LOCAL, maxBytes: 100_000 })) {
  const logs: { level: number; msg: string; reason?: string }[] = [];
  const log: Logger = pino({ base: null }, { write: (line: string) => void logs.push(JSON.parse(line)) });
  const issuer = createIssuer({ issuer: url, fetch, log });
  onTestFinished(() => issuer.close());
  return { issuer, logs };
}

/** Expects a token for `agent` to be refused with this sentence. */
export async function expectRefused(issuer: Issuer, token: string, description: string): Promise<void> {
  await expect(issuer.verify(token, 'agent')).rejects.toMatchObject({ name: 'TokenRefused', description });
}
