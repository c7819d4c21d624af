import { createParser } from 'eventsource-parser';

/** A whole frame of an event stream; one without `data` is a heartbeat, which only shows that the run is there. */
export interface Frame {
  id?: number;
  data?: string;
}

/**
 * Reads the frames of an event stream, as many at a time as have come in, which may be none. A frame that was not
 * whole when the stream ended or broke is not told.
 *
 * @param signal ends the stream, also one that does not hear the signal its request was given.
 */
export async function* readFrames(
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Frame[], void, undefined> {
  let frames: Frame[] = [];
  const parser = createParser({
    onEvent: ({ id, data }) => frames.push({ data, ...(id !== undefined && /^\d+$/.test(id) && { id: Number(id) }) }),
    // Another comment greets whoever comes, and would make every attempt look like a success.
    onComment: (comment) => comment === 'ping' && frames.push({}),
  });
  const decoder = new TextDecoder();
  const reader = body.getReader();
  const leave = (): void => void reader.cancel().catch(() => undefined);
  signal.addEventListener('abort', leave);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      parser.feed(decoder.decode(value, { stream: true }));
      yield frames;
      frames = [];
    }
  } finally {
    signal.removeEventListener('abort', leave);
    leave();
  }
}
