import { createRequire } from 'node:module';
import type { Emitter, Liquid, Operators, TopLevelToken } from 'liquidjs';
import { maskComments } from './comments.ts';
import { createReader } from './expressions.ts';
import { filters } from './filters.ts';
import { operators } from './operators.ts';
import { blockTags } from './tags.ts';
import { explain, TemplateProblem } from './template-problem.ts';
import { variablesOf } from './variables.ts';

/** Longest template, in characters. */
export const MAX_CONTENT = 1_000_000;
/** Most tags, outputs and comments in a template. */
const MAX_TAGS = 10_000;
/** Longest text a template may become, in characters. */
const MAX_OUTPUT = 5_000_000;
/** Longest a template may take to render, in milliseconds: nobody else is served meanwhile. */
const MAX_RENDER_MS = 1_000;
/** Most elements and characters that ranges and filters may make on the way. */
const MAX_MEMORY = 10_000_000;

/** Names that are no variables: those of Python's Jinja for what JavaScript spells otherwise. */
const CONSTANTS = Object.freeze({ None: null, none: null, True: true, False: false });

/** A template that can be rendered again and again. */
export interface Template {
  /** Names of the variables it mentions, in order, those that may be missing included. */
  readonly variables: readonly string[];
  /** @throws TemplateProblem. */
  render(values: Readonly<Record<string, unknown>>): string;
}

/** Makes templates. */
export interface TemplateEngine {
  /** @throws TemplateProblem with line and column. */
  compile(content: string): Template;
}

const require = createRequire(import.meta.url);

/**
 * Makes a template engine: a small, strict dialect on LiquidJS, described in docs/admin.md. Its templates reach the
 * values they are given and nothing else: no files, no prototypes, no code, and values are never taken for templates.
 * The library is loaded with the first template that has tags; at once, so that rendering need not be awaited.
 */
export function createTemplateEngine(): TemplateEngine {
  let dialect: ((content: string) => Template) | undefined;
  return {
    compile(content) {
      if (!/\{[{%#]/.test(content)) return { variables: [], render: () => content };
      dialect ??= createDialect(require('liquidjs') as typeof import('liquidjs'));
      return dialect(content);
    },
  };
}

/** What is wrong with a template that is about to be stored, with line and column; undefined for a good one. */
export function templateFault(content: string): string | undefined {
  try {
    createTemplateEngine().compile(content);
    return undefined;
  } catch (error) {
    if (error instanceof TemplateProblem) return error.message;
    throw error;
  }
}

function createDialect(library: typeof import('liquidjs')): (content: string) => Template {
  const { Context, Output, ParseError, Parser, Value, toValueSync } = library;
  const words = operators(library.defaultOperators);
  const read = createReader(library, words);
  const liquid = createLiquid(library, words, blockTags(library, read));

  class WholeParser extends Parser {
    override parseToken(token: TopLevelToken, rest: TopLevelToken[]) {
      const part = super.parseToken(token, rest);
      if (!(part instanceof Output)) return part;
      const { input, contentRange } = token as unknown as { input: string; contentRange: [number, number] };
      try {
        part.value = new Value(read({ input, p: contentRange[0], N: contentRange[1] }), liquid);
      } catch (error) {
        throw new ParseError(error as Error, token);
      }
      return part;
    }
  }

  class PlainContext extends Context {
    override readProperty(object: unknown, key: unknown): unknown {
      return typeof key === 'string' || typeof key === 'number' ? member(object, key) : undefined;
    }
  }

  return (content) => {
    const parts = explain(() => {
      refuseTooManyTags(content);
      return new WholeParser(liquid).parse(maskComments(content));
    });
    return {
      variables: explain(() => variablesOf(library, parts)).filter((name) => !Object.hasOwn(CONSTANTS, name)),
      render: (values) =>
        explain(() => {
          const scope: Record<string, unknown> = Object.assign(Object.create(null), values);
          for (const [name, value] of Object.entries(scope)) {
            if (isPromise(value)) throw new TemplateProblem(`the value of "${name}" is a promise; await it first`);
          }
          const context = new PlainContext(scope, liquid.options, { sync: true }, { liquid });
          const output = createEmitter();
          toValueSync(liquid.renderer.renderTemplates(parts, context, output) as Generator<unknown, unknown>);
          return output.buffer;
        }),
    };
  };
}

function createLiquid(library: typeof import('liquidjs'), words: Operators, blocks: Liquid['tags']): Liquid {
  const liquid = new library.Liquid({
    strictVariables: true,
    strictFilters: true,
    ownPropertyOnly: true,
    // Lets the filter `default`, and with our own `if` only that, see that a variable is missing.
    lenientIf: true,
    groupedExpressions: true,
    operators: words,
    templates: {},
    globals: CONSTANTS,
    // Comments may grow by a character.
    parseLimit: MAX_CONTENT * 2,
    renderLimit: MAX_RENDER_MS,
    memoryLimit: MAX_MEMORY,
  });
  const { comment, raw, '#': inlineComment } = liquid.tags;
  const tags = { comment, raw, '#': inlineComment, ...blocks };
  // Everything else the library knows is gone: what it may learn in later versions is not let in by itself.
  return Object.assign(liquid, {
    tags: Object.assign(Object.create(null), tags),
    filters: filters(liquid.filters),
  });
}

/** The library takes tokens off the front of a list, which costs the square of its length. */
function refuseTooManyTags(content: string): void {
  if (content.length > MAX_CONTENT) throw new TemplateProblem(`it is longer than ${MAX_CONTENT} characters`);
  let count = 0;
  for (let at = content.indexOf('{'); at >= 0; at = content.indexOf('{', at + 1)) {
    if ('{%#'.includes(content[at + 1] ?? ' ')) count += 1;
  }
  if (count > MAX_TAGS) throw new TemplateProblem(`it has more than ${MAX_TAGS} tags`);
}

/** A member of a value by its name, its own ones only, or by its place in a list. Functions are none. */
function member(object: unknown, key: string | number): unknown {
  if (object === null || object === undefined) return undefined;
  if (Array.isArray(object) && typeof key === 'number') return object.at(key);
  if (Object.hasOwn(object, key)) {
    const value = (object as Record<string | number, unknown>)[key];
    return typeof value === 'function' ? undefined : value;
  }
  if (key === 'size' && (typeof object === 'string' || Array.isArray(object))) return object.length;
  if (Array.isArray(object) && (key === 'first' || key === 'last')) return object.at(key === 'first' ? 0 : -1);
  return undefined;
}

function isPromise(value: unknown): boolean {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';
}

/** Collects what a template becomes. */
function createEmitter(): Emitter {
  return {
    buffer: '',
    write(value: unknown) {
      const text = textOf(value);
      if (this.buffer.length + text.length > MAX_OUTPUT) {
        throw new TemplateProblem(`it becomes longer than ${MAX_OUTPUT} characters`);
      }
      this.buffer += text;
    },
  };
}

function textOf(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return value;
    case 'number':
    case 'bigint':
    case 'boolean':
      return String(value);
  }
  if (value === null || value === undefined) return '';
  if (value instanceof Date) return value.toISOString();
  throw new TemplateProblem('this is no text; put a list through "join", and other things through "json"');
}
