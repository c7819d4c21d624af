import { hideSecrets } from '../../outbound/failure.ts';

/** Characters of a line that are logged. */
const LINE_LENGTH = 2_000;

/** Lines that are logged in a while, and how long that is. */
const LINES = 200;
const WHILE_MS = 10_000;

/**
 * Takes what a program writes to its standard error, in pieces, and gives whole lines without secrets; of a program that
 * writes without end only some.
 */
export function createStderrLog(secrets: Iterable<string>, write: (line: string) => void): (text: string) => void {
  let rest = '';
  let lines = 0;
  let from = 0;
  return (text) => {
    const parts = (rest + text).split(/\r?\n/);
    rest = parts.pop() ?? '';
    if (rest.length > LINE_LENGTH) {
      parts.push(rest);
      rest = '';
    }
    for (const part of parts) {
      if (part.trim() === '') continue;
      if (Date.now() - from > WHILE_MS) {
        from = Date.now();
        lines = 0;
      }
      lines += 1;
      if (lines > LINES) continue;
      write(lines === LINES ? '… and more that is not logged' : hideSecrets(part, secrets).slice(0, LINE_LENGTH));
    }
  };
}
