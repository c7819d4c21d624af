import type { Engine } from '../engine/build.ts';
import type { EngineHolder } from '../engine/holder.ts';
import { MemoryUnreachable } from '../engine/memory/postgres-failure.ts';
import { problem } from '../problems.ts';

/**
 * Looks at the current engine, which stays open meanwhile. Throws Problem `agent_not_ready` without one, and
 * `memory_unreachable` where its memory is.
 */
export type WithEngine = <T>(look: (engine: Engine) => T | Promise<T>) => Promise<T>;

/** Makes the way to look at a holder's engine. @param notReady why there is no agent, to be shown to the caller. */
export function createWithEngine(holder: EngineHolder, notReady: () => string): WithEngine {
  return async (look) => {
    const lease = holder.acquire(() => undefined);
    if (lease === undefined) throw problem('agent_not_ready', { message: notReady() });
    try {
      return await look(lease.engine);
    } catch (error) {
      throw error instanceof MemoryUnreachable ? problem('memory_unreachable', { cause: error }) : error;
    } finally {
      lease.release();
    }
  };
}
