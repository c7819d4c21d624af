import cookie from '@fastify/cookie';
import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify';
import fp from 'fastify-plugin';
import { problem } from '../../problems.ts';
import { ANONYMOUS, type Caller, type Credentials } from '../../services/access/caller.ts';
import { cleanUserId } from '../../services/access/user-id.ts';
import { plainPath } from '../plain-path.ts';

/**
 * Who may call a route: everybody; who may run the agent; who may administer; or the route's own rule. `path` is for what
 * stands for many addresses: each is held to what its place would be.
 */
export type RouteAccess = 'open' | 'runtime' | 'admin' | 'own' | 'path';

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: RouteAccess;
  }
  interface FastifyInstance {
    /** Every route, once the server is ready, with who may call it in its `config.access`. */
    readonly allRoutes: readonly RouteOptions[];
  }
  interface FastifyRequest {
    /** Who calls. */
    caller: Caller;
    /** The caller's user id; null for an anonymous one. */
    userId: string | null;
  }
}

/** Name of the session cookie (admin contract, section 4). */
export const SESSION_COOKIE = 'service_session';

/**
 * Lets callers in, or not (admin contract, section 4; runtime contract, section 10). Every route says who may call it; one
 * that does not keeps the server from starting.
 */
export const gate = fp(async (app: FastifyInstance, { secret }: { secret: string | undefined }) => {
  await app.register(cookie, secret === undefined ? {} : { secret });
  app.decorateRequest('caller', null as unknown as Caller);
  app.decorateRequest('userId', null);

  const routes: RouteOptions[] = [];
  app.decorate('allRoutes', routes);
  // Looked at when all is registered: a route's own plugin may decide after this hook has seen it.
  app.addHook('onRoute', (route) => void routes.push(route));
  app.addHook('onReady', async () => {
    const undecided = routes
      .filter(({ config }) => config?.access === undefined)
      .map(({ method, url }) => `${method} ${url}`);
    if (undecided.length > 0) throw new Error(`nobody has decided who may call ${undecided.join(', ')}`);
  });

  app.addHook('onRequest', async (request) => {
    request.caller = ANONYMOUS;
    switch (accessOf(request)) {
      case 'admin':
        await admitAdmin(request);
        break;
      case 'runtime':
        request.caller = await app.services.access.gate.runtime(credentialsOf(request));
        break;
    }
    request.userId = userIdOf(request);
  });
});

/** Decides for every route of a part of the server that does not decide by itself. */
export function accessFor(part: FastifyInstance, access: RouteAccess): void {
  part.addHook('onRoute', (route) => {
    route.config = { access, ...route.config };
  });
}

/** Lets an admin in. @throws Problem `auth_required`, `insufficient_scope`, `origin_required`. */
export async function admitAdmin(request: FastifyRequest): Promise<void> {
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  const { gate } = request.server.services.access;
  const caller = await gate.admin(credentialsOf(request), isRead ? 'admin:read' : 'admin:write');
  request.caller = caller;
  // A cookie is sent whoever has made the page, so what changes something must come from a page of ours (decision 8).
  if (caller.kind === 'session' && !isRead && !request.fromOwnPage) throw problem('origin_required');
}

/** What a request brings to show who it is from. */
export function credentialsOf(request: FastifyRequest): Credentials {
  const { authorization, 'x-api-key': apiKey } = request.headers;
  return {
    // Checked only where it is asked for: the runtime never does.
    get session() {
      return sessionOf(request);
    },
    bearer: /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1],
    apiKey: typeof apiKey === 'string' ? apiKey.trim() : undefined,
  };
}

/** The session id of the cookie, if its signature is good. */
function sessionOf(request: FastifyRequest): string | undefined {
  const value = request.cookies[SESSION_COOKIE];
  if (value === undefined || request.server.services.access.login === undefined) return undefined;
  const opened = request.unsignCookie(value);
  // The time of issue stands behind the id; what counts is the row's own time.
  return opened.valid && opened.value !== null ? opened.value.split('.')[0] : undefined;
}

/** Who may make this request. What stands for many addresses counts as what its place would be. */
export function accessOf(request: FastifyRequest): RouteAccess {
  const { access } = request.routeOptions.config;
  if (access !== undefined && access !== 'path') return access;
  const path = plainPath(request.url);
  if (/^\/(?:admin\/api|api\/v1)(?:\/|$)/.test(path)) return 'admin';
  return /^\/agent(?:\/|$)/.test(path) ? 'runtime' : 'open';
}

function userIdOf({ caller, headers }: FastifyRequest): string | null {
  if (caller.userId !== null || !caller.mayNameUser) return caller.userId;
  const header = headers['x-service-user-id'];
  return typeof header === 'string' ? cleanUserId(header) : null;
}
