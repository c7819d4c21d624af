import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/**
 * Checks data against a JSON Schema.
 *
 * @returns the faults as one text that calls the data `name`, or undefined when it fits.
 * @throws when the schema itself is none.
 */
export function jsonSchemaFaults(schema: object, data: unknown, name: string): string | undefined {
  // Loaded at the first use: most agents never need it, and it takes a while.
  const { Ajv } = require('ajv') as typeof import('ajv');
  // A new one each time: it would keep every schema it has seen.
  const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false, validateSchema: false });
  // The dialect is stated by a URL the library would want to load.
  const { $schema: _dialect, ...plain } = schema as Record<string, unknown>;
  return ajv.validate(plain, data) ? undefined : ajv.errorsText(ajv.errors, { dataVar: name });
}
