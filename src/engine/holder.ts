import { RunFailure } from './agent.ts';
import type { Engine } from './build.ts';

/** How long runs cut at the drain deadline may take to let go before their engine is closed under them. */
const CUT_GRACE_MS = 2_000;

/** The right to use one engine until released. The engine is not closed while a lease is out. */
export interface Lease {
  readonly engine: Engine;
  /** Counts up with each engine that was swapped in, from 1. */
  readonly generation: number;
  /** Gives the engine back. Safe to call twice. */
  release(): void;
}

/** Holds the one current engine. */
export interface EngineHolder {
  /** The engine now serving and its generation, without a lease: for looking only. */
  readonly current: { engine: Engine; generation: number } | undefined;
  /**
   * Leases the current engine; undefined while there is none.
   *
   * @param onCut called, with a {@link RunFailure} `SHUTTING_DOWN`, when the engine's drain deadline has passed.
   */
  acquire(onCut: (reason: RunFailure) => void): Lease | undefined;
  /** Puts `engine` in service at once and starts draining the one before it. Never waits. */
  swap(engine: Engine): void;
  /** Takes the current engine out of service, leaving none. Never waits. */
  clear(): void;
  /** Takes the current engine out of service and resolves when every engine is drained and closed. */
  close(): Promise<void>;
}

interface Slot {
  engine: Engine;
  generation: number;
  /** One entry per lease: how to tell its holder that time is up. */
  leases: Set<(reason: RunFailure) => void>;
  onIdle: (() => void) | undefined;
}

/**
 * Makes an empty holder.
 *
 * @param options.drainTimeoutMs how long a replaced engine's runs may go on.
 * @param options.onClosed hears of every engine that was closed, and the error if closing failed.
 */
export function createHolder(options: {
  drainTimeoutMs: number;
  onClosed: (generation: number, error?: unknown) => void;
}): EngineHolder {
  let slot: Slot | undefined;
  let generation = 0;
  let closed = false;
  const draining = new Set<Promise<void>>();

  const idle = (old: Slot, timeoutMs: number): Promise<void> =>
    new Promise((resolve) => {
      if (old.leases.size === 0) return resolve();
      const timer = setTimeout(resolve, timeoutMs);
      old.onIdle = () => {
        clearTimeout(timer);
        resolve();
      };
    });

  const retire = async (old: Slot): Promise<void> => {
    await idle(old, options.drainTimeoutMs);
    if (old.leases.size > 0) {
      const reason = new RunFailure('SHUTTING_DOWN', 'The server had to stop this run: its agent was replaced.');
      for (const onCut of old.leases) onCut(reason);
      await idle(old, CUT_GRACE_MS);
    }
    try {
      await old.engine.close();
      options.onClosed(old.generation);
    } catch (error) {
      options.onClosed(old.generation, error);
    }
  };

  const drain = (old: Slot | undefined): void => {
    if (old === undefined) return;
    const closing = retire(old).finally(() => draining.delete(closing));
    draining.add(closing);
  };

  return {
    get current() {
      return slot && { engine: slot.engine, generation: slot.generation };
    },
    acquire(onCut) {
      const held = slot;
      if (held === undefined) return undefined;
      const entry = (reason: RunFailure): void => onCut(reason);
      held.leases.add(entry);
      return {
        engine: held.engine,
        generation: held.generation,
        release() {
          if (held.leases.delete(entry) && held.leases.size === 0) held.onIdle?.();
        },
      };
    },
    swap(engine) {
      const old = slot;
      generation += 1;
      slot = { engine, generation, leases: new Set(), onIdle: undefined };
      drain(old);
      // A reload that was under way when the server closed: nobody is to use what it built.
      if (closed) {
        drain(slot);
        slot = undefined;
      }
    },
    clear() {
      drain(slot);
      slot = undefined;
    },
    async close() {
      closed = true;
      drain(slot);
      slot = undefined;
      while (draining.size > 0) await Promise.all(draining);
    },
  };
}
