import { randomUUID } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { type Event, EventType, type RunAgentInput } from '../../engine/events.ts';
import { problem } from '../../problems.ts';
import { streamEvents } from '../event-stream.ts';
import { encodeLegacy } from '../legacy-events.ts';
import { answer, errorResponses, eventStreamResponse, userHeader } from '../responses.ts';
import { DEPRECATED, upstreamOf } from './run.ts';

const ChatRequest = z
  .object({ session_id: z.string().min(1).max(512), query: z.string() })
  .meta({ id: 'ChatRequest', examples: [{ session_id: 'th-1', query: 'hello' }] });

const ChatResponse = z
  .object({ session_id: z.string(), response: z.string() })
  .meta({ id: 'ChatResponse', examples: [{ session_id: 'th-1', response: 'Hi.' }] });

/** The chat routes of earlier releases (runtime contract, section 5). They run the agent the way `/agent/run` does. */
export async function deprecatedRoutes(app: FastifyInstance): Promise<void> {
  const routes = app.withTypeProvider<ZodTypeProvider>();
  routes.post(
    '/agent/invoke',
    {
      schema: {
        tags: ['Runtime'],
        summary: 'Ask the agent and wait for its answer (deprecated)',
        description: 'Use `POST /agent/run`. Removal is planned for 0.7.',
        deprecated: true,
        headers: userHeader,
        body: ChatRequest,
        response: {
          200: answer(ChatResponse, 'The answer'),
          ...errorResponses(403, 404, 413, 415, 422, 429, 500, 503),
        },
      },
    },
    async (request, reply) => {
      reply.headers(DEPRECATED);
      const texts = new Map<string, string>();
      let failure: string | undefined;
      const reader = (json: string): void => {
        const event = JSON.parse(json) as Event;
        if (event.type === EventType.RUN_ERROR) failure = event.message;
        if (event.type === EventType.TEXT_MESSAGE_START) texts.set(event.messageId, '');
        if (event.type === EventType.TEXT_MESSAGE_CONTENT) {
          texts.set(event.messageId, (texts.get(event.messageId) ?? '') + event.delta);
        }
      };
      const input = toRunInput(request.body);
      const reading = await app.services.runs.start(input, request.userId, reader, upstreamOf(request));
      await reading.done;
      if (failure !== undefined) throw problem('invoke_failed', { message: failure });
      return { session_id: request.body.session_id, response: [...texts.values()].at(-1) ?? '' };
    },
  );
  routes.post(
    '/agent/stream',
    {
      schema: {
        tags: ['Runtime'],
        summary: 'Ask the agent and stream its answer (deprecated)',
        description: 'Streams the events of `POST /agent/run`, which replaces it, in the older snake_case form.',
        deprecated: true,
        headers: userHeader,
        body: ChatRequest,
        response: { 200: eventStreamResponse, ...errorResponses(403, 404, 413, 415, 422, 429, 503) },
      },
    },
    (request, reply) => {
      reply.headers(DEPRECATED);
      const input = toRunInput(request.body);
      return streamEvents(app, request, reply, {
        about: { threadId: input.threadId, runId: input.runId },
        read: (reader) => app.services.runs.start(input, request.userId, reader, upstreamOf(request)),
        encode: encodeLegacy,
      });
    },
  );
}

function toRunInput({ session_id, query }: z.infer<typeof ChatRequest>): RunAgentInput {
  return {
    threadId: session_id,
    runId: `run_${randomUUID()}`,
    messages: [{ id: randomUUID(), role: 'user', content: query }],
    tools: [],
    context: [],
  };
}
