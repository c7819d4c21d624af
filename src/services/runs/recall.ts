import { randomUUID } from 'node:crypto';
import { type Event, EventType, type Interrupt } from '../../engine/events.ts';
import type { RunRow } from '../../store/run-store.ts';
import type { ThreadRow, ThreadStore } from '../../store/thread-store.ts';
import type { WithEngine } from '../with-engine.ts';
import type { Reading, RunReader } from './live-run.ts';

/** Tells of runs and threads nothing is going on with, out of what is stored. Throws Problem `agent_not_ready`. */
export interface Recall {
  /** A run that is no longer in memory: its thread's snapshots, and how it ended. */
  run(row: RunRow, reader: RunReader): Promise<Reading>;
  /** An idle thread: its snapshots and open interrupts. */
  thread(thread: ThreadRow, lastRunId: string | undefined, reader: RunReader): Promise<Reading>;
}

/** Makes the recall over what is stored. */
export function createRecall(withEngine: WithEngine, threads: ThreadStore): Recall {
  /** What there is to show of a thread, and its open interrupts. */
  const look = (thread: ThreadRow | undefined): Promise<{ shown: Event[]; interrupts: Interrupt[] }> =>
    withEngine(async ({ agent: { history } }) => {
      const shown: Event[] = [];
      // Another memory knows nothing of it; to show that as an empty conversation would wipe the client's.
      const known = thread !== undefined && history?.storeId === thread.storeId;
      const interrupts = known ? await history.show(thread.id, thread, (event) => shown.push(event)) : [];
      return { shown, interrupts };
    });
  const tell = (reader: RunReader, events: Event[]): Reading => {
    for (const event of events) reader(JSON.stringify(event), undefined);
    return { done: Promise.resolve(), detach: () => undefined };
  };
  return {
    async run(row, reader) {
      const { id: runId, threadId } = row;
      const { shown, interrupts } = await look(await threads.find(threadId, row.userId));
      return tell(reader, [{ type: EventType.RUN_STARTED, threadId, runId }, ...shown, terminalOf(row, interrupts)]);
    },
    async thread(thread, lastRunId, reader) {
      const ids = { threadId: thread.id, runId: lastRunId ?? randomUUID() };
      const { shown, interrupts } = await look(thread);
      return tell(reader, [
        { type: EventType.RUN_STARTED, ...ids },
        ...shown,
        { type: EventType.RUN_FINISHED, ...ids, outcome: outcomeOf(interrupts) },
      ]);
    },
  };
}

/** How a run ended, as the event that ended it. */
function terminalOf({ id: runId, threadId, status, errorCode }: RunRow, interrupts: Interrupt[]): Event {
  const finished = { type: EventType.RUN_FINISHED, threadId, runId } as const;
  switch (status) {
    case 'finished':
      return { ...finished, outcome: { type: 'success' } };
    case 'awaiting_input':
      return { ...finished, outcome: outcomeOf(interrupts) };
    case 'cancelled':
      return { ...finished, outcome: { type: 'cancelled' } };
    case 'interrupted':
      return {
        type: EventType.RUN_ERROR,
        message: 'The server stopped while this run was under way. The thread is where it was at its last checkpoint.',
        code: errorCode ?? 'RUN_LOST',
      };
    default:
      return {
        type: EventType.RUN_ERROR,
        message: 'The agent could not complete this run.',
        code: errorCode ?? 'FRAMEWORK_ERROR',
      };
  }
}

function outcomeOf(interrupts: Interrupt[]): { type: 'interrupt'; interrupts: Interrupt[] } | { type: 'success' } {
  return interrupts.length > 0 ? { type: 'interrupt', interrupts } : { type: 'success' };
}
