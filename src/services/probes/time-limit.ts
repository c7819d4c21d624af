import { setMaxListeners } from 'node:events';
import { ConnectionFailure } from '../../outbound/failure.ts';

/** What a check may take in all. */
const LIMIT_MS = 5_000;

/** The part of it that is kept for stopping what is under way. */
const STOPPING_MS = 250;

/**
 * Does `work` within five seconds. Its signal tells it to stop at once, also when it has ended; what it does then has
 * a moment, and is awaited.
 *
 * @throws what `work` throws, or a ConnectionFailure when time is up.
 */
export async function withinLimit<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  // Every request of a check may listen to it.
  setMaxListeners(0, controller.signal);
  const timer: { limit?: NodeJS.Timeout; stopping?: NodeJS.Timeout } = {};
  const up = new Promise<never>((_, reject) => {
    timer.limit = setTimeout(
      () => reject(new ConnectionFailure(`No answer within ${LIMIT_MS / 1000} seconds`)),
      LIMIT_MS - STOPPING_MS,
    );
  });
  const done = work(controller.signal);
  try {
    return await Promise.race([done, up]);
  } finally {
    clearTimeout(timer.limit);
    controller.abort();
    const stopping = new Promise<void>((resolve) => {
      timer.stopping = setTimeout(resolve, STOPPING_MS);
    });
    await Promise.race([done.then(nothing, nothing), stopping]);
    clearTimeout(timer.stopping);
  }
}

function nothing(): void {}
