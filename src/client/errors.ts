/** The server's answer was an error; as `HttpAgent` reports it. */
export class HttpError extends Error {
  override readonly name = 'HttpError';
  /** The answer's HTTP status. */
  readonly status: number;
  /** The answer's body: parsed when it is JSON, else its text. */
  readonly payload: unknown;

  constructor(status: number, payload: unknown) {
    super(`HTTP ${status}: ${typeof payload === 'string' ? payload : JSON.stringify(payload)}`);
    this.status = status;
    this.payload = payload;
  }
}

/** The connection was lost and could not be had again; `cause` is why the last attempt failed. The run may go on. */
export class ConnectionLostError extends Error {
  override readonly name = 'ConnectionLostError';

  constructor(attempts: number, cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    super(`The connection to the run is lost; ${attempts} attempts to get it back have failed. Last: ${reason}`, {
      cause,
    });
  }
}

/** What the server sent is no stream of AG-UI events, so that no further attempt would help. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError';
}

/** Whether a failure is one that may pass by itself, rather than an answer that will be the same again. */
export function isTransient(error: unknown): boolean {
  if (error instanceof ProtocolError) return false;
  return !(error instanceof HttpError) || error.status >= 500 || error.status === 408 || error.status === 429;
}

/** The error that an answer with an error status stands for. */
export async function errorOf(response: Response): Promise<HttpError> {
  const text = await response.text().catch(() => '');
  if (!response.headers.get('content-type')?.includes('json')) return new HttpError(response.status, text);
  try {
    return new HttpError(response.status, JSON.parse(text));
  } catch {
    return new HttpError(response.status, text);
  }
}
