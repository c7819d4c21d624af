import { createRemoteJWKSet, customFetch, errors } from 'jose';
import { z } from 'zod';
import { OutboundFailure } from '../../../outbound/exchange.ts';
import { TargetRefused } from '../../../outbound/targets.ts';

/** How long one request to a provider may take. */
const REQUEST_MS = 5_000;

/** How long keys may be used after they were fetched (runtime contract, section 10). */
const KEYS_MS = 3_600_000;

/** What a provider publishes about itself. */
export interface ProviderKeys {
  /** What `iss` must be in its tokens: the issuer as the provider spells it. */
  issuer: string;
  /** Its keys. They are never fetched again for a key id that is not among them. */
  keys: ReturnType<typeof createRemoteJWKSet>;
}

/** A provider whose keys cannot be had, in words for the log. */
class ProviderFault extends Error {
  override name = 'ProviderFault';
}

const Discovery = z.object({ issuer: z.string(), jwks_uri: z.url({ protocol: /^https?$/ }) });

/**
 * Fetches a provider's discovery document and then its keys; redirects are not followed.
 *
 * @param signal Ends it early.
 * @throws when either cannot be had or is not what it should be; {@link describeFault} says why.
 */
export async function fetchKeys(
  issuer: string,
  fetch: typeof globalThis.fetch,
  signal: AbortSignal,
): Promise<ProviderKeys> {
  const get = (url: string, init: RequestInit): Promise<Response> => request(fetch, url, init, signal);
  const found = await discover(issuer, get);
  // When to ask again is decided by whoever holds the keys: jose's own pause does not count attempts that fail.
  const keys = createRemoteJWKSet(found.jwksUri, {
    [customFetch]: get,
    cacheMaxAge: KEYS_MS,
    cooldownDuration: Number.POSITIVE_INFINITY,
  });
  await keys.reload();
  return { issuer: found.issuer, keys };
}

/** Gets an answer whole, so that a body that never ends is bounded as well. */
async function request(
  fetch: typeof globalThis.fetch,
  url: string,
  init: RequestInit,
  signal: AbortSignal,
): Promise<Response> {
  // `AbortSignal.any` over `AbortSignal.timeout` may be collected before its time and then never ends anything.
  const stop = new AbortController();
  const end = (): void => stop.abort();
  const timer = setTimeout(end, REQUEST_MS);
  signal.addEventListener('abort', end, { once: true });
  try {
    signal.throwIfAborted();
    const response = await fetch(url, { ...init, redirect: 'manual', signal: stop.signal });
    if (response.status === 200) return new Response(await response.text());
    await response.body?.cancel();
    throw new ProviderFault(`The provider answered with status ${response.status}`);
  } catch (error) {
    throw stop.signal.aborted ? new ProviderFault(`No answer within ${REQUEST_MS / 1_000} seconds`) : error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
  }
}

async function discover(
  issuer: string,
  get: (url: string, init: RequestInit) => Promise<Response>,
): Promise<{ issuer: string; jwksUri: URL }> {
  const response = await get(`${withoutSlash(issuer)}/.well-known/openid-configuration`, {
    headers: { accept: 'application/json' },
  });
  const document = Discovery.safeParse(await response.json().catch(() => undefined));
  if (!document.success) throw new ProviderFault('The answer is no discovery document');
  const { issuer: name, jwks_uri } = document.data;
  if (withoutSlash(name) !== withoutSlash(issuer))
    throw new ProviderFault('The discovery document is of another issuer');
  const jwksUri = new URL(jwks_uri);
  if (new URL(issuer).protocol === 'https:' && jwksUri.protocol !== 'https:') {
    throw new ProviderFault('The provider has https, its keys have not');
  }
  return { issuer: name, jwksUri };
}

function withoutSlash(url: string): string {
  return url.replace(/\/$/, '');
}

/** Says why keys could not be had, without quoting addresses or what was answered. */
export function describeFault(error: unknown): string {
  const kinds = [ProviderFault, OutboundFailure, TargetRefused, errors.JOSEError];
  if (error instanceof Error && kinds.some((kind) => error instanceof kind)) return error.message;
  const code = codeOf(error) ?? codeOf((error as Error | undefined)?.cause);
  return code === undefined ? 'The request failed' : `The request failed: ${code}`;
}

function codeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
