import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Event } from '../engine/events.ts';
import type { Reading, RunReader } from '../services/runs/live-run.ts';
import { type EventStream, openEventStream } from './sse.ts';

/**
 * Streams what `read` tells its reader to the caller, until all is told or the caller has gone.
 *
 * @param options.about what is read, for the log.
 * @param options.read begins to read; what it throws is an ordinary error answer.
 * @param options.encode another wire form of the events, for the deprecated routes; undefined leaves an event out.
 */
export async function streamEvents(
  app: FastifyInstance,
  request: FastifyRequest,
  reply: FastifyReply,
  options: {
    about: { threadId?: string | undefined; runId?: string };
    read: (reader: RunReader) => Promise<Reading>;
    encode?: (event: Event) => string | undefined;
  },
): Promise<void> {
  const { about, read, encode } = options;
  const { env } = app.services;
  let stream: EventStream | undefined;
  let detach: Reading['detach'] = () => undefined;
  let gone = false;
  const open = (): EventStream => {
    if (!reply.raw.destroyed) app.openStreams.add(reply.raw);
    reply.raw.once('close', () => app.openStreams.delete(reply.raw));
    return openEventStream(reply, {
      heartbeatMs: env.SERVICE_HEARTBEAT_SECONDS * 1000,
      limitBytes: env.SERVICE_STREAM_BUFFER_BYTES,
      onClose: (cut) => {
        gone = true;
        detach(true);
        if (cut) request.log.warn(about, 'a reader that does not read was cut off');
        else request.log.debug(about, 'a reader left');
      },
    });
  };
  const reading = await read((json, id) => {
    const text = encode === undefined ? json : encode(JSON.parse(json) as Event);
    // Opened by the first event, so that a refusal before it is still an ordinary error answer.
    stream ??= open();
    if (text !== undefined) stream.send(text, encode === undefined ? id : undefined);
  });
  detach = reading.detach;
  stream ??= open();
  stream.hold();
  // It went while the run was being prepared, when there was nothing to detach yet.
  if (gone) detach(true);
  await reading.done;
  stream.end();
}
