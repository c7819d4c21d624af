import { STATUS_CODES } from 'node:http';
import { pipeline, Readable, Transform } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { ProbeFailure } from './failure.ts';
import { exchange } from './http-exchange.ts';

/** What one answer may have. */
const BODY_BYTES = 4 * 1024 * 1024;

/** A `fetch` for the MCP client that leaves no connection open, bounds what is read, and stops with `signal`. */
export function createMcpFetch(signal: AbortSignal): typeof fetch {
  return async (target, init = {}) => {
    const url = new URL(target instanceof Request ? target.url : target);
    const response = await exchange(url, {
      method: init.method ?? 'GET',
      headers: Object.fromEntries(new Headers(init.headers)),
      ...(typeof init.body === 'string' && { body: init.body }),
      signal: init.signal ? AbortSignal.any([signal, init.signal]) : signal,
    });
    const status = response.statusCode ?? 0;
    const headers = new Headers();
    for (const [name, values] of Object.entries(response.headersDistinct)) {
      for (const value of values ?? []) headers.append(name, value);
    }
    const statusText = STATUS_CODES[status] ?? '';
    if ([101, 204, 205, 304].includes(status) || init.method === 'HEAD') {
      response.on('error', () => {});
      response.destroy();
      return new Response(null, { status, statusText, headers });
    }
    // Whoever reads hears of a fault in it; the last argument is only there because it must be.
    const body = pipeline(response, limitBytes(), () => {});
    return new Response(Readable.toWeb(body) as ReadableStream<Uint8Array>, { status, statusText, headers });
  };
}

function limitBytes(): Transform {
  let bytes = 0;
  return new Transform({
    transform(chunk: Buffer, _, done) {
      bytes += chunk.length;
      if (bytes > BODY_BYTES) done(new ProbeFailure('The answer is too long'));
      else done(null, chunk);
    },
  });
}
