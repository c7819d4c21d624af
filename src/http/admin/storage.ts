import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { StorageReport } from '../../services/storage.ts';
import { answer, errorResponses } from '../responses.ts';

/** How much is stored, for whoever has to provide for it. */
export async function storageRoutes(app: FastifyInstance): Promise<void> {
  app.withTypeProvider<ZodTypeProvider>().get(
    '/admin/api/v1/storage',
    {
      schema: {
        tags: ['Agent Configuration'],
        summary: 'How much is stored',
        description: "Sizes of the server's database and of the agent's memory, and what pruning did last.",
        response: { 200: answer(StorageReport, 'The sizes'), ...errorResponses(403, 503) },
      },
    },
    () => app.services.storage.report(),
  );
}
