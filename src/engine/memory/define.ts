import type { BaseCheckpointSaver } from '@langchain/langgraph-checkpoint';
import type { z } from 'zod';

/** How much a memory holds. */
export interface MemorySize {
  /** Bytes it takes up, indexes and the like included; in the process's memory, of the checkpoints alone. */
  readonly bytes: number;
  /** Bytes of those that are free and will be used again before it grows; null where that cannot be told. */
  readonly reusableBytes: number | null;
  readonly threads: number;
  readonly checkpoints: number;
}

/** What keeps a memory within bounds. Every method may throw what its backend throws. */
export interface MemoryUpkeep {
  size(): Promise<MemorySize>;
  /** Deletes all that is kept of a thread, subgraphs included. Cut short, it leaves the newest. */
  deleteThread(threadId: string): Promise<void>;
  /**
   * Deletes a thread's checkpoints but the newest `keep` of the graph, what belongs to them in its subgraphs, and
   * whatever only those that went have referred to. A bounded piece of work; there may be more to do.
   *
   * @param over does nothing at all while this is the graph's newest checkpoint.
   * @returns how many checkpoints were deleted.
   */
  prune(threadId: string, keep: number, over: string | undefined): Promise<number>;
}

/** An open place for conversations. */
export interface OpenedMemory {
  readonly checkpointer: BaseCheckpointSaver;
  /** Names this place: equal for two openings of the same one, new for each life of one that forgets. */
  readonly id: string;
  readonly upkeep: MemoryUpkeep;
  /**
   * Tells `failed`, once, that what a thread's run writes can no longer be kept; the run had better end then. Only a
   * memory that can be lost while it is open has it.
   *
   * @returns ends the watch.
   */
  watch?(threadId: string, failed: (error: Error) => void): () => void;
  close(): void | Promise<void>;
}

/** A kind of memory for graph agents: its configuration and how it is opened. */
export interface MemoryKind<Config extends z.ZodObject> {
  readonly config: Config;
  /**
   * Opens it, with its tables made, within a bounded time.
   *
   * @param root folder relative paths count from.
   * @throws BuildProblem, or whatever else says that it cannot be opened.
   */
  open(config: z.infer<Config>, root: string): Promise<OpenedMemory>;
}

/** Types a kind of memory. */
export function defineMemory<Config extends z.ZodObject>(kind: MemoryKind<Config>): MemoryKind<Config> {
  return kind;
}
