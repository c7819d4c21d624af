import { type IncomingMessage, STATUS_CODES } from 'node:http';
import { pipeline, Readable, Transform } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { exchange, OutboundFailure } from './exchange.ts';
import type { Targets } from './targets.ts';

/** Redirects that are followed, each to a target that is checked like the first. */
const MAX_REDIRECTS = 5;

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** Headers that are meant for one origin and stay there. */
const CREDENTIALS = ['authorization', 'cookie', 'proxy-authorization', 'x-api-key'];

/** Bounds of a {@link createFetch}. */
export interface FetchOptions {
  /** Where it may go; undefined for anywhere, for addresses the operator has set. */
  targets: Targets | undefined;
  /** Bytes of one answer; undefined for no bound, for event streams that live long. */
  maxBytes?: number;
  /** Stops everything at once. */
  signal?: AbortSignal;
}

/**
 * Makes a `fetch` for calls the configuration asks for: it goes only where `targets` allows, redirects included, leaves
 * no connection open, and bounds what is read. Bodies are texts or bytes.
 */
export function createFetch({ targets, maxBytes, signal }: FetchOptions): typeof fetch {
  return async (target, init = {}) => {
    let url = new URL(target instanceof Request ? target.url : target);
    let method = init.method ?? 'GET';
    let body = typeof init.body === 'string' || init.body instanceof Uint8Array ? init.body : undefined;
    const headers = new Headers(init.headers);
    for (let hops = 0; ; hops += 1) {
      if (url.protocol !== 'http:' && url.protocol !== 'https:') throw new OutboundFailure('Not an http or https URL');
      const response = await exchange(url, {
        method,
        headers: Object.fromEntries(headers),
        ...(body !== undefined && { body }),
        targets,
        signal: [signal, init.signal].filter((one) => one !== undefined && one !== null),
      });
      const status = response.statusCode ?? 0;
      const next = REDIRECTS.has(status) ? redirectOf(response, url) : undefined;
      if (next === undefined || init.redirect === 'manual') return answerOf(response, method, maxBytes);
      drop(response);
      if (init.redirect === 'error' || hops === MAX_REDIRECTS) throw new OutboundFailure('The server redirects');
      // As browsers do it: what was posted is asked for at its new place.
      if (status === 303 || (method === 'POST' && (status === 301 || status === 302))) {
        method = method === 'HEAD' ? 'HEAD' : 'GET';
        body = undefined;
        for (const name of ['content-type', 'content-length', 'content-encoding']) headers.delete(name);
      }
      if (next.origin !== url.origin) for (const name of CREDENTIALS) headers.delete(name);
      url = next;
    }
  };
}

function redirectOf(response: IncomingMessage, from: URL): URL | undefined {
  const { location } = response.headers;
  return location !== undefined && URL.canParse(location, from.href) ? new URL(location, from) : undefined;
}

function drop(response: IncomingMessage): void {
  response.on('error', () => {});
  response.destroy();
}

function answerOf(response: IncomingMessage, method: string, maxBytes: number | undefined): Response {
  const status = response.statusCode ?? 0;
  const headers = new Headers();
  for (const [name, values] of Object.entries(response.headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value);
  }
  const statusText = STATUS_CODES[status] ?? '';
  if ([101, 204, 205, 304].includes(status) || method === 'HEAD') {
    drop(response);
    return new Response(null, { status, statusText, headers });
  }
  // Whoever reads hears of a fault in it; the last argument is only there because it must be.
  const body = maxBytes === undefined ? response : pipeline(response, limitBytes(maxBytes), () => {});
  return new Response(Readable.toWeb(body) as ReadableStream<Uint8Array>, { status, statusText, headers });
}

function limitBytes(maxBytes: number): Transform {
  let bytes = 0;
  return new Transform({
    transform(chunk: Buffer, _, done) {
      bytes += chunk.length;
      if (bytes > maxBytes) done(new OutboundFailure('The answer is too long'));
      else done(null, chunk);
    },
  });
}
