import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { until } from '../support/gates.ts';

/** One answer of the server, in the order of requests. */
export interface Answer {
  status?: number;
  headers?: Record<string, string>;
  /** A frame each: an event with its number, if it has one. A string is sent as it is. */
  frames?: ([event: object, id?: number] | string)[];
  /** A JSON body instead. */
  json?: unknown;
  /** How the answer ends. Default `clean`. */
  end?: 'clean' | 'broken' | 'open';
}

/** A request the server got. */
export interface Asked {
  method: string;
  url: string;
  headers: IncomingMessage['headers'];
  body: string;
}

/** A server that answers by script, for what the real one never does. */
export interface ScriptedServer {
  url: string;
  base: string;
  asked: Asked[];
  /** Waits until there were that many requests. */
  until(count: number): Promise<void>;
}

/** Starts it; after the last answer every request gets the last one again. */
export async function scriptedServer(...answers: (Answer | ((asked: Asked) => Answer))[]): Promise<ScriptedServer> {
  const asked: Asked[] = [];
  const server = createServer(async (incoming, outgoing) => {
    let body = '';
    for await (const piece of incoming.setEncoding('utf8')) body += piece;
    const { method = '', url = '', headers } = incoming;
    const request = { method, url, headers, body };
    const found = answers[Math.min(asked.length, answers.length - 1)] as Answer | ((asked: Asked) => Answer);
    asked.push(request);
    const answer = typeof found === 'function' ? found(request) : found;
    const type = answer.json === undefined ? 'text/event-stream' : 'application/json';
    outgoing.writeHead(answer.status ?? 200, { 'content-type': type, ...answer.headers });
    outgoing.flushHeaders();
    for (const frame of answer.frames ?? []) {
      const [event, id] = typeof frame === 'string' ? [] : frame;
      const text =
        event === undefined ? frame : `${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(event)}\n\n`;
      await new Promise((resolve) => outgoing.write(text, resolve));
    }
    if (answer.json !== undefined) outgoing.end(JSON.stringify(answer.json));
    else if (answer.end === 'broken') setImmediate(() => outgoing.destroy());
    else if (answer.end !== 'open') outgoing.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    base,
    url: `${base}/agent/run`,
    asked,
    until: async (count) => void (await until(() => asked.length >= count, `${count} requests`)),
  };
}
