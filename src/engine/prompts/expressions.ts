import type { Expression, FilteredValueToken, Token, Tokenizer } from 'liquidjs';
import { TemplateProblem } from './template-problem.ts';

type Liquid = typeof import('liquidjs');

const COMPARISONS = new Set(['==', '!=', '>', '<', '>=', '<=', 'contains', 'in']);

/**
 * Reads a whole expression with its filters. The library's own reader is lenient: it drops what it does not understand
 * and mixes `and` and `or` from right to left. A prompt that says something else than it seems to is refused here.
 *
 * @throws TemplateProblem saying what is wrong.
 */
export function readWhole({ TypeGuards }: Liquid, tokenizer: Tokenizer): FilteredValueToken {
  const token = tokenizer.readFilteredValue();
  tokenizer.skipBlank();
  if (!tokenizer.end()) throw new TemplateProblem(`unexpected "${snippet(tokenizer.remaining())}"`);
  check(token);
  return token;

  function check({ initial, filters }: FilteredValueToken): void {
    checkExpression(initial);
    for (const filter of filters) {
      for (const arg of filter.args) checkOperand((Array.isArray(arg) ? arg[1] : arg) as Token | undefined);
    }
  }

  function checkOperand(token: Token | undefined): void {
    if (TypeGuards.isFilteredValueToken(token)) check(token);
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
