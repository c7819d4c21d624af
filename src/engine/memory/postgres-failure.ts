/** A database that could not be asked. Its message may be shown; nothing else of what the driver said is kept. */
export class MemoryUnreachable extends Error {
  override name = 'MemoryUnreachable';
}

/** Whether PostgreSQL itself refused what was asked, so that asking again would not help. */
export function isRefusal(error: unknown): boolean {
  const code = sqlState(error);
  // Connections (08), logins (28), databases (3D), resources (53) and shutdowns (57P): nothing was wrong with the question.
  return code !== undefined && !/^(?:08|28|3D|53|57P)/.test(code);
}

/** Why PostgreSQL cannot be used, in words that may be shown, without a host or a name. */
export function tellPostgres(error: unknown): string {
  const { message = '', code = '' } = (error ?? {}) as { message?: string; code?: string };
  const state = sqlState(error);
  if (state?.startsWith('28')) return 'PostgreSQL refused the user or the password';
  if (state?.startsWith('3D')) return 'The database does not exist';
  if (state?.startsWith('53')) return 'PostgreSQL takes no more connections';
  if (state?.startsWith('57P')) return 'PostgreSQL is starting up or shutting down';
  if (state === '42501') return 'The user may not make the tables';
  if (state !== undefined) return `PostgreSQL answered with the error ${state}`;
  // The driver's own refusals have no code.
  if (/SSL|TLS|CERT|SIGNATURE/i.test(code) || /does not support SSL|certificate|SSL negotiation/i.test(message)) {
    return 'TLS could not be agreed on: see sslmode';
  }
  if (/SCRAM|SASL|password must be/i.test(message)) return 'PostgreSQL refused the user or the password';
  if (code === 'ENOENT' || code === 'EACCES') return 'A file that db_url names, or its socket, cannot be read';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'The host name of PostgreSQL is not known';
  if (code === 'ECONNREFUSED') return 'PostgreSQL cannot be reached: the connection was refused';
  if (/timeout/i.test(message) || code === 'ETIMEDOUT') return 'PostgreSQL cannot be reached: it does not answer';
  return 'PostgreSQL cannot be reached';
}

/** The state an error of the server itself carries. */
function sqlState(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('severity' in error)) return undefined;
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : undefined;
}
