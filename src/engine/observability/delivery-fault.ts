import { tellConnectionFault } from '../../outbound/fault-words.ts';

/** Why spans could not be delivered, in words that may be shown. */
export class DeliveryFault extends Error {
  override name = 'DeliveryFault';
  /** Whether the same may work later. */
  readonly retry: boolean;
  /** What the server answered with, if it answered. */
  readonly status: number | undefined;
  /** When the server wants to be asked again, in milliseconds from now. */
  readonly retryAfterMs: number | undefined;

  constructor(
    message: string,
    options: ErrorOptions & { retry?: boolean; status?: number; retryAfterMs?: number | undefined } = {},
  ) {
    super(message, options);
    this.retry = options.retry ?? true;
    this.status = options.status;
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** Whatever a delivery failed with, as a fault. */
export function asFault(error: unknown, timedOut: boolean): DeliveryFault {
  if (error instanceof DeliveryFault) return error;
  const message = timedOut ? 'No answer in time' : tellConnectionFault(error);
  return new DeliveryFault(message, { cause: error, retry: true });
}

/** What a status other than success means. */
export function faultOf({ status, headers }: Response): DeliveryFault {
  const retry = status === 408 || status === 429 || status >= 500;
  const words =
    status === 401 || status === 403
      ? 'The server refuses the credentials'
      : status === 404 || status === 405
        ? 'The server takes no spans at this address'
        : status >= 300 && status < 400
          ? 'The server redirects'
          : status === 429
            ? 'The server takes no more for now'
            : 'The server does not take the spans';
  return new DeliveryFault(`${words} (status ${status})`, {
    retry,
    status,
    retryAfterMs: retryAfter(headers.get('retry-after')),
  });
}

/** Longest wait a server may ask for. */
const MAX_WAIT_MS = 300_000;

function retryAfter(header: string | null): number | undefined {
  if (header === null) return undefined;
  const ms = /^\d+$/.test(header.trim()) ? Number(header) * 1_000 : Date.parse(header) - Date.now();
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), MAX_WAIT_MS) : undefined;
}
