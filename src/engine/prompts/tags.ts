import type { Context, Emitter, Liquid, Parser, TagToken, Template, TopLevelToken, Value } from 'liquidjs';
import { type ReadExpression, snippet } from './expressions.ts';
import { isTrue } from './operators.ts';
import { TemplateProblem } from './template-problem.ts';

type Library = typeof import('liquidjs');

/** Deepest nesting of blocks; what is deeper is refused before it exhausts the stack. */
const MAX_NESTING = 50;

/** The blocks of the dialect, `if` and `for`, as tags of the library. */
export function blockTags(library: Library, read: ReadExpression): Liquid['tags'] {
  const { Tag, Value, toValueSync } = library;
  /** How many blocks are open around the one that is being parsed. */
  const open = new WeakMap<Parser, number>();

  /** Parses a block's content up to its end tag. `on` hears of the tags that part it and says where to go on. */
  function parseBlock(
    token: TagToken,
    rest: TopLevelToken[],
    parser: Parser,
    first: Template[],
    on: Record<string, (token: TagToken) => Template[]>,
  ): void {
    const depth = (open.get(parser) ?? 0) + 1;
    if (depth > MAX_NESTING) throw new TemplateProblem(`blocks are nested deeper than ${MAX_NESTING} levels`);
    open.set(parser, depth);
    let into = first;
    const stream = parser.parseStream(rest);
    for (const [name, part] of Object.entries(on)) {
      stream.on(`tag:${name}`, (found: TagToken) => {
        into = part(found);
      });
    }
    stream
      .on(`tag:end${token.name}`, (found: TagToken) => {
        nothingMore(found);
        stream.stop();
      })
      .on('template', (template: Template) => void into.push(template))
      .on('end', () => {
        throw new TemplateProblem(`{% ${token.name} %} has no {% end${token.name} %}`);
      })
      .start();
    open.set(parser, depth - 1);
  }

  function nothingMore({ args, name }: TagToken): void {
    if (args.trim() !== '') throw new TemplateProblem(`unexpected "${snippet(args.trim())}" after ${name}`);
  }

  class IfTag extends Tag {
    readonly #branches: { condition: Value; templates: Template[] }[] = [];
    #otherwise: Template[] | undefined;

    constructor(token: TagToken, rest: TopLevelToken[], liquid: Liquid, parser: Parser) {
      super(token, rest, liquid);
      const branch = (found: TagToken): Template[] => {
        if (this.#otherwise !== undefined) throw new TemplateProblem(`${found.name} after else`);
        const templates: Template[] = [];
        this.#branches.push({ condition: new Value(read(found.tokenizer), liquid), templates });
        return templates;
      };
      parseBlock(token, rest, parser, branch(token), {
        elif: branch,
        elsif: branch,
        else: (found) => {
          nothingMore(found);
          if (this.#otherwise !== undefined) throw new TemplateProblem('a second else');
          this.#otherwise = [];
          return this.#otherwise;
        },
      });
    }

    override *render(context: Context, emitter: Emitter): Generator<unknown, void, unknown> {
      const { renderer } = this.liquid;
      for (const { condition, templates } of this.#branches) {
        if (!isTrue(toValueSync(condition.value(context, false) as never))) continue;
        yield renderer.renderTemplates(templates, context, emitter);
        return;
      }
      yield renderer.renderTemplates(this.#otherwise ?? [], context, emitter);
    }

    // Not one that yields, as the type would have it: there is nothing to wait for.
    children() {
      return [...this.#branches.flatMap(({ templates }) => templates), ...(this.#otherwise ?? [])];
    }

    arguments() {
      return this.#branches.map(({ condition }) => condition);
    }
  }

  class ForTag extends Tag {
    readonly #name: string;
    readonly #list: Value;
    readonly #templates: Template[] = [];
    readonly #otherwise: Template[] = [];

    constructor(token: TagToken, rest: TopLevelToken[], liquid: Liquid, parser: Parser) {
      super(token, rest, liquid);
      this.#name = this.tokenizer.readIdentifier().content;
      if (this.#name === '' || this.tokenizer.readIdentifier().content !== 'in') {
        throw new TemplateProblem('write {% for item in list %}');
      }
      this.#list = new Value(read(this.tokenizer), liquid);
      parseBlock(token, rest, parser, this.#templates, {
        else: (found) => {
          nothingMore(found);
          return this.#otherwise;
        },
      });
    }

    override *render(context: Context, emitter: Emitter): Generator<unknown, void, unknown> {
      const { renderer } = this.liquid;
      const list = toList(toValueSync(this.#list.value(context, false) as never));
      if (list.length === 0) {
        yield renderer.renderTemplates(this.#otherwise, context, emitter);
        return;
      }
      const scope: Record<string, unknown> = Object.create(null);
      context.push(scope);
      for (const [index, item] of list.entries()) {
        scope.loop = position(index, list.length);
        scope.forloop = scope.loop;
        scope[this.#name] = item;
        yield renderer.renderTemplates(this.#templates, context, emitter);
      }
      context.pop();
    }

    children() {
      return [...this.#templates, ...this.#otherwise];
    }

    arguments() {
      return [this.#list];
    }

    blockScope() {
      return [this.#name, 'loop', 'forloop'];
    }
  }

  return { if: IfTag, for: ForTag };
}

/** What a loop goes over: the elements of a list, or the pairs of name and value of an object. */
function toList(value: unknown): unknown[] {
  if (value === null || value === undefined) return [];
  if (Array.isArray(value)) return value;
  if (typeof value === 'object') {
    return Symbol.iterator in value ? [...(value as Iterable<unknown>)] : Object.entries(value);
  }
  throw new TemplateProblem('what a loop goes over must be a list');
}

/** `loop` inside a loop, under the names of both Jinja and Liquid. */
function position(index: number, length: number): Record<string, unknown> {
  const left = length - index;
  return {
    index: index + 1,
    index0: index,
    revindex: left,
    revindex0: left - 1,
    rindex: left,
    rindex0: left - 1,
    first: index === 0,
    last: left === 1,
    length,
  };
}
