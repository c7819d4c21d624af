import cors from '@fastify/cors';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { isLoopback } from '../../env.ts';
import { problem } from '../../problems.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Whether a page sent it that may act for its user here: one of this server, or of an origin the operator has named. */
    fromOwnPage: boolean;
    /** Whether it came by a name that is not ours, as a page's trick may; it is only let through to learn that the server is up. */
    byForeignName: boolean;
  }
}

/** What decides which pages and names are ours. */
export interface AccessOptions {
  /** Whether nobody is asked for a name, so that only where a request comes from protects the server. */
  isOpen: boolean;
  allowedHosts: string[];
  origins: string[];
}

/**
 * From where the server may be called (contract decisions 7 and 8): a page on another site can reach a laptop's loopback
 * address, by a form, a script, or a name that it points there. So the host must be one of ours, and what writes or runs
 * something must not come from a foreign page. Where nobody has to log in, pages on loopback may chat, whatever their port.
 */
export const access = fp(async (app: FastifyInstance, { isOpen, allowedHosts, origins }: AccessOptions) => {
  const checksHost = isOpen || allowedHosts.length > 0;
  app.decorateRequest('fromOwnPage', false);
  app.decorateRequest('byForeignName', false);

  const isOwnPage = (request: FastifyRequest, origin: string): boolean =>
    origins.includes(origin) || isSameOrigin(request, origin);

  const mayCall = (request: FastifyRequest, origin: string): boolean => {
    if (isOwnPage(request, origin)) return true;
    const page = URL.canParse(origin) ? new URL(origin) : undefined;
    return isOpen && page !== undefined && request.url.startsWith('/agent/') && isLoopback(page.hostname);
  };

  app.addHook('onRequest', async (request) => {
    const { host, origin, 'sec-fetch-site': site } = request.headers;
    // Probes come by whatever address the platform knows, and learn nothing but "up".
    const isProbe = request.url.split('?')[0] === '/health';
    request.byForeignName = checksHost && !isAllowedHost(host, allowedHosts);
    if (request.byForeignName && !isProbe) throw problem('forbidden_host');
    request.fromOwnPage = origin === undefined ? site === 'same-origin' : isOwnPage(request, origin);
    const safe = request.method === 'GET' || request.method === 'HEAD' || request.method === 'OPTIONS';
    if (safe) return;
    // A browser that keeps the origin to itself still says that the page is another's.
    const foreign = origin === undefined ? site === 'cross-site' || site === 'same-site' : !mayCall(request, origin);
    if (foreign) throw problem('forbidden_origin');
  });

  await app.register(cors, {
    delegator: (request, done) => {
      const { origin } = request.headers;
      const allowed = origin !== undefined && mayCall(request, origin);
      done(null, {
        origin: allowed ? origin : false,
        // Only origins the operator has named may send cookies.
        credentials: allowed && origins.includes(origin),
        methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
        exposedHeaders: ['X-Request-Id', 'Retry-After'],
        maxAge: 600,
        strictPreflight: false,
        preflightContinue: false,
        optionsSuccessStatus: 204,
      });
    },
  });
  app.addHook('onSend', async (request, reply) => {
    const asks = request.headers['access-control-request-private-network'] === 'true';
    if (asks && reply.hasHeader('access-control-allow-origin'))
      reply.header('Access-Control-Allow-Private-Network', 'true');
  });
});

/** Whether the request came over TLS, here or at a proxy in front. */
export function isSecure({ protocol, headers }: FastifyRequest): boolean {
  return protocol === 'https' || headers['x-forwarded-proto'] === 'https';
}

function isSameOrigin(request: FastifyRequest, origin: string): boolean {
  const page = URL.canParse(origin) ? new URL(origin) : undefined;
  // By the name the client used, which a trusted proxy passes on; the scheme's own port goes without saying.
  const own = `${page?.protocol}//${request.host}`;
  if (page === undefined || !URL.canParse(own) || new URL(own).host !== page.host) return false;
  // A proxy need not say that it speaks TLS; where it does, a page without is not the same.
  return page.protocol === 'https:' || (page.protocol === 'http:' && !isSecure(request));
}

function isAllowedHost(host: string | undefined, allowed: string[]): boolean {
  if (host === undefined || !URL.canParse(`http://${host}`)) return false;
  const { hostname } = new URL(`http://${host}`);
  return isLoopback(hostname) || allowed.includes(hostname) || allowed.includes(host);
}
