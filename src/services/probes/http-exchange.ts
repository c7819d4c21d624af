import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { ProbeFailure } from './failure.ts';

/** What connecting may take. */
const CONNECT_MS = 2_000;

/** What is sent. */
export interface Outgoing {
  method: string;
  headers?: Record<string, string>;
  body?: string;
  /** Closes the connection, also while the answer is read. */
  signal: AbortSignal;
}

/**
 * Sends one HTTP request on a connection of its own, and gives the answer as soon as its head is there. Redirects are
 * not followed. Node's `fetch` would keep the connection, and goes on connecting after an abort.
 *
 * @throws when no answer comes.
 */
export function exchange(url: URL, { method, headers = {}, body, signal }: Outgoing): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const secure = url.protocol === 'https:';
    const outgoing = (secure ? requestHttps : requestHttp)(url, { method, headers, agent: false });
    const stop = (): void => void outgoing.destroy(new ProbeFailure('The request was stopped'));
    signal.addEventListener('abort', stop, { once: true });
    const connecting = setTimeout(() => {
      outgoing.destroy(new ProbeFailure(`No connection within ${CONNECT_MS / 1000} seconds`));
    }, CONNECT_MS);
    outgoing.once('socket', (socket) => {
      socket.once(secure ? 'secureConnect' : 'connect', () => clearTimeout(connecting));
    });
    outgoing.once('response', resolve);
    // More errors can follow the first.
    outgoing.on('error', reject);
    outgoing.once('close', () => {
      clearTimeout(connecting);
      signal.removeEventListener('abort', stop);
      reject(new ProbeFailure('The connection was closed before an answer came'));
    });
    outgoing.end(body);
  });
}
