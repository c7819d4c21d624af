import { Agent, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { RunAgentInput } from '@ag-ui/core';
import { onTestFinished } from 'vitest';
import { until } from './gates.ts';
import { parseEvents, type WireEvent } from './runs.ts';

/** A stream being read over a connection of its own. */
export interface OpenStream {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** What has been received so far. */
  readonly text: string;
  /** The pieces as they came off the socket. */
  readonly pieces: string[];
  /** Events received so far, each checked against the protocol's schema. */
  events(): WireEvent[];
  /** Waits for an event. */
  event(matches: (event: WireEvent) => boolean): Promise<WireEvent>;
  /** How the stream ended: `whole` when the server closed it properly. */
  readonly ended: Promise<'whole' | 'broken'>;
  /** Waits for the end and gives all events; fails when the stream broke off. */
  all(): Promise<WireEvent[]>;
  /** Breaks the connection. */
  destroy(): void;
}

/** Posts a body as JSON and reads the answer piece by piece. */
export function openStream(
  base: string,
  body: unknown,
  options: { headers?: Record<string, string>; path?: string; agent?: Agent } = {},
): Promise<OpenStream> {
  const agent = options.agent ?? new Agent({ keepAlive: false, maxSockets: 1 });
  return new Promise((resolve, reject) => {
    const call = request(
      `${base}${options.path ?? '/agent/run'}`,
      { method: 'POST', agent, headers: { 'content-type': 'application/json', ...options.headers } },
      (response) => resolve(follow(response, () => call.destroy())),
    );
    call.on('error', reject);
    call.end(JSON.stringify(body));
  });
}

/** Gets a path and reads the answer piece by piece. */
export function openEvents(base: string, path: string, headers: Record<string, string> = {}): Promise<OpenStream> {
  return new Promise((resolve, reject) => {
    const call = request(`${base}${path}`, { agent: new Agent({ keepAlive: false }), headers }, (response) =>
      resolve(follow(response, () => call.destroy())),
    );
    call.on('error', reject);
    call.end();
  });
}

/** Posts a run input to `/agent/run`. */
export function openRun(base: string, input: RunAgentInput, headers: Record<string, string> = {}): Promise<OpenStream> {
  return openStream(base, input, { headers });
}

function follow(response: IncomingMessage, destroy: () => void): OpenStream {
  const pieces: string[] = [];
  let text = '';
  response.setEncoding('utf8');
  response.on('data', (piece: string) => {
    pieces.push(piece);
    text += piece;
  });
  response.on('error', () => undefined);
  const ended = new Promise<'whole' | 'broken'>((resolve) => {
    response.on('end', () => resolve(response.complete ? 'whole' : 'broken'));
    response.on('close', () => resolve(response.complete ? 'whole' : 'broken'));
  });
  const events = (): WireEvent[] => parseEvents(text.slice(0, text.lastIndexOf('\n\n') + 2));
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    get text() {
      return text;
    },
    pieces,
    events,
    event: (matches) => until(() => events().find(matches), 'the event') as Promise<WireEvent>,
    ended,
    async all() {
      const end = await ended;
      if (end !== 'whole') throw new Error(`the stream broke off after: ${text.slice(-300)}`);
      return events();
    },
    destroy,
  };
}

/** Opens a bare connection, which reads nothing until told to. */
export async function openSocket(base: string): Promise<Socket> {
  const { hostname, port } = new URL(base);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.pause();
  socket.on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  await new Promise((resolve) => socket.once('connect', resolve));
  return socket;
}

/** The text of a POST request to a path, to be written to a bare connection. */
export function postText(path: string, body: unknown, headers: Record<string, string> = {}): string {
  const json = JSON.stringify(body);
  const lines = Object.entries({ host: 'localhost', 'content-type': 'application/json', ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  return `POST ${path} HTTP/1.1\r\n${lines.join('')}content-length: ${Buffer.byteLength(json)}\r\n\r\n${json}`;
}

/** The events that may end a run, of those in a stream. */
export function terminal(events: WireEvent[]): WireEvent[] {
  return events.filter(({ type }) => type === 'RUN_FINISHED' || type === 'RUN_ERROR');
}
