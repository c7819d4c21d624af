import type { AgentHistory, HistoryMessage } from '../../agent.ts';
import { EventType } from '../../events.ts';
import { textOf } from './content.ts';
import { emitLegacyInterrupts, toInterrupts } from './interrupts.ts';
import { pausedAt } from './plan.ts';
import { readThread } from './position.ts';
import type { GraphSchemas } from './schemas.ts';
import { type CompiledGraph, isMessage, messageType } from './shapes.ts';
import { StateView } from './state-view.ts';

/** Reads conversations back out of a graph's checkpoints. */
export function createHistory(graph: CompiledGraph, schemas: GraphSchemas, storeId: string): AgentHistory {
  return {
    storeId,
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
