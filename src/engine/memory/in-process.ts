import { randomUUID } from 'node:crypto';
import { MemorySaver } from '@langchain/langgraph-checkpoint';
import { z } from 'zod';
import { defineMemory, type MemoryUpkeep } from './define.ts';
import { type CheckpointName, surplus } from './surplus.ts';

/** What the ids of memories begin with that end with their process. */
const FORGETS = 'memory:';

/** Whether what was kept in the memory of this id is gone for good, unless that one is still open. */
export function forgets(storeId: string): boolean {
  return storeId === '' || storeId.startsWith(FORGETS);
}

/** Conversations in this process's memory; they end with it. */
export const inProcess = defineMemory({
  config: z.object({ type: z.literal('memory') }),
  async open() {
    const checkpointer = new MemorySaver();
    return { checkpointer, id: `${FORGETS}${randomUUID()}`, upkeep: upkeepOf(checkpointer), close() {} };
  },
});

function upkeepOf(saver: MemorySaver): MemoryUpkeep {
  const namesOf = (threadId: string): CheckpointName[] =>
    Object.entries(saver.storage[threadId] ?? {}).flatMap(([ns, kept]) => Object.keys(kept).map((id) => ({ ns, id })));
  return {
    async size() {
      let bytes = 0;
      let checkpoints = 0;
      for (const spaces of Object.values(saver.storage)) {
        for (const kept of Object.values(spaces)) {
          for (const [checkpoint, metadata] of Object.values(kept)) {
            checkpoints += 1;
            bytes += checkpoint.length + metadata.length;
          }
        }
      }
      for (const writes of Object.values(saver.writes)) {
        for (const [, , value] of Object.values(writes)) bytes += value.length;
      }
      return { bytes, reusableBytes: null, threads: Object.keys(saver.storage).length, checkpoints };
    },
    deleteThread: (threadId) => saver.deleteThread(threadId),
    async prune(threadId, keep, over) {
      const doomed = surplus(namesOf(threadId), keep, over);
      for (const { ns, id } of doomed) {
        delete saver.storage[threadId]?.[ns]?.[id];
        delete saver.writes[JSON.stringify([threadId, ns, id])];
      }
      const spaces = saver.storage[threadId] ?? {};
      for (const [ns, kept] of Object.entries(spaces)) if (Object.keys(kept).length === 0) delete spaces[ns];
      return doomed.length;
    },
  };
}
