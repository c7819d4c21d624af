import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { SessionDetail, SessionSummary } from '../../services/sessions.ts';
import { answer, errorResponses, userHeader } from '../responses.ts';

const SessionDeleted = z
  .object({ deleted: z.literal(true) })
  .meta({ id: 'SessionDeleted', examples: [{ deleted: true }] });

/** The caller's past conversations (runtime contract, section 6). */
export async function sessionRoutes(app: FastifyInstance): Promise<void> {
  const routes = app.withTypeProvider<ZodTypeProvider>();
  routes.get(
    '/agent/sessions',
    {
      schema: {
        tags: ['Runtime'],
        summary: "List the caller's sessions",
        description: 'At most 200, newest first. `X-Service-User-Id` says whose.',
        headers: userHeader,
        response: { 200: answer(z.array(SessionSummary), 'The sessions'), ...errorResponses(501, 503) },
      },
    },
    (request) => app.services.sessions.list(request.userId),
  );
  routes.get(
    '/agent/sessions/:session_id',
    {
      schema: {
        tags: ['Runtime'],
        summary: 'Read one session',
        description: 'The text messages of a session; 404 when it is unknown or belongs to somebody else.',
        headers: userHeader,
        params: z.object({ session_id: z.string() }),
        response: { 200: answer(SessionDetail, 'The session'), ...errorResponses(404, 422, 501, 503) },
      },
    },
    (request) => app.services.sessions.get(request.params.session_id, request.userId),
  );
  routes.delete(
    '/agent/sessions/:session_id',
    {
      schema: {
        tags: ['Runtime'],
        summary: 'Delete one session',
        description:
          'Deletes what was said, the open questions and the list of runs, for good. 404 when it is unknown or belongs to ' +
          "somebody else, 409 while a run is under way. The agent's long-term store is left alone.",
        headers: userHeader,
        params: z.object({ session_id: z.string() }),
        response: { 200: answer(SessionDeleted, 'It is gone'), ...errorResponses(404, 409, 422, 501, 503) },
      },
    },
    async (request) => {
      await app.services.sessions.remove(request.params.session_id, request.userId);
      return { deleted: true as const };
    },
  );
}
