type Json = Record<string, unknown>;

interface Document {
  components?: { schemas?: Record<string, unknown> };
  paths?: Record<
    string,
    Record<string, { requestBody?: { required?: boolean; content?: Record<string, { schema?: Json }> } }>
  >;
}

/**
 * Makes the generated document one a person would write. The generator lists every schema twice, as input and as
 * output: what nothing refers to goes, and an input that has no output beside it takes the plain name. A body that may
 * be null may be left out.
 *
 * @param examples examples of schemas the generator drops them from, by name.
 */
export function tidyOpenApi(document: object, examples: Record<string, unknown[]>): object {
  const used = references(document);
  const renames = new Map<string, string>();
  for (const name of used) {
    const plain = name.replace(/Input$/, '');
    if (plain !== name && !used.has(plain)) renames.set(name, plain);
  }
  const text = JSON.stringify(document).replace(/"#\/components\/schemas\/([^"/]+)"/g, (_, name: string) => {
    return JSON.stringify(`#/components/schemas/${renames.get(name) ?? name}`);
  });
  const tidied = JSON.parse(text) as Document;
  const schemas = tidied.components?.schemas ?? {};
  const kept = Object.entries(schemas).filter(([name]) => used.has(name));
  if (tidied.components !== undefined) {
    tidied.components.schemas = Object.fromEntries(
      kept.map(([name, schema]) => {
        const plain = renames.get(name) ?? name;
        return [plain, { ...(schema as Json), ...(examples[plain] && { examples: examples[plain] }) }];
      }),
    );
  }
  for (const operation of Object.values(tidied.paths ?? {}).flatMap((path) => Object.values(path))) {
    const body = operation.requestBody;
    const schema = body?.content?.['application/json']?.schema;
    if (body !== undefined && mayBeNull(schema, tidied.components?.schemas ?? {})) body.required = false;
  }
  return tidied;
}

/** Names of the schemas that paths refer to, directly or through other schemas. */
function references(document: object): Set<string> {
  const { components, ...rest } = document as Document;
  const used = new Set<string>();
  const visit = (part: unknown): void => {
    for (const [, name = ''] of JSON.stringify(part).matchAll(/"#\/components\/schemas\/([^"/]+)"/g)) {
      if (used.has(name)) continue;
      used.add(name);
      visit(components?.schemas?.[name] ?? {});
    }
  };
  visit(rest);
  return used;
}

function mayBeNull(schema: Json | undefined, schemas: Record<string, unknown>): boolean {
  if (schema === undefined) return false;
  if (typeof schema.$ref === 'string') return mayBeNull(schemas[schema.$ref.split('/').at(-1) ?? ''] as Json, schemas);
  return (
    schema.type === 'null' ||
    [schema.anyOf, schema.oneOf].some((all) => Array.isArray(all) && all.some((one) => mayBeNull(one as Json, schemas)))
  );
}
