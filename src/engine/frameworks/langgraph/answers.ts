import { isDeepStrictEqual } from 'node:util';
import type { BaseCheckpointSaver } from '@langchain/langgraph-checkpoint';
import type { CompiledGraph, ThreadState } from './shapes.ts';

const RESUME = '__resume__';

/**
 * Notes which answers a thread's checkpoint holds, before a run acts on a new one.
 *
 * LangGraph keeps an answer beside its question as soon as a node has read it, and prefers it to every later one. When
 * the run then fails or is stopped, the question is open again, yet a different answer would be ignored: an approval
 * would stay given although the user has thought better of it. So what the run added is to be taken back.
 *
 * @returns takes back what was added since. Answers of questions inside subgraphs are not seen.
 */
export async function noteAnswers(graph: CompiledGraph, { config }: ThreadState): Promise<() => Promise<void>> {
  const saver = graph.checkpointer;
  if (typeof saver !== 'object') return async () => undefined;
  const before = await answersAt(saver, config);
  return async () => {
    const now = await answersAt(saver, config);
    for (const [taskId, answers] of now) {
      const wanted = before.get(taskId) ?? [];
      if (!isDeepStrictEqual(wanted, answers)) await saver.putWrites(config, [[RESUME, wanted]], taskId);
    }
  };
}

/** The answers each task of a checkpoint has read. */
async function answersAt(saver: BaseCheckpointSaver, config: ThreadState['config']): Promise<Map<string, unknown>> {
  const tuple = await saver.getTuple(config);
  const answers = (tuple?.pendingWrites ?? []).filter(
    ([, channel, value]) => channel === RESUME && Array.isArray(value),
  );
  return new Map(answers.map(([taskId, , value]) => [taskId, value]));
}
