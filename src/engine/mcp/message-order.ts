import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';

type OnMessage = NonNullable<Transport['onmessage']>;

/**
 * Makes a transport hand over one message at a time. The SDK handles notes a moment later than answers, and an answer
 * takes the handler of its notes away: of a last note of progress that comes together with its answer nobody would hear.
 */
export function keepOrder(transport: Transport): void {
  let handler: OnMessage | undefined;
  let queue = Promise.resolve();
  const deliver: OnMessage = (message, extra) => {
    queue = queue
      .then(() => handler?.(message, extra))
      .catch((error: unknown) => transport.onerror?.(error instanceof Error ? error : new Error(String(error))));
  };
  Object.defineProperty(transport, 'onmessage', {
    configurable: true,
    // Who takes the transport over asks for the handler before and calls it, too.
    get: () => (handler === undefined ? undefined : deliver),
    set(given: OnMessage | undefined) {
      handler = given;
    },
  });
}
