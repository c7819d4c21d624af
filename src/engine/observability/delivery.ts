import { setTimeout as sleep } from 'node:timers/promises';
import type { Targets } from '../../outbound/targets.ts';
import type { SpanSink } from '../tracing/span.ts';
import type { Destination } from './define.ts';
import { asFault, type DeliveryFault } from './delivery-fault.ts';
import { postSpans } from './post.ts';
import { SpanQueue } from './span-queue.ts';

/** Most spans of one request (runtime contract, section 14). */
const BATCH_SPANS = 512;

/** About how much one request may hold; collectors commonly refuse more than 4 MB. */
const BATCH_BYTES = 2_097_152;

/** How long spans wait for others to be sent with them. */
const FLUSH_MS = 2_000;

const FIRST_BACKOFF_MS = 1_000;
const MAX_BACKOFF_MS = 60_000;

/** How long closing may take (runtime contract, section 14). */
const CLOSE_MS = 5_000;

/** How an exporter is doing. Times are epoch milliseconds. */
export interface ExporterStatus {
  provider: string;
  /** Where it sends to, without credentials. */
  endpoint: string;
  /** `idle` until something was sent. */
  state: 'idle' | 'ok' | 'failing';
  exported: number;
  /** Spans that were pushed out of a full queue, or left behind at the end. */
  dropped: number;
  /** Spans the provider did not take. */
  failed: number;
  queued: number;
  lastError: string | null;
  lastErrorAt: number | null;
  lastExportAt: number | null;
}

/** Hears when an exporter stops working and when it works again. */
export type DeliveryLog = Record<'info' | 'warn', (details: object, message: string) => void>;

/** One exporter at work. */
export interface Delivery extends SpanSink {
  status(): ExporterStatus;
  /** Sends what is left, for five seconds at most. Spans that come later are dropped. */
  close(): Promise<void>;
}

/** Starts delivering to a destination, in the background and one request at a time. */
export function createDelivery(
  provider: string,
  destination: Destination,
  targets: Targets | undefined,
  log: DeliveryLog,
): Delivery {
  const queue = new SpanQueue();
  const stop = new AbortController();
  const url = new URL(destination.url);
  const endpoint = `${url.origin}${url.pathname}`;
  const flushMs = destination.flushMs ?? FLUSH_MS;
  let state: ExporterStatus['state'] = 'idle';
  let exported = 0;
  let failed = 0;
  let lastError: string | null = null;
  let lastErrorAt: number | null = null;
  let lastExportAt: number | null = null;
  let batchSpans = BATCH_SPANS;
  let attempts = 0;
  let inFlight = 0;
  let renewed = false;
  let timer: NodeJS.Timeout | undefined;
  let at = 0;
  let work: Promise<void> | undefined;
  let closing = false;

  const becomes = (next: 'ok' | 'failing'): void => {
    if (next !== state) {
      const details = { exporter: provider, endpoint };
      if (next === 'failing') log.warn({ ...details, reason: lastError }, 'an exporter cannot deliver its spans');
      else if (state === 'failing') log.info(details, 'an exporter delivers its spans again');
    }
    state = next;
  };

  /** Sends once. @returns how long to wait before the next try, or undefined when there is nothing to wait for. */
  const sendBatch = async (): Promise<number | undefined> => {
    const batch = queue.take(batchSpans, BATCH_BYTES);
    inFlight = batch.length;
    try {
      const { body } = await postSpans(destination, batch, targets, stop.signal);
      const refused = Math.min(rejectedSpans(destination, body), batch.length);
      exported += batch.length - refused;
      failed += refused;
      lastExportAt = Date.now();
      attempts = 0;
      renewed = false;
      if (refused > 0) noteError('The server took only some of the spans');
      becomes('ok');
      return undefined;
    } catch (error) {
      const fault = asFault(error, false);
      noteError(fault.message);
      becomes('failing');
      if (fault.status === 413 && batch.length > 1) {
        batchSpans = Math.ceil(batch.length / 2);
        queue.putBack(batch);
        return undefined;
      }
      if (fault.status === 401 && destination.renew !== undefined && !renewed) {
        // Tokens can be taken back before their time.
        renewed = true;
        destination.renew();
        queue.putBack(batch);
        return undefined;
      }
      if (!fault.retry) {
        failed += batch.length;
        attempts = 0;
        return undefined;
      }
      queue.putBack(batch);
      return waitAfter(fault);
    } finally {
      inFlight = 0;
    }
  };

  const waitAfter = ({ retryAfterMs }: DeliveryFault): number => {
    const backoff = Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** attempts);
    attempts += 1;
    // Servers that come back are not to be met by everybody at once.
    return Math.max(retryAfterMs ?? 0, backoff * (0.5 + Math.random() / 2));
  };

  const noteError = (message: string): void => {
    lastError = message;
    lastErrorAt = Date.now();
  };

  const sendAll = async (): Promise<void> => {
    while (queue.length > 0) {
      const wait = await sendBatch();
      if (wait === undefined) continue;
      if (closing) return;
      return schedule(wait);
    }
  };

  const schedule = (ms: number): void => {
    const due = performance.now() + ms;
    // A retry is never brought forward: the server asked for the time, or needs it.
    if (closing || (timer !== undefined && (due >= at || attempts > 0))) return;
    clearTimeout(timer);
    at = due;
    timer = setTimeout(() => {
      timer = undefined;
      work = sendAll().finally(() => {
        work = undefined;
        if (queue.length > 0 && timer === undefined) schedule(flushMs);
      });
    }, ms);
    timer.unref();
  };

  return {
    onEnd(span) {
      if (destination.samples?.(span.traceId) === false) return;
      if (closing) return queue.refuse();
      queue.add(span);
      if (work === undefined) schedule(queue.length >= batchSpans ? 0 : flushMs);
    },
    status: () => ({
      provider,
      endpoint,
      state,
      exported,
      dropped: queue.dropped,
      failed,
      queued: queue.length + inFlight,
      lastError,
      lastErrorAt,
      lastExportAt,
    }),
    async close() {
      closing = true;
      clearTimeout(timer);
      const late = sleep(CLOSE_MS, undefined, { signal: stop.signal, ref: false }).then(
        () => stop.abort(),
        () => undefined,
      );
      // What is under way first, then the rest, once: there is no time to wait for a server that is not well.
      await work;
      if (!stop.signal.aborted) await sendAll();
      stop.abort();
      await late;
      const left = queue.clear();
      if (left > 0)
        log.warn({ exporter: provider, endpoint, spans: left }, 'spans could not be delivered before the end');
    },
  };
}

/** How many spans a server says it refused, in an answer that is a success otherwise (OTLP's partial success). */
function rejectedSpans({ contentType }: Destination, body: Uint8Array): number {
  if (contentType !== 'application/x-protobuf' || body.length < 4 || body[0] !== 0x0a) return 0;
  // ExportTraceServiceResponse { partial_success = 1 { rejected_spans = 1: varint } }
  if (body[2] !== 0x08) return 0;
  let count = 0;
  for (let index = 3, factor = 1; index < body.length && index < 8; index += 1, factor *= 128) {
    const byte = body[index] ?? 0;
    count += (byte & 0x7f) * factor;
    if (byte < 0x80) return count;
  }
  return 0;
}
