import type { FastifyInstance } from 'fastify';
import fp from 'fastify-plugin';

/**
 * Says once that there is a proxy which nobody has named: everybody then has its address, so that limits and wrong
 * passwords count for all together.
 */
export const proxyNotice = fp(async (app: FastifyInstance, { isTrusted }: { isTrusted: boolean }) => {
  let said = isTrusted;
  app.addHook('onRequest', async (request) => {
    if (said || request.headers['x-forwarded-for'] === undefined) return;
    said = true;
    request.log.warn(
      { address: request.ip },
      'a request came with X-Forwarded-For, which is not believed: set SERVICE_TRUST_PROXY if it is from a proxy of yours',
    );
  });
});
