/** What is kept of all threads together: calls, and characters of their results. */
const CALLS = 10_000;
const SIZE = 32 * 1024 * 1024;

/**
 * The calls that were made in a step of a graph which then stopped at a question: LangGraph begins such a step anew when
 * the question is answered, and what was done already must not be done again. Kept in this process only, across reloads.
 */
export interface MadeCalls {
  /** Does `work`, or gives what it gave when it was done under this key before. Failures are not kept. */
  once<T extends { size: number }>(threadId: string, key: string, work: () => Promise<T>): Promise<T>;
  /** Forgets a thread's calls: its run has ended, and no question is open. */
  forget(threadId: string): void;
}

interface Thread {
  calls: Map<string, Promise<unknown>>;
  size: number;
}

/** Makes an empty memory of calls. The threads that were used longest ago are the first to be forgotten. */
export function createMadeCalls(): MadeCalls {
  const threads = new Map<string, Thread>();
  let calls = 0;
  let size = 0;

  const forget = (threadId: string): void => {
    const thread = threads.get(threadId);
    if (thread === undefined) return;
    threads.delete(threadId);
    calls -= thread.calls.size;
    size -= thread.size;
  };
  const shrink = (): void => {
    for (const threadId of threads.keys()) {
      if (calls <= CALLS && size <= SIZE) return;
      forget(threadId);
    }
  };

  return {
    once<T extends { size: number }>(threadId: string, key: string, work: () => Promise<T>): Promise<T> {
      const thread = threads.get(threadId) ?? { calls: new Map<string, Promise<unknown>>(), size: 0 };
      threads.delete(threadId);
      threads.set(threadId, thread);
      const known = thread.calls.get(key) as Promise<T> | undefined;
      if (known !== undefined) return known;
      const made = work();
      thread.calls.set(key, made);
      calls += 1;
      const isKept = (): boolean => threads.get(threadId) === thread;
      made.then(
        (result) => {
          if (!isKept()) return;
          thread.size += result.size;
          size += result.size;
          shrink();
        },
        () => {
          if (thread.calls.delete(key) && isKept()) calls -= 1;
        },
      );
      shrink();
      return made;
    },
    forget,
  };
}
