import { isDeepStrictEqual } from 'node:util';

type Comparison = (value: unknown, wanted: unknown) => boolean;

const OPERATORS: Readonly<Record<string, Comparison>> = {
  $eq: (value, wanted) => isDeepStrictEqual(value, wanted),
  $ne: (value, wanted) => !isDeepStrictEqual(value, wanted),
  $gt: ordered((order) => order > 0),
  $gte: ordered((order) => order >= 0),
  $lt: ordered((order) => order < 0),
  $lte: ordered((order) => order <= 0),
  $in: (value, wanted) => Array.isArray(wanted) && wanted.some((one) => isDeepStrictEqual(value, one)),
  $nin: (value, wanted) => Array.isArray(wanted) && !wanted.some((one) => isDeepStrictEqual(value, one)),
};

/**
 * Whether an item's value is what a search asks for: each member equals what the filter says, or stands to it as its
 * operators say.
 *
 * @throws Error for an operator there is not.
 */
export function matches(value: Readonly<Record<string, unknown>>, filter: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(filter).every(([member, wanted]) => {
    const given = value[member];
    if (!isOperators(wanted)) return isDeepStrictEqual(given, wanted);
    return Object.entries(wanted).every(([name, operand]) => {
      const compare = OPERATORS[name];
      if (compare === undefined) {
        throw new Error(`The store knows no operator ${name}; it knows ${Object.keys(OPERATORS).join(', ')}.`);
      }
      return compare(given, operand);
    });
  });
}

function isOperators(wanted: unknown): wanted is Record<string, unknown> {
  if (typeof wanted !== 'object' || wanted === null || Array.isArray(wanted)) return false;
  const names = Object.keys(wanted);
  return names.length > 0 && names.every((name) => name.startsWith('$'));
}

/** Numbers compare with numbers and texts with texts; nothing else has an order. */
function ordered(holds: (order: number) => boolean): Comparison {
  return (value, wanted) => {
    if (typeof value === 'number' && typeof wanted === 'number') return holds(value - wanted);
    if (typeof value === 'string' && typeof wanted === 'string') {
      return holds(value < wanted ? -1 : value > wanted ? 1 : 0);
    }
    return false;
  };
}
