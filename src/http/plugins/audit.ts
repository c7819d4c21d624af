import type { FastifyInstance, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { AuditMark, Caller } from '../../services/access/caller.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** How the audit log names this request. */
    readonly audit: AuditMark;
  }
}

/**
 * Writes what admins do into the audit log, as far as it is not written together with the change itself: what was
 * refused, what failed, and what changes nothing.
 */
export const audit = fp(async (app: FastifyInstance) => {
  // One to a request, since it also knows whether the services have written it down themselves.
  const marks = new WeakMap<FastifyRequest, AuditMark>();
  app.decorateRequest('audit', {
    getter(this: FastifyRequest) {
      const mark = marks.get(this) ?? markOf(this);
      marks.set(this, mark);
      return mark;
    },
  });
  app.addHook('onResponse', async (request, reply) => {
    if (request.method === 'GET' || request.method === 'HEAD' || request.method === 'OPTIONS') return;
    const { access } = request.routeOptions.config;
    const isAdmin = access === 'admin' || access === 'own';
    // Strangers who are turned away, and whoever goes on after the limit, could fill the disk. Who has not come as far as
    // the gate is nobody yet.
    const { statusCode } = reply;
    const caller = request.caller as Caller | null;
    const isTurnedAway =
      statusCode === 401 || statusCode === 429 || (statusCode === 403 && caller?.kind === 'anonymous');
    if (!isAdmin || caller === null || isTurnedAway || request.audit.recorded) return;
    const outcome = statusCode < 400 ? 'ok' : statusCode < 500 ? 'refused' : 'failed';
    await app.services.access.audit
      .add(request.audit, outcome, `status ${statusCode}`)
      .catch((err: unknown) => request.log.error({ err }, 'an entry of the audit log could not be written'));
  });
});

function markOf(request: FastifyRequest): AuditMark {
  const action = actionOf(request);
  return { action, actor: request.caller.actor, address: request.ip, requestId: request.id, recorded: false };
}

const VERBS: Readonly<Record<string, string>> = { POST: 'create', PATCH: 'update', PUT: 'update', DELETE: 'delete' };

/** What a route does: `guardrails.create`, `memory.check-connection`, `login`. */
function actionOf({ method, routeOptions }: FastifyRequest): string {
  const parts = (routeOptions.url ?? '').split('/').filter((part) => part !== '');
  const named = parts.filter((part) => !part.startsWith(':') && !['admin', 'api', 'v1', 'auth'].includes(part));
  const [resource = 'request', ...rest] = named;
  const last = parts.at(-1);
  if (rest.length > 0) return `${resource}.${rest.join('.')}`;
  // A route named for what it does, as `login` and `reload` are.
  if (parts.includes('auth') || resource === 'reload' || resource === 'validate') return String(last);
  return `${resource}.${VERBS[method] ?? method.toLowerCase()}`;
}
