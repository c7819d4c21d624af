/** Filters of the library that the dialect has, with the names each goes by. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  capitalize: ['capitalize'],
  downcase: ['downcase', 'lower'],
  first: ['first'],
  join: ['join'],
  last: ['last'],
  replace: ['replace'],
  size: ['size', 'length', 'count'],
  strip: ['strip', 'trim'],
  truncate: ['truncate'],
  upcase: ['upcase', 'upper'],
};

/** The filters of the dialect: those of the library that do no harm, and two with other manners. */
export function filters(standard: Record<string, unknown>): Record<string, unknown> {
  const kept: Record<string, unknown> = Object.create(null);
  for (const [name, spellings] of Object.entries(NAMES)) {
    for (const spelling of spellings) kept[spelling] = standard[name];
  }
  // The library's would take `false` for missing.
  kept.default = (value: unknown, fallback: unknown = '') =>
    value === undefined || value === null || value === '' ? fallback : value;
  kept.json = (value: unknown, indent = 0) => JSON.stringify(value, null, Number(indent)) ?? 'null';
  kept.tojson = kept.json;
  return kept;
}
