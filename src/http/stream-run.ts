import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Event, RunAgentInput } from '../engine/events.ts';
import { type EventStream, openEventStream } from './sse.ts';

/**
 * Starts a run and streams its events to the caller.
 *
 * @param encode another wire form of the events, for the deprecated routes; undefined leaves an event out.
 */
export async function streamRun(
  app: FastifyInstance,
  request: FastifyRequest,
  reply: FastifyReply,
  input: RunAgentInput,
  encode?: (event: Event) => string | undefined,
): Promise<void> {
  const { runs, env } = app.services;
  let stream: EventStream | undefined;
  let detach = (): void => undefined;
  const open = (): EventStream => {
    if (!reply.raw.destroyed) app.openStreams.add(reply.raw);
    reply.raw.once('close', () => app.openStreams.delete(reply.raw));
    return openEventStream(reply, {
      heartbeatMs: env.SERVICE_HEARTBEAT_SECONDS * 1000,
      limitBytes: env.SERVICE_STREAM_BUFFER_BYTES,
      onClose: (cut) => {
        detach();
        const { runId, threadId } = input;
        if (cut) request.log.warn({ runId, threadId }, 'a reader that does not read was cut off; its run goes on');
        else request.log.debug({ runId, threadId }, 'a reader left; its run goes on');
      },
    });
  };
  const run = await runs.start(input, request.userId, (event, json) => {
    const text = encode === undefined ? json : encode(event);
    // Opened by the first event, so that a refusal before it is still an ordinary error answer.
    stream ??= open();
    if (text !== undefined) stream.send(text);
  });
  detach = run.detach;
  await run.done;
  stream?.end();
}
