import { randomUUID } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { EventType, type RunAgentInput } from '../../engine/events.ts';
import { problem } from '../../problems.ts';
import { encodeLegacy } from '../legacy-events.ts';
import { answer, errorResponses, eventStreamResponse, userHeader } from '../responses.ts';
import { streamRun } from '../stream-run.ts';
import { DEPRECATED } from './run.ts';

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
        response: { 200: answer(ChatResponse, 'The answer'), ...errorResponses(403, 404, 413, 415, 422, 500, 503) },
      },
    },
    async (request, reply) => {
      reply.headers(DEPRECATED);
      const texts = new Map<string, string>();
      const run = await app.services.runs.start(toRunInput(request.body), request.userId, (event) => {
        if (event.type === EventType.TEXT_MESSAGE_START) texts.set(event.messageId, '');
        if (event.type === EventType.TEXT_MESSAGE_CONTENT) {
          texts.set(event.messageId, (texts.get(event.messageId) ?? '') + event.delta);
        }
      });
      const { failure } = await run.done;
      if (failure !== undefined) throw problem('invoke_failed', { message: failure.message });
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
        response: { 200: eventStreamResponse, ...errorResponses(403, 404, 413, 415, 422, 503) },
      },
    },
    (request, reply) => {
      reply.headers(DEPRECATED);
      return streamRun(app, request, reply, toRunInput(request.body), encodeLegacy);
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
