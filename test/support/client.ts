import { randomUUID } from 'node:crypto';
import { HttpAgent, type RunAgentParameters, verifyEvents } from '@ag-ui/client';
import type { BaseEvent, Interrupt, Message, RunAgentInput } from '@ag-ui/core';
import { from, lastValueFrom, toArray } from 'rxjs';
import { expect, vi } from 'vitest';
import { createTestApp, type TestApp, type TestAppOptions } from './app.ts';
import { GRAPH_FILES } from './graphs.ts';
import { parseEvents, type WireEvent } from './runs.ts';

/** What one run looked like from the client's side. */
export interface ClientRun {
  /** The events, as they were on the wire. */
  events: WireEvent[];
  /** The events as {@link brief} tells them. */
  lines: string[];
  /** What the run was asked. */
  input: RunAgentInput;
}

/** What a test wants of its client. */
export interface ClientOptions {
  threadId?: string;
  headers?: Record<string, string>;
  /** A client from before protocol 1.0: it names no version. */
  old?: boolean;
  /** Another route than `/agent/run`. */
  path?: string;
}

/** The conversation in the run's MESSAGES_SNAPSHOT. */
export function snapshotOf({ events }: Pick<ClientRun, 'events'>): Message[] {
  const found = events.findLast(({ type }) => type === 'MESSAGES_SNAPSHOT');
  expect(found, 'MESSAGES_SNAPSHOT').toBeDefined();
  return found?.messages as Message[];
}

/** The interrupts the run ended with. */
export function interruptsOf({ events }: Pick<ClientRun, 'events'>): Interrupt[] {
  const outcome = events.at(-1)?.outcome as { type: string; interrupts: Interrupt[] } | undefined;
  expect(outcome?.type).toBe('interrupt');
  return outcome?.interrupts ?? [];
}

/** A user's seat: the published AG-UI client, talking to the server over a socket. */
export class Client {
  readonly agent: HttpAgent;
  #body = '';
  #input: RunAgentInput | undefined;

  constructor(base: string, options: ClientOptions = {}) {
    this.agent = new HttpAgent({
      url: `${base}${options.path ?? '/agent/run'}`,
      threadId: options.threadId ?? randomUUID(),
      ...(options.headers !== undefined && { headers: options.headers }),
      fetch: async (url, request) => {
        const input = JSON.parse(String(request.body)) as RunAgentInput;
        if (options.old === true) delete input.protocolVersion;
        this.#input = input;
        const response = await fetch(url, { ...request, body: JSON.stringify(input) });
        if (!response.ok || response.body === null) return response;
        const [mine, theirs] = response.body.tee();
        void new Response(mine).text().then((text) => {
          this.#body = text;
        });
        return new Response(theirs, response);
      },
    });
  }

  /** The conversation as the client holds it. */
  get messages(): Message[] {
    return this.agent.messages;
  }

  /** The shared state as the client holds it. */
  get state(): Record<string, unknown> {
    return this.agent.state as Record<string, unknown>;
  }

  /** Says something and waits for the run to end. The message's id is `u1`, `u2`, … by the user's turns. */
  say(text: string, parameters: RunAgentParameters = {}): Promise<ClientRun> {
    const turn = this.messages.filter(({ role }) => role === 'user').length + 1;
    return this.send({ id: `u${turn}`, role: 'user', content: text }, parameters);
  }

  /** Adds a message and waits for the run to end. */
  send(message: Message, parameters: RunAgentParameters = {}): Promise<ClientRun> {
    this.agent.addMessage(message);
    return this.run(parameters);
  }

