import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { ConnectionCheck } from '../../services/probes/connection-check.ts';
import { answer, errorResponses } from '../responses.ts';
import { adminOf } from './answers.ts';

const checked = (...more: (422 | 404)[]) => ({
  200: answer(ConnectionCheck, 'What came of it; a failure is `ok` false'),
  ...errorResponses(403, 503, ...more),
});

/** Tries connections out. Nothing is changed, and it never takes longer than a few seconds. */
export async function checkRoutes(app: FastifyInstance): Promise<void> {
  const routes = app.withTypeProvider<ZodTypeProvider>();
  routes.post(
    '/admin/api/v1/memory/check-connection',
    { schema: { tags: ['Agent Configuration'], summary: 'Try the memory out', response: checked(404) } },
    (request) => adminOf(request).checks.memory(),
  );
  routes.post(
    '/admin/api/v1/observability/check-connection',
    { schema: { tags: ['Observability'], summary: 'Try the exporter out', response: checked(404) } },
    (request) => adminOf(request).checks.observability(),
  );
  routes.post(
    '/admin/api/v1/mcp-servers/:mcp_id/tools',
    {
      schema: {
        tags: ['Integrations & Tools'],
        summary: 'Find the tools of an MCP server',
        description: 'Connects to it as it is stored, also when it is disabled, and lists the names of its tools.',
        params: z.object({ mcp_id: z.uuid('Input should be a valid UUID') }),
        response: checked(404, 422),
      },
    },
    (request) => adminOf(request).checks.mcpServer(request.params.mcp_id),
  );
}
