import { z } from 'zod';
import { MASK } from '../../masking.ts';

/**
 * How a schema marks what must not be shown: `.meta({ secret: … })` on a string (`true`: all of it; `url`: the
 * credentials in it) or on a map (`named`: what stands under keys that look secret).
 */
export type SecretMark = true | 'url' | 'named';

/** Takes a secret text and gives what stands in its place. `path` says where it is. */
export type SecretVisitor = (
  text: string,
  mark: Exclude<SecretMark, 'named'>,
  path: readonly (string | number)[],
) => string;

const SECRET_NAME = /key|token|secret|pass(?:word|wd|phrase)|pwd|credential|auth|cookie|session|signature/i;

/** A copy of `value` in which every text that `schema` marks as secret is replaced by what `visit` gives. */
export function mapSecrets<T>(schema: z.core.$ZodType, value: T, visit: SecretVisitor): T {
  return walk(schema, value, visit, []) as T;
}

/** What is shown in the place of a secret; a reference to a variable is none and is shown. */
export function maskSecret(text: string, mark: Exclude<SecretMark, 'named'>): string {
  if (text === '' || /^\$\{[A-Za-z_]\w*\}$/.test(text)) return text;
  if (mark === true) return MASK;
  return text
    .replace(/([a-z][a-z0-9+.-]*:\/\/[^\s/@:]*):[^\s/@]*@/gi, `$1:${MASK}@`)
    .replace(/([?&][^=&\s]*(?:key|token|secret|password|passwd|signature|sig)[^=&\s]*=)[^&\s#]+/gi, `$1${MASK}`);
}

function walk(
  schema: z.core.$ZodType,
  value: unknown,
  visit: SecretVisitor,
  path: readonly (string | number)[],
  outer?: SecretMark,
): unknown {
  if (value === null || value === undefined) return value;
  // A mark may stand on a schema or on what wraps it, such as its default.
  const mark = (z.globalRegistry.get(schema) as { secret?: SecretMark } | undefined)?.secret ?? outer;
  if (mark === 'named') return byName(value, visit, path, false);
  const { def } = (schema as z.core.$ZodTypes)._zod;
  if (typeof value === 'string' && (mark !== undefined || !('innerType' in def))) {
    return mark === undefined ? value : visit(value, mark, path);
  }
  switch (def.type) {
    case 'object':
      return mapEntries(value, (key, entry) => {
        const member = def.shape[key];
        return member === undefined ? entry : walk(member, entry, visit, [...path, key]);
      });
    case 'record':
      return mapEntries(value, (key, entry) => walk(def.valueType, entry, visit, [...path, key]));
    case 'array':
      return (value as unknown[]).map((entry, index) => walk(def.element, entry, visit, [...path, index]));
    case 'union':
      return walk(optionFor(def as z.core.$ZodDiscriminatedUnionDef, value), value, visit, path, mark);
    case 'pipe':
      return walk(def.in, value, visit, path, mark);
    default:
      return 'innerType' in def ? walk(def.innerType as z.core.$ZodType, value, visit, path, mark) : value;
  }
}

/** Visits what stands under a name that looks secret, however deep, and credentials wherever they stand. */
function byName(value: unknown, visit: SecretVisitor, path: readonly (string | number)[], secret: boolean): unknown {
  if (typeof value === 'string') return visit(value, secret || /^(?:bearer|basic) /i.test(value) ? true : 'url', path);
  if (Array.isArray(value)) return value.map((entry, index) => byName(entry, visit, [...path, index], secret));
  if (typeof value !== 'object' || value === null) return value;
  return mapEntries(value, (key, entry) => byName(entry, visit, [...path, key], secret || SECRET_NAME.test(key)));
}

function mapEntries(value: unknown, change: (key: string, entry: unknown) => unknown): unknown {
  return Object.fromEntries(Object.entries(value as object).map(([key, entry]) => [key, change(key, entry)]));
}

/** The member of a union that a value is of: told by its discriminator, else by being a list or an object. */
function optionFor(def: z.core.$ZodDiscriminatedUnionDef, value: unknown): z.core.$ZodType {
  const options = def.options as z.core.$ZodTypes[];
  const { discriminator } = def;
  const found =
    discriminator === undefined
      ? options.find((option) => (option._zod.def.type === 'array') === Array.isArray(value))
      : options.find((option) => {
          const given = (value as Record<string, unknown>)[discriminator];
          return option._zod.propValues?.[discriminator]?.has(given as string) === true;
        });
  return found ?? (options[0] as z.core.$ZodType);
}
