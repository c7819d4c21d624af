import type { defaultOperators } from 'liquidjs';

/** Truth as in Jinja: nothing, zero, empty texts, lists and objects are false. */
export function isTrue(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  if (typeof value === 'object' && value !== null) {
    const { size } = value as { size?: unknown };
    if (value instanceof Map || value instanceof Set) return size !== 0;
    const plain = Object.getPrototypeOf(value);
    return (plain !== null && plain !== Object.prototype) || Object.keys(value).length > 0;
  }
  return Boolean(value);
}

/** The words between values, where they differ from the library's. */
export function operators(standard: typeof defaultOperators): typeof defaultOperators {
  return {
    ...standard,
    not: (value: unknown) => !isTrue(value),
    // As in Jinja they give one of the two values; the library's types expect a truth.
    and: (left: unknown, right: unknown) => (isTrue(left) ? right : left) as boolean,
    or: (left: unknown, right: unknown) => (isTrue(left) ? left : right) as boolean,
    contains: holds,
    in: (left: unknown, right: unknown) => holds(right, left),
  };
}

function holds(container: unknown, item: unknown): boolean {
  if (typeof container === 'string') return container.includes(String(item));
  if (Array.isArray(container)) return container.includes(item);
  if (container instanceof Set || container instanceof Map) return container.has(item);
  return typeof container === 'object' && container !== null && Object.hasOwn(container, String(item));
}
