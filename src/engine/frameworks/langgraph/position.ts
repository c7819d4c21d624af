import type { ThreadPosition } from '../../agent.ts';
import { isRecord } from '../../encode.ts';
import type { CompiledGraph, ThreadState } from './shapes.ts';

/** Where a thread stands, read from its checkpoints. */
export interface ThreadReading {
  state: ThreadState;
  /** Checkpoint to go on from where that is not the newest, because what came after it was forgotten. */
  rewoundTo: string | undefined;
}

/**
 * Reads a thread. A forgotten run's checkpoints stay in the memory, which is append-only: the position's `head` names
 * the checkpoint before them, and holds until something newer is written.
 */
export async function readThread(
  graph: CompiledGraph,
  threadId: string,
  { head }: ThreadPosition,
): Promise<ThreadReading> {
  const newest = await graph.getState({ configurable: { thread_id: threadId } });
  const rewind = parseHead(head);
  if (rewind === undefined || rewind.over !== checkpointId(newest)) return { state: newest, rewoundTo: undefined };
  const state = await graph.getState({ configurable: { thread_id: threadId, checkpoint_id: rewind.at } });
  return { state, rewoundTo: rewind.at };
}

/**
 * Forgets what was written since `found` was read.
 *
 * @returns the thread's new head.
 */
export async function rewind(graph: CompiledGraph, threadId: string, found: ThreadReading): Promise<string | null> {
  const at = checkpointId(found.state);
  if (at === undefined) {
    // Nothing was there before, so there is nothing to go back to and nothing to lose.
    const saver = graph.checkpointer;
    if (typeof saver === 'object') await saver.deleteThread(threadId);
    return null;
  }
  const over = checkpointId(await graph.getState({ configurable: { thread_id: threadId } }));
  return over === at ? null : JSON.stringify({ at, over });
}

/** The newest checkpoint of a thread that goes on before it, for as long as it is the newest. */
export function rewoundOver({ head }: ThreadPosition): string | undefined {
  return parseHead(head)?.over;
}

/** Id of the checkpoint a state was read from; undefined for a thread without any. */
export function checkpointId(state: ThreadState): string | undefined {
  const id: unknown = state.config.configurable?.checkpoint_id;
  return typeof id === 'string' ? id : undefined;
}

function parseHead(head: string | null): { at: string; over: string } | undefined {
  if (head === null) return undefined;
  const parsed: unknown = JSON.parse(head);
  return isRecord(parsed) && typeof parsed.at === 'string' && typeof parsed.over === 'string'
    ? { at: parsed.at, over: parsed.over }
    : undefined;
}
