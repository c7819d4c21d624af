import { HttpAgent } from '@ag-ui/client';
import type { Message } from '@ag-ui/core';
import type { FastifyInstance } from 'fastify';
import { expect, vi } from 'vitest';
import { expectVerified } from '../support/client.ts';
import { until } from '../support/gates.ts';
import { parseEvents, type WireEvent } from '../support/runs.ts';

/** One frame of an event stream. */
export interface Frame {
  id: number | undefined;
  /** The frame as it was on the wire. */
  text: string;
  event: WireEvent;
}

/** The whole frames in the text of an event stream, comments left out. */
export function framesOf(text: string): Frame[] {
  return text
    .slice(0, text.lastIndexOf('\n\n') + 2)
    .split('\n\n')
    .filter((frame) => frame.includes('data: '))
    .map((frame) => {
      const id = /^id: (\d+)$/m.exec(frame)?.[1];
      return {
        id: id === undefined ? undefined : Number(id),
        text: `${frame}\n\n`,
        event: parseEvents(`${frame}\n\n`)[0] as WireEvent,
      };
    });
}

/** What the published client holds after it has read `text`, which may break off. */
export async function heldAfter(
  text: string,
  initialMessages: Message[] = [],
): Promise<{ messages: Message[]; state: unknown }> {
  await expectVerified(parseEvents(text));
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
  const agent = new HttpAgent({
    url: 'http://replayed.invalid',
    initialMessages: structuredClone(initialMessages),
    fetch: () => Promise.resolve(new Response(text, { headers: { 'content-type': 'text/event-stream' } })),
  });
  try {
    await agent.runAgent();
    expect(warn.mock.calls, 'complaints of the client').toEqual([]);
  } finally {
    warn.mockRestore();
  }
  return { messages: agent.messages, state: agent.state };
}

/** What has been said of each message and call in the events, by kind and id. */
export function saidIn(frames: readonly Frame[]): Record<string, string> {
  const said: Record<string, string> = {};
  for (const { event } of frames) {
    if (typeof event.delta !== 'string') continue;
    const key = `${event.type} ${event.messageId ?? event.toolCallId}`;
    said[key] = `${said[key] ?? ''}${event.delta}`;
  }
  return said;
}

/** The answer to a GET, with its JSON body. */
export async function getJson<T = Record<string, unknown>>(
  base: string,
  path: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; body: T }> {
  const response = await fetch(base + path, { headers });
  return { status: response.status, body: (await response.json()) as T };
}

/** The text of an event stream that ends by itself, read in process. */
export async function streamText(
  app: FastifyInstance,
  url: string,
  headers: Record<string, string> = {},
): Promise<string> {
  const response = await app.inject({ url, headers });
  expect(`${response.statusCode} ${response.headers['content-type']}`).toMatch(/^200 text\/event-stream/);
  return response.body;
}

/** Stops a run and gives the answer. */
export async function cancelRun(
  base: string,
  runId: string,
  query = '',
): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await fetch(`${base}/agent/runs/${runId}/cancel${query}`, { method: 'POST' });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

/** A run as the list of a thread's runs shows it. */
export interface Listed {
  runId: string;
  threadId: string;
  status: string;
  createdAt: string;
  startedAt: string | null;
  finishedAt: string | null;
  errorCode: string | null;
  generation: number | null;
}

/** A thread's runs, newest first. */
export async function runsOf(base: string, threadId: string): Promise<Listed[]> {
  return (await getJson<Listed[]>(base, `/agent/threads/${threadId}/runs?limit=200`)).body;
}

/** Waits until a run stands as told. */
export async function untilRun(base: string, runId: string, status: string): Promise<void> {
  await until(
    async () => (await getJson(base, `/agent/runs/${runId}`)).body.status === status,
    `run ${runId} to be ${status}`,
  );
}

/** What a thread holds, text by text. */
export async function textsOf(base: string, threadId: string): Promise<string[]> {
  const { body } = await getJson<{ messages: { content: string }[] }>(base, `/agent/sessions/${threadId}`);
  return body.messages.map(({ content }) => content);
}

/** The code of the RUN_ERROR or the type of the outcome a stream ended with. */
export function endOf(events: readonly WireEvent[]): unknown {
  const last = events.at(-1);
  if (last?.type === 'RUN_ERROR') return last.code;
  return (last?.outcome as { type: string } | undefined)?.type;
}
