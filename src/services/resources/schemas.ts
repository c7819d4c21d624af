import { z } from 'zod';
import { RESOURCES } from './index.ts';

type JsonSchema = { [key: string]: unknown; properties?: { [name: string]: JsonSchema } };

/** What each resource can hold, as JSON Schemas with a title for every member, for whoever makes a form of them. */
export function resourceSchemas(): Record<string, JsonSchema> {
  return Object.fromEntries(
    RESOURCES.map(({ name, title, data, example }) => {
      const schema = z.toJSONSchema(data, { io: 'input', reused: 'inline' }) as JsonSchema;
      return [name, { title: sentence(title), examples: [example], ...titled(schema) }];
    }),
  );
}

function titled(schema: unknown): JsonSchema {
  if (Array.isArray(schema)) return schema.map(titled) as never;
  if (typeof schema !== 'object' || schema === null) return schema as never;
  const copy: JsonSchema = {};
  for (const [key, value] of Object.entries(schema)) {
    copy[key] = key === 'default' || key === 'examples' ? value : titled(value);
  }
  for (const [name, member] of Object.entries(copy.properties ?? {})) {
    if (typeof member === 'object' && member.title === undefined) member.title = sentence(words(name));
  }
  return copy;
}

/** `clientId` and `client_id` as "client id". */
function words(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll('_', ' ')
    .toLowerCase();
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
