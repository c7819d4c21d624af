import { z } from 'zod';
import { defineMemory, type MemorySize, type MemoryUpkeep } from './define.ts';
import { openPostgres, type PostgresPool, PostgresUrl, placeOf } from './postgres-pool.ts';
import { createPostgresSaver, type PostgresSaving } from './postgres-saver.ts';
import { type CheckpointName, surplus } from './surplus.ts';

/** Conversations in PostgreSQL; they outlive the process, and PostgreSQL may come and go under them. */
export const postgres = defineMemory({
  config: z.object({ type: z.literal('postgres'), db_url: PostgresUrl }),
  async open({ db_url }) {
    const { PostgresSaver } = await import('@langchain/langgraph-checkpoint-postgres');
    const opened = await openPostgres(db_url, 'checkpoints', async ({ pool }) => {
      try {
        await new PostgresSaver(pool).setup();
      } catch (error) {
        // Setting up asks for the right to make schemas even where all is there.
        const { rows } = await pool.query("SELECT to_regclass('public.checkpoint_writes') AS name");
        if ((error as { code?: string }).code !== '42501' || rows[0]?.name === null) throw error;
      }
    });
    const { checkpointer, watch, settled } = await createPostgresSaver(opened.pool);
    return {
      checkpointer,
      watch,
      id: `postgres:${placeOf(db_url)}`,
      upkeep: upkeepOf(opened, settled),
      close: () => opened.close(),
    };
  },
});

const TABLES = ['checkpoint_writes', 'checkpoint_blobs', 'checkpoints'];

/** Deletes the values that no checkpoint of the thread refers to any more. */
const DELETE_STRAY_BLOBS = `
  WITH live AS MATERIALIZED (
    SELECT DISTINCT c.checkpoint_ns, v.key, v.value
    FROM public.checkpoints c, jsonb_each_text(c.checkpoint -> 'channel_versions') v
    WHERE c.thread_id = $1
  )
  DELETE FROM public.checkpoint_blobs b
  WHERE b.thread_id = $1 AND NOT EXISTS (
    SELECT 1 FROM live WHERE live.checkpoint_ns = b.checkpoint_ns AND live.key = b.channel AND live.value = b.version
  )`;

function upkeepOf({ pool, transaction }: PostgresPool, settled: PostgresSaving['settled']): MemoryUpkeep {
  return {
    async size() {
      const { rows } = await pool.query<MemorySize>(
        `SELECT (${TABLES.map((table) => `pg_total_relation_size('public.${table}')`).join(' + ')})::float8 AS bytes,
           count(DISTINCT thread_id)::int AS threads, count(*)::int AS checkpoints FROM public.checkpoints`,
      );
      return { threads: 0, checkpoints: 0, bytes: 0, ...rows[0], reusableBytes: null };
    },
    async deleteThread(threadId) {
      await settled(threadId);
      await transaction(async (client) => {
        for (const table of TABLES) await client.query(`DELETE FROM public.${table} WHERE thread_id = $1`, [threadId]);
      });
    },
    async prune(threadId, keep, over) {
      await settled(threadId);
      const { rows } = await pool.query<CheckpointName>(
        'SELECT checkpoint_ns AS ns, checkpoint_id AS id FROM public.checkpoints WHERE thread_id = $1',
        [threadId],
      );
      const doomed = surplus(rows, keep, over);
      if (doomed.length === 0) return 0;
      const values = [threadId, doomed.map(({ ns }) => ns), doomed.map(({ id }) => id)];
      await transaction(async (client) => {
        for (const table of ['checkpoint_writes', 'checkpoints']) {
          await client.query(
            `DELETE FROM public.${table} WHERE thread_id = $1
               AND (checkpoint_ns, checkpoint_id) IN (SELECT * FROM unnest($2::text[], $3::text[]))`,
            values,
          );
        }
        await client.query(DELETE_STRAY_BLOBS, [threadId]);
      });
      return doomed.length;
    },
  };
}
