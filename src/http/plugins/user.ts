import type { FastifyInstance } from 'fastify';
import fp from 'fastify-plugin';

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller's id; null for an anonymous one. */
    userId: string | null;
  }
}

/** Longest user id that is taken, in characters. */
const MAX_LENGTH = 256;

/** Reads the caller's id from `X-Service-User-Id`. One that is too long or holds control bytes counts as none. */
export const user = fp(async (app: FastifyInstance) => {
  app.decorateRequest('userId', null);
  app.addHook('onRequest', async (request) => {
    const header = request.headers['x-service-user-id'];
    request.userId = typeof header === 'string' ? cleanUserId(header) : null;
  });
});

function cleanUserId(header: string): string | null {
  const id = header.trim();
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control bytes are what is looked for
  return id === '' || id.length > MAX_LENGTH || /[\x00-\x1f\x7f]/.test(id) ? null : id;
}
