import { z } from 'zod';
import type { Env } from '../env.ts';
import type { Database } from '../store/database.ts';
import type { Pruned, Retention } from './retention.ts';
import type { WithEngine } from './with-engine.ts';

const PrunedShown = z.object({
  at: z.iso.datetime(),
  checkpoints: z.int().describe('Checkpoints deleted, those of deleted threads not counted.'),
  threads: z.int().describe('Threads deleted whole.'),
});

/** How much is stored where, and what keeps it from growing. */
export const StorageReport = z
  .object({
    database: z.object({
      backend: z.literal('sqlite'),
      bytes: z.int(),
      reusableBytes: z.int().describe('Part of `bytes` that is free and will be used again.'),
    }),
    memory: z
      .object({
        backend: z.string().describe('`memory`, `sqlite` or `postgres`.'),
        bytes: z.int().nullable().describe('Tables and indexes; null when the memory cannot be asked.'),
        reusableBytes: z.int().nullable(),
        threads: z.int().nullable(),
        checkpoints: z.int().nullable(),
        error: z.string().nullable().describe('Why the memory could not be asked.'),
      })
      .nullable()
      .describe("Where the conversations are; null where the agent keeps none, or keeps them by its own code's means."),
    pruning: z.object({
      keepCheckpoints: z.int().describe('SERVICE_CHECKPOINT_KEEP; 0 keeps all.'),
      threadTtlDays: z.int().describe('SERVICE_THREAD_TTL_DAYS; 0 keeps threads for good.'),
      lastRound: PrunedShown.nullable().describe('The last look at all threads; null before the first is over.'),
      afterRuns: PrunedShown.nullable().describe('What was done after runs since the server started.'),
    }),
  })
  .meta({
    id: 'StorageReport',
    examples: [
      {
        database: { backend: 'sqlite', bytes: 122880, reusableBytes: 0 },
        memory: {
          backend: 'postgres',
          bytes: 2367488,
          reusableBytes: null,
          threads: 12,
          checkpoints: 640,
          error: null,
        },
        pruning: {
          keepCheckpoints: 100,
          threadTtlDays: 0,
          lastRound: { at: '2026-01-01T00:00:00.000Z', checkpoints: 250, threads: 0 },
          afterRuns: null,
        },
      },
    ],
  });
export type StorageReport = z.infer<typeof StorageReport>;

/** Tells how much is stored. */
export interface Storage {
  report(): Promise<StorageReport>;
}

/** Makes the report of one server. */
export function createStorage(options: {
  env: Pick<Env, 'SERVICE_CHECKPOINT_KEEP' | 'SERVICE_THREAD_TTL_DAYS'>;
  database: Database;
  withEngine: WithEngine;
  retention: Retention;
  log: { warn(details: object, message: string): void };
}): Storage {
  const { env, database, withEngine, retention, log } = options;
  const memory = async (): Promise<StorageReport['memory']> => {
    let backend = '';
    try {
      return await withEngine(async ({ agent: { history } }) => {
        const upkeep = history?.upkeep;
        if (upkeep === undefined) return null;
        backend = upkeep.kind;
        return { backend, ...(await upkeep.size()), error: null };
      });
    } catch (err) {
      // Without an agent there is no memory either.
      if (backend === '') return null;
      log.warn({ err }, 'the size of the memory could not be told');
      const unknown = { bytes: null, reusableBytes: null, threads: null, checkpoints: null };
      return { backend, ...unknown, error: 'The memory cannot be asked. The log says why.' };
    }
  };
  return {
    async report() {
      return {
        database: { backend: 'sqlite', ...(await database.size()) },
        memory: await memory(),
        pruning: {
          keepCheckpoints: env.SERVICE_CHECKPOINT_KEEP,
          threadTtlDays: env.SERVICE_THREAD_TTL_DAYS,
          lastRound: shown(retention.round),
          afterRuns: shown(retention.afterRuns),
        },
      };
    },
  };
}

function shown(pruned: Pruned | undefined) {
  return pruned === undefined ? null : { ...pruned, at: new Date(pruned.at).toISOString() };
}
