import { OutboundFailure } from './exchange.ts';
import { TargetRefused } from './targets.ts';

/** What the codes of sockets mean. */
export const CONNECTION_FAULTS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'The connection was refused',
  ECONNRESET: 'The connection was closed before an answer came',
  EPIPE: 'The connection was closed before an answer came',
  ENOTFOUND: 'The host name is not known',
  EAI_AGAIN: 'The host name could not be looked up',
  ETIMEDOUT: 'The connection timed out',
  EHOSTUNREACH: 'The host cannot be reached',
  ENETUNREACH: 'The network cannot be reached',
};

/** Why a call came to nothing, in words that may be shown; nothing of an unknown error's own text. */
export function tellConnectionFault(error: unknown): string {
  if (error instanceof OutboundFailure || error instanceof TargetRefused) return error.message;
  const { code } = (error ?? {}) as { code?: unknown };
  if (typeof code === 'string' && code in CONNECTION_FAULTS) return CONNECTION_FAULTS[code] as string;
  if (typeof code === 'string' && code.startsWith('HPE_')) return 'The answer is not HTTP';
  if (typeof code === 'string' && /CERT|TLS|SSL/.test(code)) return 'The certificate of the server cannot be verified';
  return 'The connection failed';
}
