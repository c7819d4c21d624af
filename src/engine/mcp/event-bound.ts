import { OutboundFailure } from '../../outbound/exchange.ts';

const LF = 10;

/** The same answer, whose body fails when it goes on for more than `maxBytes` without an empty line. */
export function boundEvents(response: Response, maxBytes: number): Response {
  if (response.body === null) return response;
  let bytes = 0;
  let last = 0;
  const bound = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.length;
      const end = endOfEvent(chunk, last);
      if (end >= 0) bytes = chunk.length - end;
      last = lastOf(chunk, last);
      if (bytes > maxBytes) controller.error(new OutboundFailure('The answer is too long'));
      else controller.enqueue(chunk);
    },
  });
  const { status, statusText, headers } = response;
  return new Response(response.body.pipeThrough(bound), { status, statusText, headers });
}

/** Where the last event that ends in a chunk ends; -1 when none does. Carriage returns count for nothing. */
function endOfEvent(chunk: Uint8Array, before: number): number {
  for (let at = chunk.lastIndexOf(LF); at >= 0; at = at === 0 ? -1 : chunk.lastIndexOf(LF, at - 1)) {
    let previous = at - 1;
    while (previous >= 0 && chunk[previous] === 13) previous -= 1;
    if ((previous < 0 ? before : chunk[previous]) === LF) return at + 1;
  }
  return -1;
}

/** The last byte that is no carriage return. */
function lastOf(chunk: Uint8Array, before: number): number {
  let at = chunk.length - 1;
  while (at >= 0 && chunk[at] === 13) at -= 1;
  return at < 0 ? before : (chunk[at] ?? before);
}
