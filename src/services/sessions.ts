import { z } from 'zod';
import type { AgentHistory } from '../engine/agent.ts';
import { problem } from '../problems.ts';
import type { ThreadStore } from '../store/thread-store.ts';
import type { Runs } from './runs/runs.ts';
import type { ThreadHolds } from './runs/thread-holds.ts';
import { ownerKey } from './runs/threads.ts';
import type { WithEngine } from './with-engine.ts';

/** Most sessions one list shows. */
const LIST_LIMIT = 200;

/** A session in the list (runtime contract, section 6). */
export const SessionSummary = z
  .object({
    id: z.string(),
    lastUpdateTime: z.number().nullable().describe('Epoch seconds.'),
    userId: z.string().nullable(),
    threadId: z.string().nullable(),
    preview: z.string().nullable().describe('Beginning of the first user text.'),
  })
  .meta({
    id: 'SessionSummary',
    examples: [
      {
        id: 'th-1',
        lastUpdateTime: 1767225600.25,
        userId: 'ana@example.org',
        threadId: 'th-1',
        preview: 'When is the next train to Lyon?',
      },
    ],
  });
export type SessionSummary = z.infer<typeof SessionSummary>;

/** A session with its text messages. */
export const SessionDetail = z
  .object({
    id: z.string(),
    lastUpdateTime: z.number().nullable().describe('Epoch seconds.'),
    userId: z.string().nullable(),
    threadId: z.string().nullable(),
    messages: z.array(
      z.object({
        id: z.string(),
        role: z.enum(['user', 'assistant']),
        content: z.string(),
        timestamp: z.number().nullable().describe('Epoch seconds, where the framework records it.'),
      }),
    ),
  })
  .meta({
    id: 'SessionDetail',
    examples: [
      {
        id: 'th-1',
        lastUpdateTime: 1767225600.25,
        userId: 'ana@example.org',
        threadId: 'th-1',
        messages: [
          { id: 'u1', role: 'user', content: 'When is the next train to Lyon?', timestamp: null },
          { id: 'a2', role: 'assistant', content: 'At 14:02.', timestamp: null },
        ],
      },
    ],
  });
export type SessionDetail = z.infer<typeof SessionDetail>;

/** Reads past conversations for their owner. */
export interface Sessions {
  /** The caller's sessions, newest first. @throws Problem `agent_not_ready`, `sessions_unsupported`. */
  list(userId: string | null): Promise<SessionSummary[]>;
  /** One of the caller's sessions. @throws Problem as `list`, and `not_found`. */
  get(id: string, userId: string | null): Promise<SessionDetail>;
  /**
   * Deletes one of the caller's sessions: what was said, its open questions, its runs. What the agent has put into its
   * long-term store stays.
   *
   * @throws Problem as `get`, and `thread_busy` while a run is under way.
   */
  remove(id: string, userId: string | null): Promise<void>;
}

/** Makes the session service. */
export function createSessions(options: {
  withEngine: WithEngine;
  store: ThreadStore;
  holds: ThreadHolds;
  runs: Pick<Runs, 'forget'>;
}): Sessions {
  const { withEngine, store, holds, runs } = options;
  const withHistory = <T>(read: (history: AgentHistory) => Promise<T>): Promise<T> =>
    withEngine(({ agent: { history, framework } }) => {
      const agentType = framework === 'ADK' ? 'ADK' : 'LangGraph';
      if (history === undefined) throw problem('sessions_unsupported', { agentType });
      return read(history);
    });
  return {
    list: (userId) =>
      withHistory(async ({ storeId }) => {
        const rows = await store.list(ownerKey(userId), storeId, LIST_LIMIT);
        return rows.map((row) => ({
          id: row.id,
          lastUpdateTime: row.updatedAt / 1000,
          userId: row.userId || null,
          threadId: row.id,
          preview: row.title,
        }));
      }),
    get: (id, userId) =>
      withHistory(async (history) => {
        const row = await store.find(id, ownerKey(userId));
        const messages = row && row.storeId === history.storeId ? await history.messages(id, row) : [];
        if (row === undefined || messages.length === 0) throw problem('not_found');
        return { id, lastUpdateTime: row.updatedAt / 1000, userId: row.userId || null, threadId: id, messages };
      }),
    remove: (id, userId) =>
      withHistory(async (history) => {
        const own = async (): Promise<void> => {
          const row = await store.find(id, ownerKey(userId));
          if (row === undefined || row.storeId !== history.storeId) throw problem('not_found');
        };
        // Before anything else: who asks about somebody else's thread does not learn that it is busy.
        await own();
        const release = holds.hold(id);
        if (release === undefined) throw problem('thread_busy');
        try {
          await own();
          // The conversation first: should the server stop in between, it is still its owner's.
          await history.forget(id);
          await store.remove(id);
          runs.forget(id);
        } finally {
          release();
        }
      }),
  };
}
