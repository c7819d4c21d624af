import { createFetch } from '../../outbound/fetch.ts';
import type { Targets } from '../../outbound/targets.ts';
import type { SpanRecord } from '../tracing/span.ts';
import type { Destination } from './define.ts';
import { asFault, faultOf } from './delivery-fault.ts';

/** Bytes of an answer that are read. */
const MAX_ANSWER = 65_536;

/** What one request may take. */
const REQUEST_MS = 10_000;

/**
 * Sends spans to a destination, in one request.
 *
 * @param signal stops it at once.
 * @returns the answer's status and, where the answer is one of OTLP, its body.
 * @throws DeliveryFault.
 */
export async function postSpans(
  destination: Destination,
  spans: readonly SpanRecord[],
  targets: Targets | undefined,
  signal?: AbortSignal,
): Promise<{ status: number; body: Uint8Array }> {
  const timeout = AbortSignal.timeout(REQUEST_MS);
  const limit = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
  try {
    const body = await destination.encode(spans, limit);
    const headers = {
      ...(await destination.headers(limit)),
      'content-type': destination.contentType,
      'content-length': String(Buffer.byteLength(body)),
      'user-agent': 'agent-engine-server',
    };
    const fetch = createFetch({ targets, maxBytes: MAX_ANSWER });
    // A redirect of a POST would be followed by a GET, which is answered well and delivers nothing.
    const response = await fetch(destination.url, {
      method: 'POST',
      headers,
      body: body as string,
      redirect: 'manual',
      signal: limit,
    });
    const isOtlp = response.ok && response.headers.get('content-type') === 'application/x-protobuf';
    // Whatever else is said is not waited for.
    if (!isOtlp) await response.body?.cancel();
    if (!response.ok) throw faultOf(response);
    return { status: response.status, body: isOtlp ? new Uint8Array(await response.arrayBuffer()) : new Uint8Array() };
  } catch (error) {
    throw asFault(error, timeout.aborted);
  }
}
