import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { PROBLEMS } from '../../src/problems.ts';

const file = new URL('../../docs/errors.md', import.meta.url);

/** The codes in the first column of the document's tables. Codes in capitals are RUN_ERROR's, not these. */
function documented(): string[] {
  return [...readFileSync(file, 'utf8').matchAll(/^\| *`([a-z_]+)` *\|/gm)].map(([, code = '']) => code);
}

test('docs/errors.md names every problem code, once, and no other', () => {
  expect(documented().sort()).toEqual(Object.keys(PROBLEMS).sort());
});
