import type { BaseCheckpointSaver } from '@langchain/langgraph-checkpoint';
import { z } from 'zod';
import { openProblem } from '../build-problem.ts';
import { createSharing } from '../sharing.ts';
import type { MemoryUpkeep, OpenedMemory } from './define.ts';
import { inProcess } from './in-process.ts';
import { postgres } from './postgres.ts';
import { sqlite } from './sqlite.ts';

/** Every kind of memory a graph agent can have. A new one is a file and a line here and in the next two places. */
const KINDS = { memory: inProcess, sqlite, postgres } as const;

/** `checkpointer` of a graph agent's configuration. */
export const CheckpointerConfig = z.discriminatedUnion(
  'type',
  [KINDS.memory.config, KINDS.sqlite.config, KINDS.postgres.config],
  {
    error: (issue) =>
      issue.code === 'invalid_union'
        ? `must be ${Object.keys(KINDS).join(' or ')}: other kinds are not supported by this version`
        : undefined,
  },
);
export type CheckpointerConfig = z.infer<typeof CheckpointerConfig>;

/** A share in an open memory. */
export interface MemoryShare {
  readonly checkpointer: BaseCheckpointSaver;
  readonly id: string;
  readonly kind: CheckpointerConfig['type'];
  readonly upkeep: MemoryUpkeep;
  readonly watch: OpenedMemory['watch'];
  /** Gives the share back; the memory is closed with its last one. */
  release(): Promise<void>;
}

/** Opens memories and shares each between the engines that ask for the same one. */
export interface MemoryPool {
  /** @throws BuildProblem when the memory cannot be opened. */
  acquire(config: CheckpointerConfig): Promise<MemoryShare>;
}

/**
 * Makes an empty pool. Across a reload the new engine is built before the old one is closed, so an unchanged memory
 * stays open: conversations in the process's memory live on, and no file is opened twice.
 *
 * @param root folder relative paths count from.
 */
export function createMemoryPool(root: string): MemoryPool {
  const memories = createSharing<OpenedMemory>();
  return {
    async acquire(config) {
      const { value, release } = await memories
        .acquire(JSON.stringify(config), () => openKind(config, root))
        .catch((cause: unknown) => {
          throw openProblem(`${config.type} memory`, cause);
        });
      const { checkpointer, id, upkeep, watch } = value;
      return { checkpointer, id, kind: config.type, upkeep, watch, release };
    },
  };
}

function openKind(config: CheckpointerConfig, root: string): Promise<OpenedMemory> {
  switch (config.type) {
    case 'memory':
      return KINDS.memory.open(config, root);
    case 'sqlite':
      return KINDS.sqlite.open(config, root);
    case 'postgres':
      return KINDS.postgres.open(config, root);
  }
}
