/**
 * The first text behind all that begin with `prefix`, in the order of their bytes. A prefix that is not empty ends with a
 * period, and the next character is the slash.
 */
export function endOf(prefix: string): string {
  return prefix === '' ? '\u{10ffff}' : `${prefix.slice(0, -1)}/`;
}
