import type { Expression, FilteredValueToken, Operators, Token } from 'liquidjs';
import { TemplateProblem } from './template-problem.ts';

/** Reads a whole expression with its filters, which is all there is between two places of a template. */
export type ReadExpression = (place: { input: string; p: number; N: number }) => FilteredValueToken;

const COMPARISONS = new Set(['==', '!=', '>', '<', '>=', '<=', 'contains', 'in']);
/** Words with a meaning of their own to the library, which would hide a variable of that name. */
const RESERVED = new Set(['blank', 'empty']);

/**
 * Makes the reader of expressions. The library's own is lenient: it drops what it does not understand and mixes `and`
 * and `or` from right to left. A prompt that says something else than it seems to is refused here.
 *
 * @returns a reader that throws TemplateProblem saying what is wrong.
 */
export function createReader(
  { Tokenizer, TypeGuards }: typeof import('liquidjs'),
  operators: Operators,
): ReadExpression {
  class WholeTokenizer extends Tokenizer {
    /** The library takes a `not` right behind a parenthesis for a variable. */
    override readGroupOrRange() {
      this.skipBlank();
      const begin = this.p;
      if (this.peek() === '(') {
        this.advance();
        const negated = this.readOperator()?.getText() === 'not';
        this.p = negated ? begin + 1 : begin;
        if (negated) {
          const group = this.readFilteredValue();
          this.skipBlank();
          this.assert(this.read() === ')', 'unbalanced parentheses');
          return group;
        }
      }
      return super.readGroupOrRange();
    }
  }

  return ({ input, p, N }) => {
    const tokenizer = new WholeTokenizer(input, operators, undefined, [p, N], true);
    const token = tokenizer.readFilteredValue();
    tokenizer.skipBlank();
    if (!tokenizer.end()) throw new TemplateProblem(`unexpected "${snippet(tokenizer.remaining())}"`);
    check(token);
    return token;
  };

  function check({ initial, filters }: FilteredValueToken): void {
    checkExpression(initial);
    for (const filter of filters) {
      for (const arg of filter.args) checkOperand((Array.isArray(arg) ? arg[1] : arg) as Token | undefined);
    }
  }

  function checkOperand(token: Token | undefined): void {
    if (TypeGuards.isFilteredValueToken(token)) check(token);
    if (TypeGuards.isLiteralToken(token) && RESERVED.has(token.literal)) {
      throw new TemplateProblem(`"${token.literal}" cannot be the name of a variable`);
    }
    if (TypeGuards.isPropertyAccessToken(token)) for (const prop of token.props) checkOperand(prop);
  }

  function checkExpression({ postfix }: Expression): void {
    const operators = postfix.filter((part) => TypeGuards.isOperatorToken(part)).map((part) => part.getText());
    if (operators.includes('and') && operators.includes('or')) {
      throw new TemplateProblem('say with parentheses which of "and" and "or" comes first: (a and b) or c');
    }
    // Each entry says whether that operand is the result of a comparison.
    const operands: boolean[] = [];
    for (const part of postfix) {
      if (!TypeGuards.isOperatorToken(part)) {
        checkOperand(part);
        operands.push(false);
        continue;
      }
      const operator = part.getText();
      const taken = operands.splice(operator === 'not' ? -1 : -2);
      if (taken.length < (operator === 'not' ? 1 : 2))
        throw new TemplateProblem(`"${operator}" has nothing to work on`);
      const compares = COMPARISONS.has(operator);
      if (compares && taken.includes(true)) throw new TemplateProblem('comparisons cannot be chained');
      operands.push(compares);
    }
    if (operands.length !== 1) {
      const extra = postfix.filter((part) => !TypeGuards.isOperatorToken(part))[1];
      throw new TemplateProblem(`unexpected "${snippet(extra?.getText() ?? '')}"`);
    }
  }
}

/** The beginning of a text, for messages. */
export function snippet(text: string): string {
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}
