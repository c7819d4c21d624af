import { setMaxListeners } from 'node:events';
import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Targets } from './targets.ts';

/** What connecting may take. */
const CONNECT_MS = 2_000;

/** An outbound call that came to nothing, in words that may be shown. */
export class OutboundFailure extends Error {
  override name = 'OutboundFailure';
}

/** What is sent. */
export interface Outgoing {
  method: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array;
  /** Where it may go; undefined for anywhere, for addresses the operator has set. */
  targets: Targets | undefined;
  /**
   * Closes the connection, also while the answer is read. Of several signals each does: Node would keep a part of every
   * signal that is made of one that lives long.
   */
  signal?: AbortSignal | readonly AbortSignal[] | undefined;
}

/**
 * Sends one HTTP request on a connection of its own, and gives the answer as soon as its head is there. Redirects are
 * not followed. Node's `fetch` would keep the connection, goes on connecting after an abort, and checks no addresses.
 *
 * @throws OutboundFailure, TargetRefused or the socket's error when no answer comes.
 */
export async function exchange(url: URL, outgoing: Outgoing): Promise<IncomingMessage> {
  const { method, headers = {}, body, targets, signal = [] } = outgoing;
  const signals = signal instanceof AbortSignal ? [signal] : signal;
  for (const one of signals) one.throwIfAborted();
  targets?.check(url.hostname);
  return await new Promise((resolve, reject) => {
    const secure = url.protocol === 'https:';
    const options = { method, headers, agent: false, ...(targets !== undefined && { lookup: targets.lookup }) };
    const request = (secure ? requestHttps : requestHttp)(url, options);
    const stop = (): void => void request.destroy(new OutboundFailure('The request was stopped'));
    for (const one of signals) {
      // Any number of requests may listen to one.
      setMaxListeners(0, one);
      one.addEventListener('abort', stop, { once: true });
    }
    const connecting = setTimeout(() => {
      request.destroy(new OutboundFailure(`No connection within ${CONNECT_MS / 1000} seconds`));
    }, CONNECT_MS);
    request.once('socket', (socket) => {
      socket.once(secure ? 'secureConnect' : 'connect', () => clearTimeout(connecting));
    });
    request.once('response', resolve);
    // More errors can follow the first.
    request.on('error', reject);
    request.once('close', () => {
      clearTimeout(connecting);
      for (const one of signals) one.removeEventListener('abort', stop);
      reject(new OutboundFailure('The connection was closed before an answer came'));
    });
    request.end(body);
  });
}
