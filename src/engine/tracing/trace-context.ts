import { randomUUID } from 'node:crypto';

/** The caller's place in a trace of its own (W3C trace context). */
export interface Upstream {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceState: string | undefined;
}

/** Longest `tracestate` that is passed on; the standard asks for 512 at least. */
const MAX_STATE_LENGTH = 512;

/**
 * Reads the headers `traceparent` and `tracestate`; undefined for what is not a valid one, which then starts a trace of
 * its own. The caller's sampling decision is not taken over: proxies switch most traces off, and who configures an
 * exporter wants its runs.
 */
export function readTraceContext(traceparent: unknown, tracestate: unknown): Upstream | undefined {
  if (typeof traceparent !== 'string') return undefined;
  const match = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/.exec(traceparent.trim());
  if (match === null) return undefined;
  const [, version = 'ff', traceId = '', spanId = '', rest] = match;
  // Later versions may say more; version 00 may not, and ff is none.
  if (version === 'ff' || (version === '00' && rest !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  const state = typeof tracestate === 'string' ? tracestate.trim() : '';
  const fits = state.length <= MAX_STATE_LENGTH && /^[\x20-\x7e]+$/.test(state);
  return { traceId, spanId, traceState: fits ? state : undefined };
}

/** A trace id: 32 hexadecimal digits. */
export function newTraceId(): string {
  return randomUUID().replaceAll('-', '');
}

/** A span id: 16 hexadecimal digits. All of them are random ones, which not every digit of a UUID is. */
export function newSpanId(): string {
  const id = randomUUID();
  return id.slice(0, 8) + id.slice(28);
}
