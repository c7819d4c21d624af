import type { BaseCheckpointSaver } from '@langchain/langgraph-checkpoint';
import { z } from 'zod';
import { BuildProblem } from '../build-problem.ts';
import type { OpenedMemory } from './define.ts';
import { inProcess } from './in-process.ts';
import { sqlite } from './sqlite.ts';

/** Every kind of memory a graph agent can have. A new one is a file and a line here. */
const KINDS = { memory: inProcess, sqlite } as const;

/** `checkpointer` of a graph agent's configuration. */
export const CheckpointerConfig = z.discriminatedUnion('type', [KINDS.memory.config, KINDS.sqlite.config], {
  error: (issue) =>
    issue.code === 'invalid_union'
      ? `must be ${Object.keys(KINDS).join(' or ')}: other kinds are not supported by this version`
      : undefined,
});
export type CheckpointerConfig = z.infer<typeof CheckpointerConfig>;

/** A share in an open memory. */
export interface MemoryShare {
  readonly checkpointer: BaseCheckpointSaver;
  readonly id: string;
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
  const open = new Map<string, { memory: Promise<OpenedMemory>; shares: number }>();
  return {
    async acquire(config) {
      const key = JSON.stringify(config);
      const entry = open.get(key) ?? { memory: openKind(config, root), shares: 0 };
      open.set(key, entry);
      entry.shares += 1;
      let released = false;
      const release = async (): Promise<void> => {
        if (released) return;
        released = true;
        entry.shares -= 1;
        if (entry.shares > 0) return;
        open.delete(key);
        await (await entry.memory).close();
      };
      try {
        const { checkpointer, id } = await entry.memory;
        return { checkpointer, id, release };
      } catch (error) {
        open.delete(key);
        throw new BuildProblem(
          `The ${config.type} memory cannot be opened: check its db_url and the rights of its folder.`,
          {
            cause: error,
          },
        );
      }
    },
  };
}

function openKind(config: CheckpointerConfig, root: string): Promise<OpenedMemory> {
  switch (config.type) {
    case 'memory':
      return KINDS.memory.open(config, root);
    case 'sqlite':
      return KINDS.sqlite.open(config, root);
  }
}
