import type { BaseStore } from '@langchain/langgraph-checkpoint';
import { z } from 'zod';
import { openProblem } from '../build-problem.ts';
import { createSharing } from '../sharing.ts';
import type { ItemTable } from './define.ts';
import { inProcess } from './in-process.ts';
import { postgres } from './postgres.ts';
import { sqlite } from './sqlite.ts';

/** Every kind of long-term store. A new one is a file and a line here and in the next two places. */
const KINDS = { memory: inProcess, sqlite, postgres } as const;

/** `store` of a graph agent's configuration. */
export const StoreConfig = z.discriminatedUnion('type', [
  KINDS.memory.config,
  KINDS.sqlite.config,
  KINDS.postgres.config,
]);
export type StoreConfig = z.infer<typeof StoreConfig>;

/** A share in an open long-term store. */
export interface StoreShare {
  readonly store: BaseStore;
  /** Gives the share back; the store is closed with its last one. */
  release(): Promise<void>;
}

/** Opens long-term stores and shares each between the engines that ask for the same one. */
export interface StorePool {
  /** @throws BuildProblem when the store cannot be opened. */
  acquire(config: StoreConfig): Promise<StoreShare>;
}

/** Makes an empty pool. @param root folder relative paths count from. */
export function createStorePool(root: string): StorePool {
  const tables = createSharing<ItemTable>();
  return {
    async acquire(config) {
      try {
        const { value, release } = await tables.acquire(JSON.stringify(config), () => openKind(config, root));
        // Loaded with the first store: most agents have none.
        const { ItemStore } = await import('./item-store.ts');
        return { store: new ItemStore(value), release };
      } catch (cause) {
        throw openProblem(`${config.type} store`, cause);
      }
    },
  };
}

function openKind(config: StoreConfig, root: string): Promise<ItemTable> {
  switch (config.type) {
    case 'memory':
      return KINDS.memory.open(config, root);
    case 'sqlite':
      return KINDS.sqlite.open(config, root);
    case 'postgres':
      return KINDS.postgres.open(config, root);
  }
}
