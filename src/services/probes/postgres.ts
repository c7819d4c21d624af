import { tellPostgres } from '../../engine/memory/postgres-failure.ts';
import { connectionOf, PostgresUrl } from '../../engine/memory/postgres-pool.ts';
import { ConnectionFailure } from '../../outbound/failure.ts';

/**
 * Connects to a PostgreSQL database and asks it something trivial.
 *
 * @throws ConnectionFailure when it could not be used.
 */
export async function checkPostgres(url: string, signal: AbortSignal): Promise<void> {
  if (!PostgresUrl.safeParse(url).success)
    throw new ConnectionFailure('db_url: must be a URL of a PostgreSQL database');
  const { default: pg } = await import('pg');
  try {
    const client = new pg.Client(connectionOf(url));
    // What still comes after the check has been given up.
    client.on('error', () => undefined);
    const stop = (): void => void client.end().catch(() => undefined);
    signal.addEventListener('abort', stop, { once: true });
    await client.connect();
    await client.query('SELECT 1');
    await client.end();
  } catch (error) {
    throw new ConnectionFailure(tellPostgres(error));
  }
}
