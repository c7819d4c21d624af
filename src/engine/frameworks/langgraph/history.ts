import type { AgentHistory, HistoryMessage } from '../../agent.ts';
import { textOf } from './content.ts';
import { type CompiledGraph, isMessage, messageType } from './shapes.ts';

/** Reads conversations back out of a graph's checkpoints. */
export function createHistory(graph: CompiledGraph, storeId: string): AgentHistory {
  return {
    storeId,
    async messages(threadId) {
      const state = await graph.getState({ configurable: { thread_id: threadId } });
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
