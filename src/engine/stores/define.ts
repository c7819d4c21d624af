import type { z } from 'zod';

/** An item as it is stored. */
export interface StoredItem {
  /** The labels, each followed by a period, which none may contain: so a prefix ends between labels. */
  namespace: string;
  key: string;
  /** JSON text. */
  value: string;
  /** Epoch milliseconds. */
  createdAt: number;
  updatedAt: number;
}

/** Where a long-term store keeps its items. */
export interface ItemTable {
  get(namespace: string, key: string): Promise<StoredItem | undefined>;
  /** Adds an item, or gives the one that is there a new value. @param now epoch milliseconds. */
  put(item: Pick<StoredItem, 'namespace' | 'key' | 'value'>, now: number): Promise<void>;
  delete(namespace: string, key: string): Promise<void>;
  /** Items whose namespace begins with `prefix`, those written last first. */
  scan(prefix: string, limit: number, offset: number): Promise<StoredItem[]>;
  /** The namespaces that begin with `prefix` and hold something, in their order. */
  namespaces(prefix: string): Promise<string[]>;
  close(): void | Promise<void>;
}

/** A kind of long-term store: its configuration and how it is opened. */
export interface StoreKind<Config extends z.ZodObject> {
  readonly config: Config;
  /** @param root folder relative paths count from. @throws BuildProblem, or whatever says that it cannot be opened. */
  open(config: z.infer<Config>, root: string): Promise<ItemTable>;
}

/** Types a kind of long-term store. */
export function defineStore<Config extends z.ZodObject>(kind: StoreKind<Config>): StoreKind<Config> {
  return kind;
}
