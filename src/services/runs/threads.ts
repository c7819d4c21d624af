import type { Agent, ThreadPosition } from '../../engine/agent.ts';
import type { RunAgentInput } from '../../engine/events.ts';
import { problem } from '../../problems.ts';
import type { ThreadStore } from '../../store/thread-store.ts';

/** Longest preview of a thread, in characters. */
const TITLE_LENGTH = 120;

/** Keeps the index of threads: whose they are, what they begin with, where they stand, when they were last used. */
export interface Threads {
  /**
   * Notes that the user runs this thread on `agent`.
   *
   * @returns where the thread stands.
   * @throws Problem `not_found` when it is another user's.
   */
  claim(input: RunAgentInput, userId: string | null, agent: Agent): Promise<ThreadPosition>;
  /** Notes that a run of the thread has ended and where it left the thread; `failed` when it may have left nothing behind. */
  ended(threadId: string, agent: Agent, position: ThreadPosition, failed: boolean): Promise<void>;
}

/** Makes the thread index over its store. */
export function createThreads(store: ThreadStore): Threads {
  return {
    async claim(input, userId, { history, capabilities }) {
      // An agent that takes data has no conversation to show.
      const title = capabilities.input.mode === 'chat' ? titleOf(input) : null;
      const mine = await store.claim({
        id: input.threadId,
        userId: ownerKey(userId),
        storeId: history?.storeId ?? '',
        title,
        now: Date.now(),
      });
      // The same answer as for a thread that does not exist: whose it is, is nobody else's business.
      if (mine === undefined) throw problem('not_found');
      return mine;
    },
    async ended(threadId, { history }, position, failed) {
      await store.end({ id: threadId, now: Date.now(), ...position });
      // A run that failed before its first checkpoint leaves a thread without messages, which is not listed.
      if (!failed || history === undefined) return;
      if ((await history.messages(threadId, position)).length === 0) await store.untitle(threadId);
    },
  };
}

/** How the store writes a user: anonymous callers share the empty name, which no header can carry. */
export function ownerKey(userId: string | null): string {
  return userId ?? '';
}

function titleOf(input: RunAgentInput): string | null {
  for (const message of input.messages) {
    if (message.role !== 'user') continue;
    const text =
      typeof message.content === 'string'
        ? message.content
        : message.content.map((part) => (part.type === 'text' ? part.text : '')).join(' ');
    const line = text.replace(/\s+/g, ' ').trim();
    if (line !== '') return Array.from(line).slice(0, TITLE_LENGTH).join('');
  }
  return null;
}
