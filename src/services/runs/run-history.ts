import type { RunStore } from '../../store/run-store.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/**
 * Ends the runs that a server which stopped without a word left open, and forgets old ones, now and every hour.
 *
 * @param days how far back the list of runs goes; 0 for no end.
 */
export async function createRunHistory(
  store: RunStore,
  days: number,
  log: { warn(details: object, message: string): void; error(details: object, message: string): void },
): Promise<{ close(): void }> {
  const lost = await store.closeOpen('RUN_LOST', Date.now());
  if (lost > 0) log.warn({ runs: lost }, 'runs were under way when the server stopped; they are marked interrupted');
  if (days === 0) return { close: () => undefined };
  const prune = (): Promise<void> =>
    store
      .prune(Date.now() - days * DAY_MS)
      .catch((err: unknown) => log.error({ err }, 'old runs could not be forgotten'));
  await prune();
  const timer = setInterval(() => void prune(), HOUR_MS);
  timer.unref();
  return { close: () => clearInterval(timer) };
}
