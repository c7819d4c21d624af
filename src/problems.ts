/** One reported fault of a request: where it is, what is wrong, and the validator's word for it (runtime contract, section 1). */
export interface ProblemDetail {
  loc: (string | number)[];
  msg: string;
  type: string;
}

/** Every error a client can meet as JSON: code → HTTP status and the text that is safe to show. `docs/errors.md` lists them all. */
export const PROBLEMS = {
  bad_request: { status: 400, message: 'Bad Request' },
  auth_required: { status: 401, message: 'Unauthorized' },
  forbidden: { status: 403, message: 'Forbidden' },
  insufficient_scope: { status: 403, message: 'This key may not do that: it lacks the scope.' },
  not_found: { status: 404, message: 'Not Found' },
  graph_not_available: { status: 404, message: 'This agent cannot describe itself as a graph.' },
  forbidden_host: {
    status: 403,
    message:
      'This host name is not allowed. Open the server by a loopback address, or add the name to SERVICE_ALLOWED_HOSTS.',
  },
  forbidden_origin: {
    status: 403,
    message: 'This origin is not allowed. Add it to SERVICE_CORS_ORIGINS to let its pages call the server.',
  },
  origin_required: {
    status: 403,
    message:
      'A change made with the session cookie must come from a page of this server: send its Origin header, or use an API key.',
  },
  reload_forbidden: {
    status: 403,
    message:
      'Reload is allowed from this machine, or with "Authorization: Bearer" and the value of SERVICE_RELOAD_TOKEN.',
  },
  conflict: { status: 409, message: 'Conflict' },
  precondition_failed: {
    status: 412,
    message: 'Somebody else has changed the configuration in between. Read it again and repeat the change.',
  },
  run_id_taken: {
    status: 409,
    message: 'This thread has a run of this id already, which was asked something else. Give every run its own runId.',
  },
  thread_busy: {
    status: 409,
    message: 'A run is under way on this thread. Cancel it, or wait for it to end.',
  },
  body_too_large: { status: 413, message: 'Request body too large' },
  unsupported_media_type: { status: 415, message: 'Send the body as JSON with "Content-Type: application/json".' },
  validation_failed: { status: 422, message: 'The request is not valid.' },
  reload_failed: {
    status: 422,
    message: 'The new configuration could not be started; the previous agent keeps serving.',
  },
  guardrail_rejected: { status: 429, message: 'This message is not allowed here.' },
  rate_limited: { status: 429, message: 'Too many requests. Try again after the seconds that Retry-After says.' },
  too_many_runs: { status: 429, message: 'The server has as many runs as it can take. Try again in a moment.' },
  invoke_failed: { status: 500, message: 'The agent could not complete this run.' },
  internal_error: { status: 500, message: 'Internal Server Error' },
  sessions_unsupported: { status: 501, message: 'This agent does not keep its sessions: it has no checkpointer.' },
  agent_not_ready: { status: 503, message: 'No agent is ready to answer.' },
  memory_unreachable: {
    status: 503,
    message: "The agent's memory cannot be reached. Try again in a moment.",
  },
  unsupported_mode: { status: 503, message: 'There is no password to log in with in this mode.' },
  shutting_down: { status: 503, message: 'The server is shutting down.' },
} as const satisfies Record<string, { status: number; message: string }>;

/** Name of an error in {@link PROBLEMS}. */
export type ProblemCode = keyof typeof PROBLEMS;

/** An error that is meant for the client. Anything else that is thrown becomes `internal_error` and shows nothing. */
export class Problem extends Error {
  override name = 'Problem';
  readonly code: ProblemCode;
  /** Faults of a 422, with their places. */
  readonly details: ProblemDetail[] | undefined;
  /** What kind of agent refused, where the body must say so (501 of the session routes). */
  readonly agentType: string | undefined;
  /** When to try again, for the `Retry-After` header: whole seconds. */
  readonly retryAfter: number | undefined;
  /** Why credentials were refused, for the `WWW-Authenticate` header (RFC 6750); undefined when there were none. */
  readonly challenge: string | undefined;

  constructor(
    code: ProblemCode,
    options: {
      message?: string;
      details?: ProblemDetail[];
      agentType?: string;
      retryAfter?: number;
      challenge?: string;
      cause?: unknown;
    } = {},
  ) {
    super(options.message ?? PROBLEMS[code].message, { cause: options.cause });
    this.code = code;
    this.details = options.details;
    this.agentType = options.agentType;
    this.retryAfter = options.retryAfter;
    this.challenge = options.challenge;
  }

  get status(): number {
    return PROBLEMS[this.code].status;
  }
}

/** Makes the {@link Problem} to throw for `code`; `options.message` replaces the table's text and must be safe to show. */
export function problem(code: ProblemCode, options?: ConstructorParameters<typeof Problem>[1]): Problem {
  return new Problem(code, options);
}
