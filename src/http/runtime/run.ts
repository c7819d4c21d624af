import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { RunAgentInput as RunInput } from '../../engine/events.ts';
import { readTraceContext, type Upstream } from '../../engine/tracing/trace-context.ts';
import { streamEvents } from '../event-stream.ts';
import { errorResponses, eventStreamResponse, userHeader } from '../responses.ts';
import { normaliseRunBody, RunAgentInput } from '../run-input.ts';

/** `POST /agent/run`, the canonical way to talk to the agent, and its deprecated twin for older UI kits. */
export async function runRoutes(app: FastifyInstance): Promise<void> {
  const routes = app.withTypeProvider<ZodTypeProvider>();
  const stream = (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const input = request.body as RunInput;
    const { threadId, runId } = input;
    return streamEvents(app, request, reply, {
      about: { threadId, runId },
      read: (reader) => app.services.runs.start(input, request.userId, reader, upstreamOf(request)),
    });
  };
  const exchange = {
    headers: userHeader,
    body: RunAgentInput,
    response: { 200: eventStreamResponse, ...errorResponses(403, 404, 409, 413, 415, 422, 429, 503) },
  };
  routes.post(
    '/agent/run',
    {
      preValidation: normaliseRunBody,
      schema: {
        tags: ['Runtime'],
        summary: 'Run the agent',
        description:
          'Runs the agent once on a thread and streams AG-UI events as server-sent events. The stream starts with ' +
          'RUN_STARTED and ends with exactly one RUN_FINISHED or RUN_ERROR. Closing the connection does not stop the ' +
          'run; the same `threadId` and `runId` again show the run there is and do not run twice.',
        ...exchange,
      },
    },
    stream,
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
        ...exchange,
      },
    },
    (request, reply) => {
      reply.headers(DEPRECATED);
      return stream(request, reply);
    },
  );
}

/** The caller's own trace, where it has one. */
export function upstreamOf({ headers }: FastifyRequest): Upstream | undefined {
  return readTraceContext(headers.traceparent, headers.tracestate);
}

/** Headers that tell clients of a deprecated route which one to use instead. */
export const DEPRECATED = { Deprecation: 'true', Link: '</agent/run>; rel="successor-version"' };
