import type { BaseCheckpointSaver } from '@langchain/langgraph-checkpoint';
import type { z } from 'zod';

/** An open place for conversations. */
export interface OpenedMemory {
  readonly checkpointer: BaseCheckpointSaver;
  /** Names this place: equal for two openings of the same one, new for each life of one that forgets. */
  readonly id: string;
  close(): void | Promise<void>;
}

/** A kind of memory for graph agents: its configuration and how it is opened. */
export interface MemoryKind<Config extends z.ZodObject> {
  readonly config: Config;
  /** @param root folder relative paths count from. @throws when it cannot be opened. */
  open(config: z.infer<Config>, root: string): Promise<OpenedMemory>;
}

/** Types a kind of memory. */
export function defineMemory<Config extends z.ZodObject>(kind: MemoryKind<Config>): MemoryKind<Config> {
  return kind;
}
