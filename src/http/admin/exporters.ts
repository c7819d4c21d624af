import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { answer, errorResponses } from '../responses.ts';
import { adminOf } from './answers.ts';

const time = z.iso.datetime().nullable();

const Exporter = z
  .object({
    provider: z.string(),
    endpoint: z.string().describe('Where spans are sent, without credentials.'),
    state: z.enum(['idle', 'ok', 'failing']).describe('`idle` until something was sent.'),
    exported: z.int().describe('Spans the provider has taken.'),
    dropped: z.int().describe('Spans given up because the queue was full, oldest first, or the server stopped.'),
    failed: z.int().describe('Spans the provider has refused.'),
    queued: z.int().describe('Spans that wait.'),
    lastError: z.string().nullable(),
    lastErrorAt: time,
    lastExportAt: time,
  })
  .meta({ id: 'ExporterStatus' });

const Status = z.object({ exporters: z.array(Exporter) }).meta({
  id: 'ObservabilityStatus',
  examples: [
    {
      exporters: [
        {
          provider: 'LANGFUSE',
          endpoint: 'https://cloud.langfuse.com/api/public/otel/v1/traces',
          state: 'failing',
          exported: 1204,
          dropped: 0,
          failed: 12,
          queued: 0,
          lastError: 'The server refuses the credentials (status 401)',
          lastErrorAt: '2026-01-01T00:00:00.000Z',
          lastExportAt: '2025-12-31T23:58:02.000Z',
        },
      ],
    },
  ],
});

/** How the exporters in use are doing. */
export async function exporterRoutes(app: FastifyInstance): Promise<void> {
  app.withTypeProvider<ZodTypeProvider>().get(
    '/admin/api/v1/observability/status',
    {
      schema: {
        tags: ['Observability'],
        summary: 'How the exporters are doing',
        description:
          'One entry for each exporter in use, counted since it was started; a change of its configuration starts it anew. ' +
          'One that a reload has replaced is listed until it has sent what it had.',
        response: { 200: answer(Status, 'The exporters'), ...errorResponses(403, 503) },
      },
    },
    async (request) => ({
      exporters: adminOf(request)
        .exporters.status()
        .map((status) => ({ ...status, lastErrorAt: iso(status.lastErrorAt), lastExportAt: iso(status.lastExportAt) })),
    }),
  );
}

function iso(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}
