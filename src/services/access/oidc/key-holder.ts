import type { Logger } from 'pino';
import { TokenRefused } from './claims.ts';
import { describeFault, fetchKeys, type ProviderKeys } from './discovery.ts';

/** Keys older than this are fetched anew while they still serve, so that nobody waits when their hour is over. */
const RENEW_AFTER_MS = 3_000_000;

/** The least time between two fetches that unknown keys of tokens cause, whatever came of the first. */
const UNKNOWN_KEY_PAUSE_MS = 60_000;

/** The longest pause between two attempts to reach a provider that is away; the first is a second. */
const LONGEST_RETRY_S = 60;

/** What an {@link Issuer} is made of. */
export interface IssuerOptions {
  /** URL, as configured. */
  issuer: string;
  /** Bounds the length of an answer itself. */
  fetch: typeof fetch;
  log: Pick<Logger, 'info' | 'warn'>;
}

/** Keeps a provider's keys at hand (runtime contract, section 10: it fails closed). */
export interface KeyHolder {
  /**
   * The keys. Waits while they are first looked for, or when their hour is over; while the provider is away it does not.
   *
   * @throws TokenRefused when there are none
   */
  current(): Promise<ProviderKeys>;
  /**
   * Fetches the keys again for a token that none of them fits; at most once a minute.
   *
   * @returns whether they were fetched.
   * @throws TokenRefused when the provider is away
   */
  renew(): Promise<boolean>;
  /** Fetches the keys anew in the background. */
  refresh(): void;
  /** Ends background work and what waits for it. */
  close(): void;
}

/** Starts looking for a provider's keys. */
export function createKeyHolder({ issuer, fetch, log }: IssuerOptions): KeyHolder {
  const closed = new AbortController();
  let held: (ProviderKeys & { since: number }) | undefined;
  /** Attempts since the last that succeeded; above zero the provider counts as away. */
  let failures = 0;
  let looking: Promise<void> | undefined;
  let retry: NodeJS.Timeout | undefined;
  // A clock that nobody sets.
  let renewedAt = Number.NEGATIVE_INFINITY;

  function look(): Promise<void> {
    clearTimeout(retry);
    if (closed.signal.aborted) return Promise.resolve();
    looking ??= load().finally(() => {
      looking = undefined;
    });
    return looking;
  }

  async function load(): Promise<void> {
    try {
      held = { ...(await fetchKeys(issuer, fetch, closed.signal)), since: performance.now() };
      if (failures > 0) log.info({ issuer: nameOf(issuer) }, 'The sign-on keys can be had again');
      failures = 0;
    } catch (error) {
      if (closed.signal.aborted) return;
      failures += 1;
      if (failures === 1) {
        const fields = { issuer: nameOf(issuer), reason: describeFault(error) };
        log.warn(fields, 'The sign-on keys cannot be had; tokens are refused unless keys are still at hand');
      }
      retry = setTimeout(() => void look(), Math.min(2 ** (failures - 1), LONGEST_RETRY_S) * 1_000).unref();
    }
  }

  void look();
  return {
    async current() {
      if (held?.keys.fresh && failures === 0 && performance.now() - held.since > RENEW_AFTER_MS) void look();
      if (!held?.keys.fresh && failures === 0) await look();
      if (held?.keys.fresh) return held;
      throw unavailable();
    },
    async renew() {
      if (failures === 0 && looking === undefined) {
        if (performance.now() - renewedAt < UNKNOWN_KEY_PAUSE_MS) return false;
        renewedAt = performance.now();
        void look();
      }
      if (failures === 0) await looking;
      if (failures > 0) throw unavailable();
      return true;
    },
    refresh: () => void look(),
    close() {
      closed.abort();
      clearTimeout(retry);
    },
  };
}

function unavailable(): TokenRefused {
  return new TokenRefused('The sign-on keys cannot be had right now');
}

/** The issuer without what may be secret in a URL. */
function nameOf(issuer: string): string {
  const url = URL.canParse(issuer) ? new URL(issuer) : undefined;
  return url === undefined ? 'not a URL' : `${url.origin}${url.pathname}`;
}
