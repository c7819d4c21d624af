import type { Arguments, Expression, Template as Part, Token } from 'liquidjs';

type Library = typeof import('liquidjs');

/** A part of a template as far as variables are concerned. */
interface Visible {
  arguments?(): Arguments;
  children?(): unknown;
  blockScope?(): Iterable<string>;
}

/**
 * Names of the variables that must come from outside, in order of appearance. The library's own analysis also tells
 * where each stands, for which it counts lines from the start, each time.
 */
export function variablesOf({ TypeGuards, Value }: Library, parts: readonly Part[]): string[] {
  const found = new Set<string>();
  visitParts(parts, new Set());
  return [...found];

  function visitParts(list: readonly Part[], inside: ReadonlySet<string>): void {
    for (const part of list as readonly (Part & Visible)[]) {
      for (const argument of part.arguments?.() ?? []) {
        if (argument instanceof Value) visitValue(argument, inside);
        else visitToken(argument, inside);
      }
      const names = part.blockScope?.();
      const children = part.children?.() as Part[] | undefined;
      visitParts(children ?? [], names === undefined ? inside : new Set([...inside, ...names]));
    }
  }

  function visitValue(
    value: { initial: Expression; filters: readonly { args: unknown[] }[] },
    inside: ReadonlySet<string>,
  ): void {
    for (const token of value.initial.postfix) visitToken(token, inside);
    for (const { args } of value.filters) for (const arg of args) visitToken(Array.isArray(arg) ? arg[1] : arg, inside);
  }

  function visitToken(token: unknown, inside: ReadonlySet<string>): void {
    if (TypeGuards.isFilteredValueToken(token)) visitValue(token, inside);
    else if (TypeGuards.isRangeToken(token)) for (const end of [token.lhs, token.rhs]) visitToken(end, inside);
    else if (TypeGuards.isPropertyAccessToken(token)) {
      const [first, ...rest] = token.props as (Token & { content?: unknown })[];
      if (token.variable === undefined && typeof first?.content === 'string' && !inside.has(first.content)) {
        found.add(first.content);
      }
      for (const prop of token.variable === undefined ? rest : token.props) visitToken(prop, inside);
    }
  }
}
