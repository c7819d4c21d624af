import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { AuditOutcome, AuditRecord } from '../../services/access/audit.ts';
import { answer, errorResponses } from '../responses.ts';

const time = z.iso.datetime({ offset: true });
const Page = z.object({ items: z.array(AuditRecord), nextBefore: z.int().nullable() }).meta({
  id: 'AuditPage',
  examples: [{ items: [], nextBefore: null }],
});

/** The audit log, to read. Nothing changes it. */
export async function auditRoutes(app: FastifyInstance): Promise<void> {
  const { audit } = app.services.access;
  app.withTypeProvider<ZodTypeProvider>().get(
    '/admin/api/v1/audit',
    {
      schema: {
        tags: ['Auth & SSO'],
        summary: 'Read the audit log',
        description:
          'Newest first. `nextBefore` is the `before` of the next page; null on the last. Filters combine with AND.',
        querystring: z.object({
          limit: z.coerce.number().int().min(1).max(500).default(50),
          before: z.coerce
            .number()
            .int()
            .min(0)
            .max(Number.MAX_SAFE_INTEGER)
            .optional()
            .describe('Only entries with smaller ids.'),
          actor: z.string().max(512).optional(),
          action: z.string().max(128).optional().describe('An action, or a resource for all of its actions.'),
          outcome: AuditOutcome.optional(),
          address: z.string().max(64).optional(),
          since: time.optional().describe('Inclusive.'),
          until: time.optional().describe('Exclusive.'),
        }),
        response: { 200: answer(Page, 'A page'), ...errorResponses(403, 422, 503) },
      },
    },
    async (request) => {
      const { limit, since, until, ...filter } = request.query;
      const times = { since: since && Date.parse(since), until: until && Date.parse(until) };
      const items = await audit.list({ ...filter, ...(times as { since?: number; until?: number }) }, limit + 1);
      const page = items.slice(0, limit);
      return { items: page, nextBefore: items.length > limit ? (page.at(-1)?.id ?? null) : null };
    },
  );
}
