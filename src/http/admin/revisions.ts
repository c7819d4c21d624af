import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { Revision, RevisionDifference, RevisionHead } from '../../services/config/revisions.ts';
import { answer, errorResponses } from '../responses.ts';
import { adminOf, ifMatch, mutation, noteOf, tag, written } from './answers.ts';

const number = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const params = z.object({ number });

const Page = z.object({ items: z.array(RevisionHead), nextBefore: z.int().nullable() }).meta({
  id: 'RevisionPage',
  examples: [{ items: [], nextBefore: null }],
});
const Diff = z.object({ diff: z.array(RevisionDifference) }).meta({ id: 'RevisionDiff', examples: [{ diff: [] }] });

/** Every write of the configuration, to see, compare and take back. */
export async function revisionRoutes(app: FastifyInstance): Promise<void> {
  const routes = app.withTypeProvider<ZodTypeProvider>();
  const tags = ['Agent Configuration'];
  const path = '/admin/api/v1/revisions';
  routes.get(
    path,
    {
      schema: {
        tags,
        summary: 'List the revisions',
        description: 'Newest first. `nextBefore` is the `before` of the next page; null on the last.',
        querystring: z.object({
          limit: z.coerce.number().int().min(1).max(500).default(50),
          before: number.optional().describe('Only revisions with smaller numbers.'),
        }),
        response: {
          200: answer(Page, 'A page'),
          ...errorResponses(403, 422, 503),
        },
      },
    },
    async (request) => {
      const { limit, before } = request.query;
      const items = await adminOf(request).revisions.list(limit + 1, before);
      const page = items.slice(0, limit);
      return { items: page, nextBefore: items.length > limit ? (page.at(-1)?.number ?? null) : null };
    },
  );
  routes.get(
    `${path}/:number`,
    {
      schema: {
        tags,
        summary: 'Read a revision',
        description: 'With what it changed and the whole configuration after it, secrets masked.',
        params,
        response: { 200: answer(Revision, 'The revision'), ...errorResponses(403, 404, 422, 503) },
      },
    },
    (request) => adminOf(request).revisions.get(request.params.number),
  );
  routes.get(
    `${path}/:number/diff`,
    {
      schema: {
        tags,
        summary: 'Compare two revisions',
        params,
        querystring: z.object({
          against: number.optional().describe('By default the revision before; 0 is the empty one.'),
        }),
        response: {
          200: answer(Diff, 'What differs'),
          ...errorResponses(403, 404, 422, 503),
        },
      },
    },
    async (request) => ({ diff: await adminOf(request).revisions.diff(request.params.number, request.query.against) }),
  );
  routes.post(
    `${path}/:number/restore`,
    {
      schema: {
        tags,
        summary: 'Put a revision back into service',
        description: 'By the same way as any write: it goes live whole, as a new revision, or changes nothing.',
        headers: ifMatch,
        params: z.object({ number: number.min(1) }),
        response: {
          200: answer(mutation(z.object({ revision: z.int() }), { revision: 4 }), 'Stored and live'),
          ...errorResponses(403, 404, 412, 422, 500, 503),
        },
      },
    },
    async (request, reply) => {
      const note = noteOf(request, 'configuration', 'restore');
      const { reload, revision } = await adminOf(request).revisions.restore(request.params.number, note);
      tag(reply, revision);
      return written({ revision }, reload) as never;
    },
  );
}
