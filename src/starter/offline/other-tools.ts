import type { OfferedTool } from './offered-tool.ts';

/** Words in a tool's name that a request may put another way ("change the colour" for `set_color`). */
const VERBS = new Set('add call change display do fetch find get make open run set show tool update'.split(' '));

/** Whether a text is about a tool: it names it, or has every word of its name that carries meaning. */
export function isAbout(tool: OfferedTool, text: string): boolean {
  if (new RegExp(`(?<![\\w-])${escaped(tool.name)}(?![\\w-])`, 'i').test(text)) return true;
  const wanted = wordsOf(tool.name).filter((word) => !VERBS.has(word));
  const said = new Set(wordsOf(text));
  return wanted.length > 0 && wanted.every((word) => said.has(word) || said.has(`${word}s`));
}

/** Fills a tool's arguments from a text as well as rules can, following its JSON Schema. */
export function argumentsFor(tool: OfferedTool, text: string): Record<string, unknown> {
  const clues: Clues = {
    text: text.replace(new RegExp(escaped(tool.name), 'i'), '').trim(),
    quoted: [...text.matchAll(/"([^"]+)"/g)].map((match) => match[1] ?? ''),
    numbers: (text.match(/-?\d+(?:\.\d+)?/g) ?? []).map(Number),
  };
  return objectFrom(tool.parameters, clues);
}

/** What a text offers; quoted parts and numbers are used up in order. */
interface Clues {
  text: string;
  quoted: string[];
  numbers: number[];
}

/** The part of JSON Schema that matters here. */
interface Schema {
  type?: unknown;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  minimum?: number;
}

function objectFrom(parameters: unknown, clues: Clues): Record<string, unknown> {
  const { properties = {}, required = [] } = (parameters ?? {}) as Schema;
  const values = Object.entries(properties).map(([name, schema]) => [
    name,
    valueFor(name, schema, clues, required.includes(name)),
  ]);
  return Object.fromEntries(values.filter(([, value]) => value !== undefined));
}

function valueFor(name: string, schema: Schema, clues: Clues, needed: boolean): unknown {
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) {
    const said = schema.enum.find((option) => mentions(clues.text, String(option)));
    return said ?? (needed ? (schema.default ?? schema.enum[0]) : undefined);
  }
  switch (Array.isArray(schema.type) ? schema.type[0] : schema.type) {
    case 'integer':
      return round(clues.numbers.shift()) ?? (needed ? (schema.default ?? schema.minimum ?? 0) : undefined);
    case 'number':
      return clues.numbers.shift() ?? (needed ? (schema.default ?? schema.minimum ?? 0) : undefined);
    case 'boolean':
      if (mentions(clues.text, name) || needed) return !/\b(?:off|no|not|false|disable|without)\b/i.test(clues.text);
      return undefined;
    case 'array':
      return needed ? [valueFor(name, schema.items ?? {}, clues, true)] : undefined;
    case 'object':
      return needed ? objectFrom(schema, clues) : undefined;
    default:
      return textFor(name, clues) ?? (needed ? (schema.default ?? clues.text) : undefined);
  }
}

/** `title is X`, `title: X`, a quoted part, or what follows "to", "saying", "with", "for". */
function textFor(name: string, clues: Clues): string | undefined {
  const label = wordsOf(name).map(escaped).join('[\\s_-]*');
  const named = new RegExp(`\\b${label}\\b\\s*(?:is|to|as|=|:)?\\s*(?:"([^"]+)"|([^\\s",;]+))`, 'i').exec(clues.text);
  const value = named?.[1] ?? clues.quoted[0] ?? named?.[2] ?? FOLLOWING.exec(clues.text)?.[1]?.trim();
  clues.quoted = clues.quoted.filter((part) => part !== value);
  return value;
}

const FOLLOWING = /(?:\b(?:to|saying|says|with|for|in|into)\b|:)\s+(.+)$/is;

function mentions(text: string, word: string): boolean {
  return new RegExp(`(?<!\\w)${escaped(word)}(?!\\w)`, 'i').test(text);
}

function round(value: number | undefined): number | undefined {
  return value === undefined ? undefined : Math.round(value);
}

/** Words of a sentence or of a `snake_case`, `kebab-case` or `camelCase` name. */
function wordsOf(text: string): string[] {
  return (
    text
      .replace(/(?<=[\p{Ll}\d])(?=\p{Lu})/gu, ' ')
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  );
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
