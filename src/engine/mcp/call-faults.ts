/** Whether an error of a call means that the connection is of no more use. */
export function isGone(error: unknown): boolean {
  const { code, name } = error as { code?: unknown; name?: string };
  if (name === 'OutboundFailure' || name === 'ConnectionFailure' || isUnknownSession(error)) return true;
  // The SDK says -32000 for a connection that was closed under a request.
  return code === -32_000 || (typeof code === 'string' && /^E[A-Z_]+$/.test(code));
}

/** Whether a call cannot have reached the server, or was turned away unread, so that it may be made again. */
export function wasNotTaken(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return isUnknownSession(error) || ['ECONNREFUSED', 'ENOTFOUND', 'EHOSTUNREACH'].includes(code as string);
}

/** Whether the server has forgotten the session, having been started anew: HTTP 404, from some 400. */
function isUnknownSession(error: unknown): boolean {
  const { code, message } = error as { code?: unknown; message?: string };
  return code === 404 || (code === 400 && /session/i.test(message ?? ''));
}
