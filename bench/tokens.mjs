import { setTimeout as sleep } from 'node:timers/promises';

/** What a client writes to get `tokens` tokens, `delayMs` apart. All contenders read their orders from the message. */
export function order({ tokens, delayMs }) {
  return `emit ${tokens} tokens, ${delayMs} ms apart`;
}

/** The tokens a message orders, and the pause before each. */
export function readOrder(text) {
  const [, tokens, delayMs] = /^emit (\d+) tokens, (\d+) ms apart$/.exec(text) ?? [];
  return { tokens: Number(tokens), delayMs: Number(delayMs) };
}

/** The nth token. */
export function token(n) {
  return `word-${n} `;
}

/** The whole text of an answer of `count` tokens. */
export function wholeText(count) {
  return Array.from({ length: count }, (_, n) => token(n)).join('');
}

/**
 * A clock that says when the nth token is due, counted from its making: 100 tokens at 5 ms end after 500 ms however
 * late single timers are. Behind time it does not wait, like a reader of a socket with bytes to read.
 *
 * @returns a function to await before each token; undefined where there is nothing to wait for.
 */
export function createPace(delayMs) {
  const startedAt = performance.now();
  let due = startedAt;
  return () => {
    due += delayMs;
    const wait = Math.ceil(due - performance.now());
    return delayMs > 0 && wait > 0 ? sleep(wait) : undefined;
  };
}
