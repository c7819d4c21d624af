import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { hasZodFastifySchemaValidationErrors } from 'fastify-type-provider-zod';
import { describeIssue, flattenIssue, type Issue, issueType } from '../../issues.ts';
import { Problem, type ProblemDetail, problem } from '../../problems.ts';
import { plainPath } from '../plain-path.ts';

/**
 * Writes every error body, and nothing else does (runtime contract, section 1). What is not meant for the client is
 * logged under the request's id, which the answer carries as `X-Request-Id`.
 */
export const errors = fp(async (app: FastifyInstance) => {
  app.setErrorHandler(sendProblem);
  app.setNotFoundHandler((request, reply) => send(problem('not_found'), request, reply));
});

/** Answers any error that was thrown. */
export function sendProblem(error: unknown, request: FastifyRequest, reply: FastifyReply) {
  const known = error instanceof Problem ? error : translate(error as FastifyError, request);
  if (known === undefined) request.log.error({ err: error }, 'unhandled error');
  else if (known.status === 401) {
    reply.header('WWW-Authenticate', challengeOf(known));
    // More than the client is told, under the id it is told.
    if (known.cause instanceof Error) request.log.info({ reason: known.cause.message }, 'credentials were refused');
  } else if (known.status >= 500) request.log.warn({ err: known }, known.message);
  if (known?.retryAfter !== undefined) reply.header('Retry-After', known.retryAfter);
  reply.header('X-Request-Id', request.id);
  return send(known ?? problem('internal_error'), request, reply);
}

/** What a client is asked for (RFC 6750, section 3). */
function challengeOf({ challenge }: Problem): string {
  if (challenge === undefined) return 'Bearer';
  return `Bearer error="invalid_token", error_description="${challenge.replace(/[^\x20-\x7e]|["\\]/g, '')}"`;
}

function send(known: Problem, request: FastifyRequest, reply: FastifyReply) {
  return reply
    .status(known.status)
    .type('application/json; charset=utf-8')
    .send(JSON.stringify(bodyOf(known, plainPath(request.url))));
}

function bodyOf(known: Problem, path: string): object {
  const isAdmin = /^\/admin\/api\//.test(path);
  const { message } = known;
  const code = isAdmin ? adminCode(known) : known.code;
  if (known.status === 422) {
    const detail = known.details ?? [{ loc: ['body'], msg: message, type: 'value_error' }];
    const fieldErrors = detail.map(({ loc, msg, type }) => ({ field: loc.join('.'), message: msg, code: type }));
    // The reload route speaks to admins too, so it says which of its two failures this was.
    return isAdmin || /^\/reload\b/.test(path) ? { detail, error: { code, message, fieldErrors } } : { detail };
  }
  if (code === 'agent_not_ready') return { detail: { error: { code, message } } };
  if (code === 'sessions_unsupported') return { detail: { error: message, agent_type: known.agentType } };
  return isAdmin ? { detail: message, error: { code, message } } : { detail: message };
}

/** Codes the admin surface has always had (admin contract, section 3), and 412's, which is ours. */
const ADMIN_CODES: ReadonlySet<string> = new Set([
  'bad_request',
  'validation_failed',
  'not_found',
  'conflict',
  'precondition_failed',
  'reload_failed',
  'auth_required',
  'forbidden',
  'unsupported_mode',
  'rate_limited',
  'internal_error',
]);

function adminCode({ code, status }: Problem): string {
  if (ADMIN_CODES.has(code)) return code;
  if (status === 403) return 'forbidden';
  if (status === 429) return 'rate_limited';
  return status < 500 ? 'bad_request' : 'internal_error';
}

/** Fastify's own errors in our terms; undefined for anything that is a fault of ours. */
function translate(error: FastifyError, request: FastifyRequest): Problem | undefined {
  if (hasZodFastifySchemaValidationErrors(error)) {
    const place = PLACES[error.validationContext ?? 'body'] ?? 'body';
    const details = error.validation.flatMap((found): ProblemDetail[] => {
      const path = found.instancePath.split('/').filter((part) => part !== '');
      const at = path.map((part) => (/^\d+$/.test(part) ? Number(part) : part));
      const issue = { ...found.params, code: found.keyword, message: found.message, path: at } as unknown as Issue;
      return flattenIssue(issue).map((fault) => {
        const loc = [place, ...fault.path.filter((part) => typeof part !== 'symbol')];
        // A union told apart by a member does not say that the member is absent.
        const given = valueAt(request, loc);
        const absent = loc.length === 1 ? given == null : fault.code === 'invalid_union' && given === undefined;
        return absent
          ? { loc, msg: 'Field required', type: 'missing' }
          : { loc, msg: describeIssue(fault), type: issueType(fault) };
      });
    });
    return problem('validation_failed', { details });
  }
  switch (error.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return problem('body_too_large');
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return problem('unsupported_media_type');
    case 'FST_ERR_CTP_INVALID_JSON_BODY':
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return problem('validation_failed', {
        details: [{ loc: ['body'], msg: 'The body is not valid JSON', type: 'json_invalid' }],
      });
    case 'FST_ERR_BAD_URL':
    case 'FST_ERR_NOT_FOUND':
      return problem('not_found');
    case 'FST_ERR_REOPENED_CLOSE_SERVER':
      return problem('shutting_down');
  }
  // What a hook of the embedding program or a plugin refuses keeps its status; its text stays here.
  const status = error.statusCode ?? 500;
  if (status === 401) return problem('auth_required');
  if (status === 403) return problem('forbidden');
  if (status === 404) return problem('not_found');
  return status >= 400 && status < 500 ? problem('bad_request') : undefined;
}

/** Parts of a request as faults name them. */
const PLACES: Readonly<Record<string, string>> = {
  querystring: 'query',
  params: 'path',
  headers: 'header',
  body: 'body',
};

function valueAt(request: FastifyRequest, [place, ...path]: (string | number)[]): unknown {
  const parts: Record<string, unknown> = { body: request.body, query: request.query, path: request.params };
  let value = parts[String(place)];
  for (const key of path) value = (value as Record<string | number, unknown> | undefined)?.[key];
  return value;
}
