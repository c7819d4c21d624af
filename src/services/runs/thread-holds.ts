/** Keeps runs and what tidies up threads from meeting on one thread. Everything here happens at once. */
export interface ThreadHolds {
  /** Notes that a run of the thread has come. */
  enter(threadId: string): void;
  /** Notes that it is gone: over and stored, or refused. */
  leave(threadId: string): void;
  /** Resolves when nobody holds the thread. To be called by a run that has entered, before it looks at its thread. */
  free(threadId: string): Promise<void>;
  /**
   * Holds the thread, so that runs which come wait a moment.
   *
   * @returns ends the hold; undefined where a run is under way or the thread is held already.
   */
  hold(threadId: string): (() => void) | undefined;
}

/** Makes the holds of one server. */
export function createThreadHolds(): ThreadHolds {
  const runs = new Map<string, number>();
  const held = new Map<string, Promise<void>>();
  return {
    enter: (threadId) => void runs.set(threadId, (runs.get(threadId) ?? 0) + 1),
    leave(threadId) {
      const left = (runs.get(threadId) ?? 1) - 1;
      if (left === 0) runs.delete(threadId);
      else runs.set(threadId, left);
    },
    async free(threadId) {
      // Once it is free it stays so, since a run is here.
      await held.get(threadId);
    },
    hold(threadId) {
      if (runs.has(threadId) || held.has(threadId)) return undefined;
      let release = (): void => undefined;
      const over = new Promise<void>((resolve) => {
        release = resolve;
      });
      held.set(threadId, over);
      return () => {
        held.delete(threadId);
        release();
      };
    },
  };
}
