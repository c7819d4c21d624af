import cors from '@fastify/cors';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { isLoopback } from '../../env.ts';
import { problem } from '../../problems.ts';

/**
 * Who may call a server that asks nobody's name (contract decision 7): a page on another site can reach a laptop's
 * loopback address, by a form, a script, or a name that it points there. So the host must be one of ours, and what
 * writes or runs something must not come from a foreign page. Pages on loopback may chat, whatever their port.
 */
export const access = fp(async (app: FastifyInstance, options: { allowedHosts: string[]; origins: string[] }) => {
  const { allowedHosts, origins } = options;

  const mayCall = (request: FastifyRequest, origin: string): boolean => {
    if (origins.includes(origin)) return true;
    const page = URL.canParse(origin) ? new URL(origin) : undefined;
    if (page === undefined) return false;
    if (page.host === request.headers.host) return true;
    return request.url.startsWith('/agent/') && isLoopback(page.hostname);
  };

  app.addHook('onRequest', async (request) => {
    const { host, origin } = request.headers;
    // Probes come by whatever address the platform knows, and learn nothing but "up".
    if (request.url.split('?')[0] !== '/health' && !isAllowedHost(host, allowedHosts)) throw problem('forbidden_host');
    const safe = request.method === 'GET' || request.method === 'HEAD' || request.method === 'OPTIONS';
    if (!safe && origin !== undefined && !mayCall(request, origin)) throw problem('forbidden_origin');
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

function isAllowedHost(host: string | undefined, allowed: string[]): boolean {
  if (host === undefined || !URL.canParse(`http://${host}`)) return false;
  const { hostname } = new URL(`http://${host}`);
  return isLoopback(hostname) || allowed.includes(hostname) || allowed.includes(host);
}
