import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { problem } from '../../problems.ts';
import { clientKey } from '../../services/access/client-address.ts';
import { accessOf } from './gate.ts';

/** Requests a minute; 0 for no limit. */
export interface RateLimits {
  address: number;
  user: number;
}

/** Callers that one limit counts at once; the one that has been quiet longest is forgotten first. */
const MAX_CALLERS = 20_000;

/**
 * Bounds how often one address and one user may call. The runtime and the admin surface count apart, so that a busy chat
 * does not keep the admin out.
 */
export const rateLimits = fp(async (app: FastifyInstance, { address, user }: RateLimits) => {
  if (address === 0 && user === 0) return;
  // Loaded where something is limited: every start waits for what is loaded.
  await app.register(import('@fastify/rate-limit'), { global: false, timeWindow: 60_000 });
  const byAddress = limiter(app, 'address', address, (request) => clientKey(request.ip));
  const byUser = limiter(app, 'user', user, nameOf);
  // Before anybody is asked for a token, whose check costs more than this one.
  if (address > 0) app.addHook('onRequest', (request, reply) => byAddress(request, reply));
  // The gate has its own hook on the same event, registered before this one.
  if (user > 0) {
    app.addHook('preParsing', async (request, reply) => {
      if (nameOf(request) !== '') await byUser(request, reply);
    });
  }
});

function limiter(
  app: FastifyInstance,
  kind: keyof RateLimits,
  max: number,
  callerOf: (request: FastifyRequest) => string,
) {
  const keyGenerator = (request: FastifyRequest): string => `${kind} ${surfaceOf(request)} ${callerOf(request)}`;
  // Each counts for itself, in a cache of its own; the package's types leave its size out.
  const settings = { max, keyGenerator, cache: MAX_CALLERS };
  const count = app.createRateLimit(settings);
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    if (surfaceOf(request) === undefined) return;
    const found = await count(request);
    if (found.isAllowed) return;
    reply.header('RateLimit-Limit', found.max).header('RateLimit-Remaining', found.remaining);
    reply.header('RateLimit-Reset', found.ttlInSeconds);
    if (found.isExceeded) throw problem('rate_limited', { retryAfter: Math.max(1, found.ttlInSeconds) });
  };
}

function surfaceOf(request: FastifyRequest): 'runtime' | 'admin' | undefined {
  const access = accessOf(request);
  // By the route, since an address can be written in other ways.
  if (access === 'open') return request.routeOptions.url?.startsWith('/admin/') ? 'admin' : undefined;
  return access === 'runtime' ? 'runtime' : 'admin';
}

/** The user or key that calls; empty for nobody in particular. */
function nameOf({ caller, userId }: FastifyRequest): string {
  return userId ?? (caller.kind === 'anonymous' ? '' : caller.actor);
}
