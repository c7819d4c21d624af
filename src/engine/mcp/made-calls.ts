/** Threads whose calls are remembered. */
const THREADS = 1_000;

/**
 * The calls that were made in a step of a graph which then stopped at a question: LangGraph begins such a step anew when
 * the question is answered, and what was done already must not be done again. Kept in this process only, across reloads.
 */
export interface MadeCalls {
  /** Does `work`, or gives what it gave when it was done under this key before. Failures are not kept. */
  once<T>(threadId: string, key: string, work: () => Promise<T>): Promise<T>;
  /** Forgets a thread's calls: its run has ended, and no question is open. */
  forget(threadId: string): void;
}

/** Makes an empty memory of calls. */
export function createMadeCalls(): MadeCalls {
  const threads = new Map<string, Map<string, Promise<unknown>>>();
  return {
    once<T>(threadId: string, key: string, work: () => Promise<T>): Promise<T> {
      const calls = threads.get(threadId) ?? new Map<string, Promise<unknown>>();
      // The thread that was used last is the last to be forgotten.
      threads.delete(threadId);
      threads.set(threadId, calls);
      const [oldest] = threads.keys();
      if (threads.size > THREADS && oldest !== undefined) threads.delete(oldest);
      const known = calls.get(key) as Promise<T> | undefined;
      if (known !== undefined) return known;
      const made = work();
      calls.set(key, made);
      made.catch(() => calls.delete(key));
      return made;
    },
    forget: (threadId) => void threads.delete(threadId),
  };
}
