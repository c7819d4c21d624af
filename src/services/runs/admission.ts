/** How a run comes to a thread that is busy. */
export type Place = 'reject' | 'last' | 'first';

/** Decides when a run may begin: one at a time per thread, and so many in all. Everything here happens at once. */
export interface Admission<Run> {
  /** Takes a place for a run that is still being prepared. @returns false when there is none left. */
  reserve(): boolean;
  /** In how many seconds there may be a place, judged by how long runs have taken of late: 1 to 60. */
  readonly retryAfter: number;
  /** Gives back a reserved place that was not used. */
  release(): void;
  /** Whether a run of the thread would begin at once. */
  isFree(threadId: string): boolean;
  /** The run that has the thread; it may still wait for a place. */
  active(threadId: string): Run | undefined;
  /** Runs that wait for the thread, the next first. */
  waiting(threadId: string): readonly Run[];
  /** Lets a run with a reserved place in, now or later; `busy` when the thread takes no more. */
  enter(run: Run, threadId: string, place: Place): 'begun' | 'waiting' | 'busy';
  /**
   * Notes that a run that was let in has ended, or no longer waits. Others may begin. Its place is given back.
   *
   * @param tookMs how long it took, if it ran.
   */
  leave(run: Run, threadId: string, tookMs?: number): void;
}

/**
 * Makes the admission of one server.
 *
 * @param options.maxRunning runs under way at once; 0 for no limit.
 * @param options.maxQueued runs that may wait beyond those.
 * @param options.maxWaiting runs that may wait on one thread.
 * @param options.begin starts a run. Must not throw.
 */
export function createAdmission<Run>(options: {
  maxRunning: number;
  maxQueued: number;
  maxWaiting: number;
  begin: (run: Run) => void;
}): Admission<Run> {
  const limit = options.maxRunning === 0 ? Number.POSITIVE_INFINITY : options.maxRunning;
  const lanes = new Map<string, { active: Run; waiting: Run[] }>();
  const running = new Set<Run>();
  /** Runs that have their thread and wait for a place. */
  const ready = new Set<Run>();
  let places = 0;
  let usualMs = 5_000;

  const fill = (): void => {
    for (const run of ready) {
      if (running.size >= limit) return;
      ready.delete(run);
      running.add(run);
      options.begin(run);
    }
  };

  return {
    reserve() {
      if (places >= limit + options.maxQueued) return false;
      places += 1;
      return true;
    },
    get retryAfter() {
      const rounds = Number.isFinite(limit) ? Math.max(1, options.maxQueued / limit) : 1;
      return Math.min(Math.max(Math.ceil((usualMs * rounds) / 1000), 1), 60);
    },
    release() {
      places -= 1;
    },
    isFree: (threadId) => !lanes.has(threadId) && running.size < limit,
    active: (threadId) => lanes.get(threadId)?.active,
    waiting: (threadId) => lanes.get(threadId)?.waiting ?? [],
    enter(run, threadId, place) {
      const lane = lanes.get(threadId);
      if (lane === undefined) {
        lanes.set(threadId, { active: run, waiting: [] });
        ready.add(run);
        fill();
        return running.has(run) ? 'begun' : 'waiting';
      }
      if (place === 'first') lane.waiting.unshift(run);
      else if (place === 'last' && lane.waiting.length < options.maxWaiting) lane.waiting.push(run);
      else return 'busy';
      return 'waiting';
    },
    leave(run, threadId, tookMs) {
      places -= 1;
      // Ten or so runs decide what is usual.
      if (tookMs !== undefined) usualMs += (tookMs - usualMs) / 8;
      running.delete(run);
      ready.delete(run);
      const lane = lanes.get(threadId);
      if (lane?.active === run) {
        const next = lane.waiting.shift();
        if (next === undefined) lanes.delete(threadId);
        else {
          lane.active = next;
          ready.add(next);
        }
      } else if (lane?.waiting.includes(run) === true) lane.waiting.splice(lane.waiting.indexOf(run), 1);
      fill();
    },
  };
}
