/** How hard to try when the connection is lost. */
export interface ReconnectOptions {
  /** Upper bound of the delay before the first attempt, in milliseconds; it doubles with each. Default 250. */
  initialDelayMs?: number;
  /** Upper bound of every delay, in milliseconds, also of one the server asks for. Default 10000. */
  maxDelayMs?: number;
  /** Attempts since anything was last received, after which the run fails. 0 never reconnects. Default 10. */
  maxAttempts?: number;
  /**
   * Silence after which a connection counts as lost, in milliseconds. Must be longer than the server's heartbeat
   * (`SERVICE_HEARTBEAT_SECONDS`, 15 seconds). 0 for no limit. Default 60000.
   */
  silenceMs?: number;
}

/** Puts in the defaults. */
export function completed(options: ReconnectOptions = {}): Required<ReconnectOptions> {
  const { initialDelayMs = 250, maxDelayMs = 10_000, maxAttempts = 10, silenceMs = 60_000 } = options;
  for (const [name, value] of Object.entries({ initialDelayMs, maxDelayMs, maxAttempts, silenceMs })) {
    if (!(value >= 0)) throw new TypeError(`reconnect.${name} must be a number from 0, not ${value}`);
  }
  return { initialDelayMs, maxDelayMs, maxAttempts, silenceMs };
}

/**
 * How long to wait before an attempt, the first being 1: exponential, with full jitter so that the clients of a server
 * that comes back do not all arrive at once.
 *
 * @param retryAfterMs what the server asked for.
 */
export function delayBefore(attempt: number, options: Required<ReconnectOptions>, retryAfterMs = 0): number {
  const { initialDelayMs, maxDelayMs } = options;
  const bound = Math.min(maxDelayMs, initialDelayMs * 2 ** (attempt - 1));
  return Math.min(maxDelayMs, retryAfterMs + Math.random() * bound);
}

/** The milliseconds in an answer's `Retry-After`; 0 without one. */
export function retryAfterMs(response: Response): number {
  const seconds = Number(response.headers.get('retry-after'));
  return seconds > 0 ? seconds * 1000 : 0;
}

/** Waits, but no longer than until `signal` is aborted. */
export function wait(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener('abort', done);
    if (signal?.aborted === true) done();
  });
}
