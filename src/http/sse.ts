import type { FastifyReply } from 'fastify';

/** How long a reader that is behind by more than the limit may take to read something. */
const STALL_MS = 5_000;
/** Behind by this many times the limit, a reader is cut at once. */
const HARD_LIMIT_FACTOR = 8;
/** How long the end of a stream waits for a reader that does not read. */
const END_TIMEOUT_MS = 120_000;

/** A server-sent-event stream to one reader. */
export interface EventStream {
  /** Sends one event's JSON text; a reader that lost the connection names the last `id` it has when it comes back. */
  send(json: string, id?: number): void;
  /** Shows a reader that has to wait that it is heard. */
  hold(): void;
  /** Ends the stream after everything sent. */
  end(): void;
}

/**
 * Turns a reply into an event stream. The frames of one turn of the event loop leave in one write, which costs a
 * fraction of a write each; a reader that does not read costs at most the limit times eight and is then cut off.
 *
 * @param options.limitBytes how far a reader may be behind.
 * @param options.onClose called once when the connection is gone before the stream has ended; `cut` when we did it.
 */
export function openEventStream(
  reply: FastifyReply,
  options: { heartbeatMs: number; limitBytes: number; onClose: (cut: boolean) => void },
): EventStream {
  const { raw } = reply.hijack();
  const { heartbeatMs, limitBytes, onClose } = options;
  let pending = '';
  let scheduled = false;
  let blockedSince: number | undefined;
  let state: 'open' | 'ending' | 'closed' = 'open';
  let endTimer: NodeJS.Timeout | undefined;

  raw.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    'content-type': 'text/event-stream',
    'cache-control': 'no-cache, no-transform',
    'x-accel-buffering': 'no',
  });
  const heartbeat = setInterval(() => {
    if (pending === '' && blockedSince === undefined) raw.write(': ping\n\n');
  }, heartbeatMs);

  const close = (cut: boolean): void => {
    if (state === 'closed') return;
    const early = state === 'open' || cut;
    state = 'closed';
    pending = '';
    clearInterval(heartbeat);
    clearTimeout(endTimer);
    if (cut) raw.destroy();
    if (early) onClose(cut);
  };
  const flush = (): void => {
    scheduled = false;
    if (state === 'closed' || blockedSince !== undefined || pending === '') return;
    const chunk = pending;
    pending = '';
    // Left to itself the response holds a write back until every waiting promise has run, and with them the whole run
    // of a quick agent. Corked by us it goes out when we say.
    raw.socket?.cork();
    if (!raw.write(chunk)) blockedSince = performance.now();
    raw.socket?.uncork();
    heartbeat.refresh();
  };
  const finish = (): void => {
    flush();
    clearInterval(heartbeat);
    raw.end(pending);
    pending = '';
    endTimer = setTimeout(() => raw.destroy(), END_TIMEOUT_MS);
  };
  raw.on('drain', () => {
    blockedSince = undefined;
    flush();
  });
  raw.on('close', () => close(false));
  raw.on('error', () => close(false));
  // The caller may have left while the run was being prepared; its `close` has then passed unheard.
  if (raw.destroyed) queueMicrotask(() => close(false));

  let first = true;
  return {
    send(json, id) {
      if (state !== 'open') return;
      pending += id === undefined ? `data: ${json}\n\n` : `id: ${id}\ndata: ${json}\n\n`;
      if (blockedSince !== undefined) {
        const behind = pending.length;
        const stalled = behind > limitBytes && performance.now() - blockedSince > STALL_MS;
        if (stalled || behind > limitBytes * HARD_LIMIT_FACTOR) close(true);
      } else if (first) {
        // The first event tells the client that its run has begun; it does not wait for others.
        first = false;
        flush();
      } else if (!scheduled) {
        scheduled = true;
        setImmediate(flush);
      }
    },
    hold() {
      if (state !== 'open' || !first) return;
      first = false;
      pending += ': waiting\n\n';
      flush();
    },
    end() {
      if (state !== 'open') return;
      state = 'ending';
      finish();
    },
  };
}
