import { problem } from '../../problems.ts';

const MAX_LENGTH = 64;
const MAX_SUFFIX = 99;

/**
 * A short name for addresses, made from a name (admin contract, section 14): without accents, in lower case, words joined
 * by hyphens, and different from those that are taken.
 *
 * @throws Problem `validation_failed` when nothing is left of the name, `conflict` when all suffixes are taken.
 */
export function makeSlug(name: string, taken: ReadonlySet<string>): string {
  const stem = trimmed(
    name
      .normalize('NFKD')
      .replace(/[^\p{ASCII}]/gu, '')
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-'),
    MAX_LENGTH,
  );
  if (stem === '') {
    const msg = 'must hold a letter from a to z or a digit, to make a slug of';
    throw problem('validation_failed', { details: [{ loc: ['body', 'name'], msg, type: 'invalid' }] });
  }
  if (!taken.has(stem)) return stem;
  for (let number = 2; number <= MAX_SUFFIX; number += 1) {
    const suffix = `-${number}`;
    const slug = trimmed(stem, MAX_LENGTH - suffix.length) + suffix;
    if (!taken.has(slug)) return slug;
  }
  throw problem('conflict', { message: `There are too many records named like "${stem}". Choose another name.` });
}

function trimmed(text: string, length: number): string {
  return text.replace(/^-+/, '').slice(0, length).replace(/-+$/, '');
}
