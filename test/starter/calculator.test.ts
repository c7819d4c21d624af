import { describe, expect, it } from 'vitest';
import { calculate, evaluate } from '../../src/starter/tools/calculator.ts';

describe('evaluate', () => {
  it.each([
    ['1 + 2 * 3', 7],
    ['(1 + 2) * 3', 9],
    ['2 ** 3 ** 2', 512],
    ['2 ^ 3 ^ 2', 512],
    ['-2 + +5', 3],
    ['7 % 4', 3],
    ['1e3 / .5', 2000],
    ['max(1, 2, 3) - min(4, 5)', -1],
    ['round(pi * 100) / 100', 3.14],
  ])('%s = %d', (expression, value) => {
    expect(evaluate(expression)).toBe(value);
  });

  it.each([
    ['', 'not an arithmetic'],
    ['1 2', 'not an arithmetic'],
    ['1 +', 'Expected expression'],
    ['(1', 'Unclosed'],
    ['1 / 0', 'Division by zero'],
    ['5 % 0', 'Division by zero'],
    ['2**99999', 'too large'],
    ['9**9**9**9', 'too large'],
    ['sqrt(-1)', 'no real number'],
    ['constructor', 'not known'],
    ['__proto__', 'not known'],
    ['toString()', 'not known'],
    ['constructor("return 1")()', 'Only functions with a name'],
    ['sqrt.constructor("return process")()', 'Only functions with a name'],
    ['process.exit(1)', 'Only functions with a name'],
    ['[].length', 'not an arithmetic'],
    ['this', 'not an arithmetic'],
    ['"a" + "b"', 'is not a number'],
    ['true', 'is not a number'],
    ['1 ? 2 : 3', 'not an arithmetic'],
    ['1 << 30', 'not known'],
    ['!1', 'not arithmetic'],
    ['x = 1', 'Unexpected'],
  ])('refuses %s', (expression, reason) => {
    expect(() => evaluate(expression)).toThrow(reason);
  });

  it.each(['('.repeat(200), '-'.repeat(200), 'sqrt('.repeat(40)])('refuses unfinished nesting: %s', (expression) => {
    expect(() => evaluate(expression)).toThrow();
  });
});

it('writes results without the noise of binary fractions', async () => {
  expect(await calculate.invoke({ expression: '0.1 + 0.2' })).toBe('0.1 + 0.2 = 0.3');
  expect(await calculate.invoke({ expression: '2 ** 53 - 1' })).toBe('2 ** 53 - 1 = 9007199254740991');
  expect(await calculate.invoke({ expression: '0 * -1' })).toBe('0 * -1 = 0');
});
