import type { BaseCheckpointSaver } from '@langchain/langgraph-checkpoint';
import type { Pool } from 'pg';
import type { OpenedMemory } from './define.ts';
import { MemoryUnreachable } from './postgres-failure.ts';

/** The part of a saver's configuration that names a thread. */
type Config = Parameters<BaseCheckpointSaver['getTuple']>[0];

/** The checkpointer with what goes with it. */
export interface PostgresSaving extends Pick<OpenedMemory, 'checkpointer'> {
  readonly watch: NonNullable<OpenedMemory['watch']>;
  /** Resolves when no write of the thread is under way. */
  settled(threadId: string): Promise<void>;
}

/** Who is told that a thread's writes fail. */
interface Watcher {
  failed: boolean;
  tell(error: MemoryUnreachable): void;
}

/**
 * Makes the published checkpointer over a pool, with two habits it needs where writing takes a while.
 *
 * LangGraph does not wait for its writes while a run goes on, so a run that is stopped leaves some under way: whoever
 * reads or deletes the thread next waits for them. And it holds the promise of a write until the run ends, so that one which fails
 * in between counts as a rejection nobody handles: for a thread that is watched the watcher is told instead, and all
 * further writes of its run are dropped, since a checkpoint is of no use without those before it.
 */
export async function createPostgresSaver(pool: Pool): Promise<PostgresSaving> {
  const { PostgresSaver } = await import('@langchain/langgraph-checkpoint-postgres');
  const writing = new Map<string, Set<Promise<unknown>>>();
  const watchers = new Map<string, Watcher>();

  const write = async <T>(config: Config, instead: T, work: () => Promise<T>): Promise<T> => {
    const threadId = threadOf(config);
    const watcher = watchers.get(threadId);
    if (watcher?.failed === true) return instead;
    const running = work();
    const others = writing.get(threadId) ?? new Set();
    writing.set(threadId, others.add(running));
    try {
      return await running;
    } catch (error) {
      if (watcher === undefined || !(error instanceof MemoryUnreachable)) throw error;
      if (!watcher.failed) watcher.tell(error);
      watcher.failed = true;
      return instead;
    } finally {
      others.delete(running);
      if (others.size === 0 && writing.get(threadId) === others) writing.delete(threadId);
    }
  };

  const settled = async (threadId: string): Promise<void> => {
    while (writing.has(threadId)) {
      await Promise.allSettled(writing.get(threadId) ?? []);
      // A write that waits for the one before it comes a little later.
      await new Promise((resolve) => setImmediate(resolve));
    }
  };

  class PatientSaver extends PostgresSaver {
    /**
     * Values are stored once per version, and versions count up: two branches of a thread, such as before and after an
     * edit, would reach the same number and the second get the first one's value. The fraction tells them apart.
     */
    override getNextVersion(current: number | undefined): number {
      return Math.floor(current ?? 0) + 1 + Math.random();
    }
    override async getTuple(...args: Parameters<BaseCheckpointSaver['getTuple']>) {
      await settled(threadOf(args[0]));
      return super.getTuple(...args);
    }
    override async *list(...args: Parameters<BaseCheckpointSaver['list']>) {
      await settled(threadOf(args[0]));
      yield* super.list(...args);
    }
    override async deleteThread(threadId: string) {
      // What is still being written would otherwise come back.
      await settled(threadId);
      await super.deleteThread(threadId);
    }
    override put(...args: Parameters<InstanceType<typeof PostgresSaver>['put']>) {
      const [{ configurable }, { id }] = args;
      const instead = { configurable: { ...configurable, checkpoint_id: id } };
      return write(args[0], instead, () => super.put(...args));
    }
    override putWrites(...args: Parameters<BaseCheckpointSaver['putWrites']>) {
      return write(args[0], undefined, () => super.putWrites(...args));
    }
  }

  return {
    checkpointer: new PatientSaver(pool),
    settled,
    watch(threadId, tell) {
      const watcher = { failed: false, tell };
      watchers.set(threadId, watcher);
      return () => {
        if (watchers.get(threadId) === watcher) watchers.delete(threadId);
      };
    },
  };
}

function threadOf({ configurable }: Config): string {
  return String(configurable?.thread_id);
}
