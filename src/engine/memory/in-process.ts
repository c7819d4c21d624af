import { randomUUID } from 'node:crypto';
import { MemorySaver } from '@langchain/langgraph-checkpoint';
import { z } from 'zod';
import { defineMemory } from './define.ts';

/** Conversations in this process's memory; they end with it. */
export const inProcess = defineMemory({
  config: z.object({ type: z.literal('memory') }),
  async open() {
    return { checkpointer: new MemorySaver(), id: `memory:${randomUUID()}`, close() {} };
  },
});
