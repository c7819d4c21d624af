import type { HttpAgentFetchFn } from '@ag-ui/client';
import { errorOf, HttpError, isTransient } from './errors.ts';
import { delayBefore, type ReconnectOptions, wait } from './reconnect.ts';
import type { RunRecord } from './run-record.ts';

/** How often to ask for the end of a run whose reader has left. */
const QUIET_ATTEMPTS = 4;

/**
 * Asks the server to cancel a run.
 *
 * @throws HttpError when the server refuses.
 */
export async function cancelRun(
  fetch: HttpAgentFetchFn,
  url: string,
  headers: Record<string, string>,
): Promise<RunRecord> {
  // Kept alive, so that a page may close right after.
  const init = { method: 'POST', headers: { ...headers, Accept: 'application/json' }, keepalive: true };
  const response = await fetch(url, init);
  if (!response.ok) throw await errorOf(response);
  return (await response.json()) as RunRecord;
}

/**
 * Asks for the end of a run, again when the server cannot be reached, and leaves it at that.
 *
 * @param started whether the server is known to have the run: one that was just posted may not have arrived yet.
 */
export function cancelQuietly(
  cancel: () => Promise<unknown>,
  reconnect: Required<ReconnectOptions>,
  started: boolean,
): void {
  const mayCome = (error: unknown): boolean => !started && error instanceof HttpError && error.status === 404;
  const ask = async (): Promise<void> => {
    for (let attempt = 1; attempt <= QUIET_ATTEMPTS; attempt += 1) {
      try {
        await cancel();
        return;
      } catch (error) {
        if (!isTransient(error) && !mayCome(error)) return;
      }
      await wait(delayBefore(attempt, reconnect));
    }
  };
  // Whoever aborts does not wait for this and could do nothing about its failure.
  ask().catch(() => undefined);
}
