import { type BaseEvent, type Message, verifyEvents } from '@ag-ui/client';
import { lastValueFrom, tap, toArray } from 'rxjs';
import { expect, vi } from 'vitest';
import { ResumableHttpAgent, type ResumableHttpAgentConfig } from '../../src/client.ts';

/** What a client knows after a run. */
export interface Held {
  messages: Message[];
  state: unknown;
  events: BaseEvent[];
}

/** Retries at once, so that tests take no time. */
export const FAST = { initialDelayMs: 1, maxDelayMs: 5 };

/** An agent of the client under test. */
export function resumable(url: string, options: Partial<ResumableHttpAgentConfig> = {}): ResumableHttpAgent {
  return new ResumableHttpAgent({ url, reconnect: FAST, ...options });
}

/** Lets the agent run or connect; fails on anything the published client complains about. */
export async function held(
  agent: ResumableHttpAgent,
  act: (agent: ResumableHttpAgent) => Promise<unknown> = (one) => one.runAgent(),
): Promise<Held> {
  const events: BaseEvent[] = [];
  const { unsubscribe } = agent.subscribe({ onEvent: ({ event }) => void events.push(event) });
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
  try {
    await act(agent);
    expect(warn.mock.calls, 'complaints of the client').toEqual([]);
  } finally {
    warn.mockRestore();
    unsubscribe();
  }
  return { messages: agent.messages, state: agent.state, events };
}

/** The error a run ends with, without the client's own report of it on the console. */
export async function failure(run: Promise<unknown>): Promise<Error & { status?: number; payload?: unknown }> {
  const error = vi.spyOn(console, 'error').mockImplementation(() => undefined);
  try {
    return await run.then(
      () => expect.unreachable('the run should have failed'),
      (reason: Error) => reason,
    );
  } finally {
    error.mockRestore();
  }
}

/** The events of a run as the agent forwards them, passed through the order rules of the published client. */
export async function forwarded(agent: ResumableHttpAgent, runId: string = crypto.randomUUID()): Promise<BaseEvent[]> {
  const events: BaseEvent[] = [];
  const { threadId, messages, state } = agent;
  const input = { threadId, runId, messages, state, tools: [], context: [], forwardedProps: {} };
  const seen = agent.run({ ...input, protocolVersion: '1.0' }).pipe(tap((event) => events.push(event)));
  await lastValueFrom(seen.pipe(verifyEvents(false), toArray()));
  return events;
}

/** Watches the texts a client shows; tells in the end of any that is not the beginning of what it is in the end. */
export function watchTexts(agent: ResumableHttpAgent): (end: Held) => void {
  const shown = new Map<string, Set<string>>();
  const show = (key: string, text: unknown): void => {
    if (typeof text === 'string') shown.set(key, (shown.get(key) ?? new Set()).add(text));
  };
  const look = (messages: readonly Readonly<Message>[]): void => {
    for (const message of messages) {
      show(message.id, message.content);
      if (message.role !== 'assistant') continue;
      for (const call of message.toolCalls ?? []) show(call.id, call.function.arguments);
    }
  };
  agent.subscribe({ onMessagesChanged: ({ messages }) => look(messages) });
  return ({ messages }) => {
    const seen = new Map([...shown].map(([key, texts]) => [key, [...texts]]));
    shown.clear();
    look(messages);
    for (const [key, ends] of shown) {
      const strays = (seen.get(key) ?? []).filter((text) => ![...ends].some((end) => end.startsWith(text)));
      expect(strays, `what was shown of ${key}`).toEqual([]);
    }
  };
}

const MADE_UP_ID = /(?:run-)?[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/g;

/** A value with made-up ids renamed in order of appearance, to compare runs with. */
export function renamed<T>(value: T): T {
  const names = new Map<string, string>();
  const text = JSON.stringify(value).replace(MADE_UP_ID, (id) => {
    if (!names.has(id)) names.set(id, `#${names.size + 1}`);
    return names.get(id) ?? '';
  });
  return JSON.parse(text) as T;
}

/** Types of events, with the name or id they are about. */
export function brief(events: readonly BaseEvent[]): string[] {
  return events.map((event) => {
    const about = event.toolCallId ?? event.messageId ?? event.stepName ?? event.subagentRunId;
    const more = event.delta === undefined ? [] : [JSON.stringify(event.delta)];
    return [event.type, ...(about === undefined ? [] : [about]), ...more].join(' ');
  });
}
