import { randomUUID } from 'node:crypto';
import type { RunAgentInput } from '@ag-ui/core';
import { EventSchema } from '@ag-ui/core/schemas';
import type { FastifyInstance } from 'fastify';

/** An AG-UI event as the wire carries it. */
export type WireEvent = { type: string } & Record<string, unknown>;

/** A run input with one user message; members in `more` replace the defaults. */
export function runInput(text: string, more: Partial<RunAgentInput> = {}): RunAgentInput {
  return {
    threadId: randomUUID(),
    runId: randomUUID(),
    protocolVersion: '1.0',
    messages: [{ id: randomUUID(), role: 'user', content: text }],
    tools: [],
    context: [],
    state: {},
    forwardedProps: {},
    ...more,
  } as RunAgentInput;
}

/** The events in the text of an event stream; each is checked against the protocol's own schema. */
export function parseEvents(body: string): WireEvent[] {
  return body
    .split('\n\n')
    .map((frame) => frame.split('\n').find((line) => line.startsWith('data: ')))
    .filter((line) => line !== undefined)
    .map((line) => EventSchema.parse(JSON.parse(line.slice('data: '.length))) as unknown as WireEvent);
}

/** Runs the agent in process and gives the events; fails on any other answer than a stream. */
export async function runEvents(
  app: FastifyInstance,
  input: RunAgentInput,
  headers: Record<string, string> = {},
): Promise<WireEvent[]> {
  const response = await app.inject({ method: 'POST', url: '/agent/run', payload: input, headers });
  if (response.statusCode !== 200) throw new Error(`${response.statusCode} ${response.body}`);
  return parseEvents(response.body);
}

/** The types of events in order, runs of the same type folded into one. */
export function shape(events: WireEvent[]): string[] {
  return events.map(({ type }) => type).filter((type, index, all) => type !== all[index - 1]);
}

/** The events of one type. */
export function ofType(events: WireEvent[], type: string): WireEvent[] {
  return events.filter((event) => event.type === type);
}

/** All text of the run's text messages. */
export function textOf(events: WireEvent[]): string {
  return ofType(events, 'TEXT_MESSAGE_CONTENT')
    .map((event) => event.delta)
    .join('');
}