  /** Runs the agent on what the client holds. Fails on whatever the client or the protocol does not like. */
  async run(parameters: RunAgentParameters = {}): Promise<ClientRun> {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
    const error = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    try {
      this.#body = '';
      await this.agent.runAgent(parameters);
      await vi.waitFor(() => expect(this.#body).not.toBe(''));
      expect([...warn.mock.calls, ...error.mock.calls], 'complaints of the client').toEqual([]);
    } finally {
      warn.mockRestore();
      error.mockRestore();
    }
    const events = parseEvents(this.#body);
    await expectConformance(events);
    return { events, lines: brief(events), input: this.#input as RunAgentInput };
  }
}

/** A server with one agent, given as the text of its module, and a way to get clients of it. */
export interface Stage extends TestApp {
  base: string;
  client(options?: ClientOptions): Client;
}

/** Starts a server that listens on a socket and serves the agent `source`; `scripted.ts` and its kin lie beside it. */
export async function stage(source: string, options: TestAppOptions = {}): Promise<Stage> {
  const files = { ...GRAPH_FILES, 'agent.ts': source, ...options.files };
  const server = await createTestApp({ agent: 'agent.ts', ...options, files });
  const base = await server.listen();
  return { ...server, base, client: (more) => new Client(base, more) };
}

/** Posts a run input as it is and gives the events, checked as {@link Client.run} checks them. */
export async function postRun(base: string, body: object, path = '/agent/run'): Promise<ClientRun> {
  const response = await fetch(base + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(response.status).toBe(200);
  const events = parseEvents(await response.text());
  await expectConformance(events);
  return { events, lines: brief(events), input: body as RunAgentInput };
}

/** Passes events through the order rules of the published client; rejects when they break one. */
export async function expectVerified(events: readonly object[]): Promise<void> {
  const verified = from(events as BaseEvent[]).pipe(verifyEvents(false), toArray());
  expect(await lastValueFrom(verified)).toHaveLength(events.length);
}

/** What must hold of every run of a graph, whatever it does (ag-ui contract, sections 1, 8 and 11). */
async function expectConformance(events: WireEvent[]): Promise<void> {
  await expectVerified(events);
  expect(events[0]?.type).toBe('RUN_STARTED');
  const terminal = events.filter(({ type }) => type === 'RUN_FINISHED' || type === 'RUN_ERROR');
  expect(terminal, 'exactly one terminal event, at the end').toEqual([events.at(-1)]);
  const finished = events.at(-1)?.type === 'RUN_FINISHED';
  if (finished) expect(events.map(({ type }) => type)).toContain('STATE_SNAPSHOT');

  const open = new Set<unknown>();
  const texts = new Map<unknown, string>();
  const args = new Map<unknown, string>();
  const results = new Map<unknown, WireEvent>();
  for (const event of events) {
    for (const [key, value] of Object.entries(event)) {
      if (key !== 'value' && key !== 'snapshot') expect(value, `${event.type}.${key}`).not.toBeNull();
    }
    if (event.type.endsWith('_CHUNK') || event.type.startsWith('THINKING')) expect.unreachable(event.type);
    if ('delta' in event) expect(event.delta, event.type).not.toBe('');
    switch (event.type) {
      case 'TEXT_MESSAGE_START':
      case 'REASONING_START':
        open.add(`${event.type} ${event.messageId}`);
        if (event.type === 'TEXT_MESSAGE_START') texts.set(event.messageId, texts.get(event.messageId) ?? '');
        break;
      case 'TEXT_MESSAGE_CONTENT':
        texts.set(event.messageId, `${texts.get(event.messageId)}${event.delta}`);
        break;
      case 'TEXT_MESSAGE_END':
      case 'REASONING_END':
        open.delete(`${event.type.replace('_END', '_START')} ${event.messageId}`);
        break;
      case 'TOOL_CALL_START':
        expect(args.has(event.toolCallId), `a second TOOL_CALL_START for ${event.toolCallId}`).toBe(false);
        args.set(event.toolCallId, '');
        open.add(event.toolCallId);
        break;
      case 'TOOL_CALL_ARGS':
        args.set(event.toolCallId, `${args.get(event.toolCallId)}${event.delta}`);
        break;
      case 'TOOL_CALL_END':
        open.delete(event.toolCallId);
        break;
      case 'TOOL_CALL_RESULT':
        expect(results.has(event.toolCallId), `a second TOOL_CALL_RESULT for ${event.toolCallId}`).toBe(false);
        results.set(event.toolCallId, event);
        break;
      case 'STATE_SNAPSHOT':
        expect([...open], 'open while a state snapshot was sent').toEqual([]);
        break;
    }
  }
  if (!finished) return;
  if (!events.some(({ type }) => type === 'MESSAGES_SNAPSHOT')) return;
  expect(events.slice(-3).map(({ type }) => type)).toEqual(['STATE_SNAPSHOT', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED']);
  for (const message of snapshotOf({ events })) {
    if (message.role === 'assistant' && texts.has(message.id)) {
      expect(message.content ?? '', `text of ${message.id}`).toBe(texts.get(message.id));
    }
    if (message.role !== 'tool') continue;
    const result = results.get(message.toolCallId);
    if (result === undefined) continue;
    expect([result.messageId, result.content], `result of ${message.toolCallId}`).toEqual([
      message.id,
      message.content,
    ]);
  }
}

const MADE_UP_ID = /(?:run-)?[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/g;

/**
 * Events as lines to compare with: the type and what matters of the rest. Ids the server made up become `#1`, `#2`, …
 * in order of appearance. State snapshots are told by their type alone; look at the event for more.
 */
export function brief(events: readonly WireEvent[]): string[] {
  const names = new Map<string, string>();
  const rename = (text: string): string =>
    text.replace(MADE_UP_ID, (id) => {
      if (!names.has(id)) names.set(id, `#${names.size + 1}`);
      return names.get(id) ?? '';
    });
  return events.map((event) => rename(briefly(event)));
}

function briefly(event: WireEvent): string {
  const words = (...parts: unknown[]): string => [event.type, ...parts].filter((part) => part !== undefined).join(' ');
  switch (event.type) {
    case 'STEP_STARTED':
    case 'STEP_FINISHED':
      return words(event.stepName);
    case 'TOOL_CALL_START':
      return words(event.toolCallId, event.toolCallName, event.parentMessageId && `in ${event.parentMessageId}`);
    case 'TOOL_CALL_ARGS':
      return words(event.toolCallId, event.delta);
    case 'TOOL_CALL_END':
      return words(event.toolCallId);
    case 'TOOL_CALL_RESULT':
      return words(event.toolCallId, event.messageId, JSON.stringify(event.content));
    case 'TEXT_MESSAGE_CONTENT':
    case 'REASONING_MESSAGE_CONTENT':
      return words(event.messageId, JSON.stringify(event.delta));
    case 'REASONING_ENCRYPTED_VALUE':
      return words(event.subtype, event.entityId, event.encryptedValue);
    case 'STATE_DELTA':
      return words(JSON.stringify(event.delta));
    case 'MESSAGES_SNAPSHOT':
      return words(...(event.messages as Message[]).map(({ id }) => id));
    case 'CUSTOM':
      return words(event.name, JSON.stringify(event.value));
    case 'RUN_ERROR':
      return words(event.code);
    case 'RUN_FINISHED':
      return words((event.outcome as { type: string } | undefined)?.type);
    default:
      return words(event.messageId);
  }
}
