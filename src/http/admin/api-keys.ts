import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { ApiKeyCreate, ApiKeyCreated, ApiKeyRead } from '../../services/access/api-keys.ts';
import { answer, errorResponses } from '../responses.ts';
import { DELETED } from './answers.ts';

/** The keys of programs. They take effect at once and reload nothing. */
export async function apiKeyRoutes(app: FastifyInstance): Promise<void> {
  const routes = app.withTypeProvider<ZodTypeProvider>();
  const { keys } = app.services.access;
  const tags = ['Auth & SSO'];
  const path = '/admin/api/v1/api-keys';
  routes.get(
    path,
    {
      schema: {
        tags,
        summary: 'List the API keys',
        description: 'Without the keys themselves. Those that SERVICE_API_KEYS brings come first and have no id.',
        response: {
          200: answer(z.array(ApiKeyRead).meta({ examples: [[]] }), 'The keys'),
          ...errorResponses(403, 503),
        },
      },
    },
    () => keys.list(),
  );
  routes.post(
    path,
    {
      schema: {
        tags,
        summary: 'Make an API key',
        description: 'The answer is the one time the key is shown; the server keeps its hash only.',
        body: ApiKeyCreate,
        response: {
          201: answer(ApiKeyCreated, 'Made, and good from now on'),
          ...errorResponses(403, 413, 415, 422, 500, 503),
        },
      },
    },
    async (request, reply) => {
      reply.status(201).header('Cache-Control', 'no-store');
      return await keys.create(request.body, request.audit);
    },
  );
  routes.delete(
    `${path}/:key_id`,
    {
      schema: {
        tags,
        summary: 'End an API key',
        description: 'At once. One that SERVICE_API_KEYS brings is ended there.',
        params: z.object({ key_id: z.uuid() }),
        response: {
          200: answer(
            z.object({ id: z.uuid(), deleted: z.literal(true) }).meta({ examples: [DELETED] }),
            'The key is good no more',
          ),
          ...errorResponses(403, 404, 422, 500, 503),
        },
      },
    },
    async (request) => {
      const id = request.params.key_id;
      await keys.remove(id, request.audit);
      return { id, deleted: true as const };
    },
  );
}
