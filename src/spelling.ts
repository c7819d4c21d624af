/**
 * Members whose content is not ours to respell: payloads that are snake_case on the wire in and out, and maps whose keys
 * are the user's own (admin contract, section 1).
 */
const VERBATIM = new Set(['memory', 'guardrail', 'headers', 'env', 'sessionKwargs', 'settings', 'baseEngineConfig']);

/**
 * A copy with camelCase names for the members of records; where both spellings are given the camelCase one wins. Keys
 * that would reach an object's prototype are left out.
 *
 * @param value a body or a part of a configuration file.
 */
export function camelise(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(camelise);
  if (typeof value !== 'object' || value === null) return value;
  const record = value as Record<string, unknown>;
  const copy: Record<string, unknown> = {};
  for (const [key, entry] of Object.entries(record)) {
    if (key === '__proto__') continue;
    const name = key.replace(/(?<=[a-z0-9])_+([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
    if (name !== key && name in record) continue;
    copy[name] = VERBATIM.has(name) ? entry : camelise(entry);
  }
  return copy;
}
