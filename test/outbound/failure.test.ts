import { expect, test } from 'vitest';
import { tellFailure, toLine } from '../../src/outbound/failure.ts';

test.each([
  ['one\n    at two (/a/b/c.js:1:2)', 'one'],
  ['\n\r\n  two\t words \n', 'two words'],
  ['', 'It failed without saying why'],
  ['\u001b[31mred\u0007', '[31mred'],
  ['cannot open /srv/app/data/chat.db', 'cannot open …/chat.db'],
  ["import 'file:///srv/app/index.js' failed", "import '…/index.js' failed"],
  ['C:\\Users\\me\\app.js is missing', '…/app.js is missing'],
  ['POST /mcp to https://host/a/b failed', 'POST /mcp to https://host/a/b failed'],
  ['<html><body><h1>Not found</h1></body></html>', 'Not found'],
  ['at https://me:hunter22@host/x?api_key=abc&y=1', 'at https://me:***@host/x?api_key=***&y=1'],
  ['token abcd1234 and abcd', 'token *** and ***'],
])('%j is told as %j', (text, line) => {
  expect(toLine(text, ['abcd', 'abcd1234'])).toBe(line);
});

test('a long text is cut, and told quickly', () => {
  const start = performance.now();
  for (const text of ['a'.repeat(1_000_000), '/a'.repeat(500_000), '<'.repeat(1_000_000), ' \n'.repeat(500_000)]) {
    expect(toLine(text, ['secret']).length).toBeLessThanOrEqual(300);
  }
  expect(performance.now() - start).toBeLessThan(500);
});

test.each([
  [
    Object.assign(new Error('connect ECONNREFUSED 10.0.0.1:80'), { code: 'ECONNREFUSED' }),
    'The connection was refused',
  ],
  [new TypeError('fetch failed', { cause: Object.assign(new Error(''), { code: 'ENOTFOUND' }) }), /host name/],
  [new AggregateError([Object.assign(new Error('no'), { code: 'EHOSTUNREACH' })]), 'The host cannot be reached'],
  [Object.assign(new Error('Answered:'), { code: 404 }), 'Answered: (HTTP 404)'],
  [new SyntaxError('Unexpected token'), /answer/],
  ['thrown text', 'It failed without saying why'],
  [undefined, 'It failed without saying why'],
])('%o', (error, told) => {
  const text = tellFailure(error, []);
  if (typeof told === 'string') expect(text).toBe(told);
  else expect(text).toMatch(told);
});
