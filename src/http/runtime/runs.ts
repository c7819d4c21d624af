import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { RunRecord } from '../../services/runs/run-records.ts';
import { streamEvents } from '../event-stream.ts';
import { answer, errorResponses, eventStreamResponse, userHeader } from '../responses.ts';

const runParams = z.object({ run_id: z.string() });
const threadParams = z.object({ thread_id: z.string() });
const eventNumber = z
  .string()
  .regex(/^\d{1,15}$/, 'Input should be the id of an event of this run')
  .transform(Number);
const inThread = {
  threadId: z
    .string()
    .optional()
    .describe('The thread of the run. Without it the newest run of that id is meant, of all your threads.'),
};

/** Runs apart from the request that started them: their state, their events once more, and an end to them. */
export async function runRecordRoutes(app: FastifyInstance): Promise<void> {
  const routes = app.withTypeProvider<ZodTypeProvider>();
  const { runRecords } = app.services;
  routes.get(
    '/agent/runs/:run_id',
    {
      schema: {
        tags: ['Runtime'],
        summary: 'How a run stands',
        headers: userHeader,
        params: runParams,
        querystring: z.object(inThread),
        response: { 200: answer(RunRecord, 'The run'), ...errorResponses(404, 422, 503) },
      },
    },
    ({ params, query, userId }) => runRecords.get({ runId: params.run_id, threadId: query.threadId }, userId),
  );
  routes.get(
    '/agent/runs/:run_id/events',
    {
      schema: {
        tags: ['Runtime'],
        summary: 'Read the events of a run',
        description:
          'From the start, or from behind the event that `Last-Event-ID` or `after` names, and on as they happen. ' +
          'Where the server no longer holds them, a snapshot takes their place: RUN_STARTED, the conversation, the ' +
          'state, and a START for all that is still open.',
        headers: userHeader.extend({
          'last-event-id': eventNumber.optional().describe('Id of the last event the reader has.'),
        }),
        params: runParams,
        querystring: z.object({
          ...inThread,
          after: eventNumber.optional().describe('The same, for clients that cannot set headers.'),
        }),
        response: { 200: eventStreamResponse, ...errorResponses(404, 422, 503) },
      },
    },
    (request, reply) => {
      const { params, query, headers, userId } = request;
      const name = { runId: params.run_id, threadId: query.threadId };
      const after = headers['last-event-id'] ?? query.after ?? 0;
      return streamEvents(app, request, reply, {
        about: name,
        read: (reader) => runRecords.follow(name, after, userId, reader),
      });
    },
  );
  routes.post(
    '/agent/runs/:run_id/cancel',
    {
      schema: {
        tags: ['Runtime'],
        summary: 'Stop a run',
        description:
          'Answers when the run has ended. Its stream ends with RUN_FINISHED, outcome `cancelled`; what its thread ' +
          'has stored stays. A run that is over stays as it ended.',
        headers: userHeader,
        params: runParams,
        querystring: z.object(inThread),
        response: { 200: answer(RunRecord, 'How the run ended'), ...errorResponses(403, 404, 422, 503) },
      },
    },
    ({ params, query, userId }) => runRecords.cancel({ runId: params.run_id, threadId: query.threadId }, userId),
  );
  routes.get(
    '/agent/threads/:thread_id/events',
    {
      schema: {
        tags: ['Runtime'],
        summary: 'Connect to a thread',
        description:
          'RUN_STARTED, the conversation, the state, and a START for all that is still open with its text so far; ' +
          'then what the running run does. On an idle thread RUN_FINISHED follows at once, with its open interrupts.',
        headers: userHeader,
        params: threadParams,
        response: { 200: eventStreamResponse, ...errorResponses(404, 422, 503) },
      },
    },
    (request, reply) => {
      const threadId = request.params.thread_id;
      return streamEvents(app, request, reply, {
        about: { threadId },
        read: (reader) => runRecords.connect(threadId, request.userId, reader),
      });
    },
  );
  routes.get(
    '/agent/threads/:thread_id/runs',
    {
      schema: {
        tags: ['Runtime'],
        summary: 'List the runs of a thread',
        description: 'Newest first.',
        headers: userHeader,
        params: threadParams,
        querystring: z.object({ limit: z.coerce.number().int().min(1).max(200).default(50) }),
        response: { 200: answer(z.array(RunRecord), 'The runs'), ...errorResponses(404, 422, 503) },
      },
    },
    ({ params, query, userId }) => runRecords.list(params.thread_id, query.limit, userId),
  );
}
