import type { AgentHistory, HistoryMessage, HistoryUpkeep } from '../../agent.ts';
import { EventType } from '../../events.ts';
import type { MemoryShare } from '../../memory/index.ts';
import { textOf } from './content.ts';
import { emitLegacyInterrupts, toInterrupts } from './interrupts.ts';
import { pausedAt } from './plan.ts';
import { readThread, rewoundOver } from './position.ts';
import type { GraphSchemas } from './schemas.ts';
import { type CompiledGraph, isMessage, messageType } from './shapes.ts';
import { StateView } from './state-view.ts';

/**
 * Reads conversations back out of a graph's checkpoints.
 *
 * @param memory the server's memory; undefined where the graph has brought its own.
 */
export function createHistory(
  graph: CompiledGraph,
  schemas: GraphSchemas,
  storeId: string,
  memory: MemoryShare | undefined,
): AgentHistory {
  return {
    storeId,
    upkeep: memory && upkeepOf(graph, memory),
    async forget(threadId) {
      const saver = graph.checkpointer;
      if (memory !== undefined) await memory.upkeep.deleteThread(threadId);
      else if (typeof saver === 'object') await saver.deleteThread(threadId);
    },
    async show(threadId, position, emit) {
      const { state } = await readThread(graph, threadId, position);
      const { raw } = pausedAt(graph, state, position.cut);
      const view = new StateView(schemas);
      view.update((state.values ?? {}) as Record<string, unknown>);
      const messages = view.shownMessages();
      if (messages !== undefined) emit({ type: EventType.MESSAGES_SNAPSHOT, messages });
      emit({ type: EventType.STATE_SNAPSHOT, snapshot: view.shownState() });
      emitLegacyInterrupts(raw, emit);
      return toInterrupts(raw);
    },
    async messages(threadId, position) {
      const { state } = await readThread(graph, threadId, position);
      const messages: unknown = (state.values as Record<string, unknown> | undefined)?.messages;
      if (!Array.isArray(messages)) return [];
      return messages.filter(isMessage).flatMap((message, index): HistoryMessage[] => {
        const type = messageType(message);
        const content = textOf(message.content);
        if ((type !== 'human' && type !== 'ai') || content === '') return [];
        const role = type === 'human' ? 'user' : 'assistant';
        return [{ id: message.id ?? `msg-${index}`, role, content, timestamp: null }];
      });
    },
  };
}

function upkeepOf(graph: CompiledGraph, { kind, upkeep }: MemoryShare): HistoryUpkeep {
  let whole: boolean | undefined;
  return {
    kind,
    size: () => upkeep.size(),
    async prune(threadId, position, keep) {
      whole ??= keepsWholeStates(graph);
      return whole ? upkeep.prune(threadId, keep, rewoundOver(position)) : 0;
    },
  };
}

/** Whether every checkpoint holds its whole state. A delta channel's is the sum of all before it, so none may go. */
function keepsWholeStates(graph: CompiledGraph): boolean {
  const channels = Object.values(graph.channels as Record<string, { lc_graph_name?: unknown }>);
  if (channels.some((channel) => channel.lc_graph_name === 'DeltaChannel')) return false;
  return [...graph.getSubgraphs()].every(([, subgraph]) => keepsWholeStates(subgraph as unknown as CompiledGraph));
}
