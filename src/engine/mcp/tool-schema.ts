import { isRecord } from '../encode.ts';

/** A copy of a JSON Schema in which every array says what it holds, strings where it did not: some models insist. */
export function completeSchema<T>(schema: T): T {
  if (Array.isArray(schema)) return schema.map(completeSchema) as T;
  if (!isRecord(schema)) return schema;
  const copy: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(schema)) {
    // These hold values, not schemas.
    copy[key] = ['const', 'default', 'enum', 'examples'].includes(key) ? value : completeSchema(value);
  }
  const isArray = copy.type === 'array' || (Array.isArray(copy.type) && copy.type.includes('array'));
  if (isArray && copy.items === undefined && copy.prefixItems === undefined) copy.items = { type: 'string' };
  return copy as T;
}
