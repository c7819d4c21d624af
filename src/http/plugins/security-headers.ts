import helmet from '@fastify/helmet';
import type { FastifyInstance } from 'fastify';
import fp from 'fastify-plugin';
import { isSecure } from './access.ts';

/** Half a year, in seconds: how long a browser is to insist on TLS. */
const HSTS_SECONDS = 15_552_000;

/**
 * Headers that keep browsers from doing what nobody asked for. Pages come from this server alone, and may speak with the
 * sign-on provider, which is where they send people to log in.
 */
export const securityHeaders = fp(async (app: FastifyInstance, { policy }: { policy: string | undefined }) => {
  await app.register(helmet, {
    // Set below, since the provider can change at any time.
    contentSecurityPolicy: false,
    // Set below: promised only where TLS is spoken.
    strictTransportSecurity: false,
    // Other origins' pages may call what they are allowed to; this is not how that is decided.
    crossOriginResourcePolicy: false,
    referrerPolicy: { policy: 'no-referrer' },
    xFrameOptions: { action: 'deny' },
  });
  // At once, since event streams are answered without any later hook.
  app.addHook('onRequest', async (request, reply) => {
    reply.header('Content-Security-Policy', DATA_POLICY);
    if (isSecure(request)) reply.header('Strict-Transport-Security', `max-age=${HSTS_SECONDS}`);
  });
  app.addHook('onSend', async (_request, reply) => {
    const isPage = String(reply.getHeader('Content-Type') ?? '').startsWith('text/html');
    // One that a route has set for its own page stays.
    const isOwn = reply.getHeader('Content-Security-Policy') !== DATA_POLICY;
    if (isPage && !isOwn) reply.header('Content-Security-Policy', policy ?? pagePolicy(app));
  });
});

/** What is no page needs nothing, should a browser be made to show it as one. */
const DATA_POLICY = "default-src 'none'; frame-ancestors 'none'";

/** For answers that no hook sees, to addresses that cannot be read. */
export const UNROUTED_HEADERS = {
  'Content-Security-Policy': DATA_POLICY,
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
};

function pagePolicy(app: FastifyInstance): string {
  const { info } = app.services.access.signOn;
  const provider = info.enabled ? ` ${new URL(info.issuer).origin}` : '';
  return [
    "default-src 'self'",
    "script-src 'self'",
    // Components style themselves in place.
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    `connect-src 'self'${provider}`,
    "object-src 'none'",
    "base-uri 'self'",
    `form-action 'self'${provider}`,
    "frame-ancestors 'none'",
  ].join('; ');
}
