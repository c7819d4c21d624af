import { z } from 'zod';
import { openPostgres, PostgresUrl } from '../memory/postgres-pool.ts';
import { defineStore, type StoredItem } from './define.ts';
import { endOf } from './range.ts';

const COLUMNS = 'namespace, key, value, created_at AS "createdAt", updated_at AS "updatedAt"';

/** Times are floating-point, which the driver gives as numbers. Bytes decide the order of namespaces. */
const TABLE = `CREATE TABLE IF NOT EXISTS public.store_items (
  namespace TEXT COLLATE "C" NOT NULL,
  key TEXT COLLATE "C" NOT NULL,
  value TEXT NOT NULL,
  created_at DOUBLE PRECISION NOT NULL,
  updated_at DOUBLE PRECISION NOT NULL,
  PRIMARY KEY (namespace, key)
)`;

/** Items in PostgreSQL, in a database that may be the one the conversations are in. */
export const postgres = defineStore({
  config: z.object({ type: z.literal('postgres'), db_url: PostgresUrl }),
  async open({ db_url }) {
    const { pool, close } = await openPostgres(db_url, 'store', async (opened) => {
      const { rows } = await opened.pool.query("SELECT to_regclass('public.store_items') AS name");
      if (rows[0]?.name === null) await opened.pool.query(TABLE);
    });
    return {
      async get(namespace, key) {
        const { rows } = await pool.query<StoredItem>(
          `SELECT ${COLUMNS} FROM public.store_items WHERE namespace = $1 AND key = $2`,
          [namespace, key],
        );
        return rows[0];
      },
      async put({ namespace, key, value }, now) {
        await pool.query(
          `INSERT INTO public.store_items VALUES ($1, $2, $3, $4, $4)
           ON CONFLICT (namespace, key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at`,
          [namespace, key, value, now],
        );
      },
      async delete(namespace, key) {
        await pool.query('DELETE FROM public.store_items WHERE namespace = $1 AND key = $2', [namespace, key]);
      },
      async scan(prefix, limit, offset) {
        const { rows } = await pool.query<StoredItem>(
          `SELECT ${COLUMNS} FROM public.store_items WHERE namespace >= $1 AND namespace < $2
           ORDER BY updated_at DESC, namespace, key LIMIT $3 OFFSET $4`,
          [prefix, endOf(prefix), limit, offset],
        );
        return rows;
      },
      async namespaces(prefix) {
        const { rows } = await pool.query<{ namespace: string }>(
          'SELECT DISTINCT namespace FROM public.store_items WHERE namespace >= $1 AND namespace < $2 ORDER BY namespace',
          [prefix, endOf(prefix)],
        );
        return rows.map(({ namespace }) => namespace);
      },
      close,
    };
  },
});
