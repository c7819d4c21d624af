import { tool } from '@langchain/core/tools';
import jsep from 'jsep';
import { z } from 'zod';

/** Works out an arithmetic expression. The text is parsed and walked, never run as code. */
export const calculate = tool(({ expression }) => `${expression} = ${format(evaluate(expression))}`, {
  name: 'calculate',
  description: 'Works out an arithmetic expression exactly. Use it for every calculation instead of guessing.',
  schema: z.object({
    expression: z
      .string()
      .max(200, 'The expression is longer than 200 characters.')
      .describe(
        'Such as (3 + 4) * 2 ** 8 or sqrt(2) / pi. Functions: sqrt abs round floor ceil min max log exp sin cos tan',
      ),
  }),
});

const OPERATORS = new Map<string, (left: number, right: number) => number>([
  ['+', (left, right) => left + right],
  ['-', (left, right) => left - right],
  ['*', (left, right) => left * right],
  ['/', (left, right) => left / nonZero(right)],
  ['%', (left, right) => left % nonZero(right)],
  ['**', (left, right) => left ** right],
]);

const CONSTANTS = new Map([
  ['pi', Math.PI],
  ['e', Math.E],
]);

const FUNCTIONS = new Map<string, (...values: number[]) => number>([
  ['sqrt', Math.sqrt],
  ['abs', Math.abs],
  ['round', Math.round],
  ['floor', Math.floor],
  ['ceil', Math.ceil],
  ['min', Math.min],
  ['max', Math.max],
  ['log', Math.log],
  ['exp', Math.exp],
  ['sin', Math.sin],
  ['cos', Math.cos],
  ['tan', Math.tan],
]);

/** The value of an arithmetic expression. @throws Error that says what is wrong with it. */
export function evaluate(expression: string): number {
  const value = compute(jsep(expression.replaceAll('^', '**')));
  if (!Number.isFinite(value)) throw new Error('The result is too large, or no real number.');
  return value;
}

function compute(expression: jsep.Expression): number {
  const node = expression as jsep.CoreExpression;
  switch (node.type) {
    case 'Literal':
      if (typeof node.value === 'number') return node.value;
      throw new Error(`${node.raw} is not a number.`);
    case 'Identifier':
      return known(CONSTANTS, node.name);
    case 'UnaryExpression':
      if (node.operator === '-') return -compute(node.argument);
      if (node.operator === '+') return compute(node.argument);
      throw new Error(`The operator ${node.operator} is not arithmetic.`);
    case 'BinaryExpression':
      return known(OPERATORS, node.operator)(compute(node.left), compute(node.right));
    case 'CallExpression':
      if (node.callee.type !== 'Identifier') throw new Error('Only functions with a name can be called.');
      return known(FUNCTIONS, String(node.callee.name))(...node.arguments.map(compute));
    default:
      throw new Error('This is not an arithmetic expression.');
  }
}

function known<T>(table: ReadonlyMap<string, T>, name: string): T {
  const entry = table.get(name);
  if (entry === undefined) throw new Error(`"${name}" is not known. Known here: ${[...table.keys()].join(' ')}.`);
  return entry;
}

function nonZero(divisor: number): number {
  if (divisor === 0) throw new Error('Division by zero.');
  return divisor;
}

/** Fifteen digits: hides the noise of binary fractions (0.1 + 0.2) and keeps all a double can hold. */
function format(value: number): string {
  return String(Number.isSafeInteger(value) ? value : Number(value.toPrecision(15)));
}
