import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { RunAgentInput as RunInput } from '../../engine/events.ts';
import { errorResponses, eventStreamResponse, userHeader } from '../responses.ts';
import { normaliseRunBody, RunAgentInput } from '../run-input.ts';
import { streamRun } from '../stream-run.ts';

/** `POST /agent/run`, the canonical way to talk to the agent, and its deprecated twin for older UI kits. */
export async function runRoutes(app: FastifyInstance): Promise<void> {
  const routes = app.withTypeProvider<ZodTypeProvider>();
  routes.post(
    '/agent/run',
    {
      preValidation: normaliseRunBody,
      schema: {
        tags: ['Runtime'],
        summary: 'Run the agent',
        description:
          'Runs the agent once on a thread and streams AG-UI events as server-sent events. The stream starts with ' +
          'RUN_STARTED and ends with exactly one RUN_FINISHED or RUN_ERROR. Closing the connection does not stop the run.',
        headers: userHeader,
        body: RunAgentInput,
        response: { 200: eventStreamResponse, ...errorResponses(403, 404, 413, 415, 422, 503) },
      },
    },
    (request, reply) => streamRun(app, request, reply, request.body as RunInput),
  );
  routes.post(
    '/agent/clientkit/stream',
    {
      preValidation: normaliseRunBody,
      schema: {
        tags: ['Runtime'],
        summary: 'Run the agent (deprecated)',
        description: 'The same as `POST /agent/run`, which replaces it.',
        deprecated: true,
        headers: userHeader,
        body: RunAgentInput,
        response: { 200: eventStreamResponse, ...errorResponses(403, 404, 413, 415, 422, 503) },
      },
    },
    (request, reply) => {
      reply.headers(DEPRECATED);
      return streamRun(app, request, reply, request.body as RunInput);
    },
  );
}

/** Headers that tell clients of a deprecated route which one to use instead. */
export const DEPRECATED = { Deprecation: 'true', Link: '</agent/run>; rel="successor-version"' };
