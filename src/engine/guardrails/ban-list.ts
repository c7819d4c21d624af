import { z } from 'zod';
import { defineGuardrail } from './define.ts';

/** Rejects texts that hold a banned word, in whatever case. A word counts where it stands by itself, not inside another. */
export const banList = defineGuardrail({
  config: z
    .object({
      config_id: z.literal('ban_list'),
      api_key: z.string().max(1_000).default('').meta({ secret: true }).describe('Kept for older clients; not needed.'),
      reject_message: z.string().max(1_000).default('').describe('What the user is told; empty for the usual text.'),
      banned_words: z
        .array(z.string().min(1).max(200))
        .max(10_000)
        .describe('Words and phrases. Commas in an entry part several.'),
    })
    .meta({ id: 'BanList', title: 'Ban list' }),
  message: 'This message holds a word that is not allowed here.',
  create({ banned_words }) {
    const words = banned_words.flatMap((entry) => entry.split(',')).map((word) => fold(word.trim()));
    const patterns = words.filter((word) => word !== '').map(pattern);
    if (patterns.length === 0) return () => true;
    const banned = new RegExp(patterns.join('|'), 'u');
    return (text) => !banned.test(fold(text));
  },
});

/** Case, compatibility forms and invisible characters aside, so that a word is not let through in another dress. */
function fold(text: string): string {
  return (
    text
      .normalize('NFKC')
      .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
      // Up and down again, since some letters only meet in capitals.
      .toUpperCase()
      .toLowerCase()
      .replace(/\s+/gu, ' ')
  );
}

function pattern(word: string): string {
  const literal = word.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
  // Scripts without spaces between words have no word boundaries to go by.
  const edge = (character: string | undefined, lookaround: string): string =>
    character !== undefined && /[\p{L}\p{M}\p{N}_]/u.test(character) && !UNSPACED.test(character) ? lookaround : '';
  const characters = Array.from(word);
  return `${edge(characters[0], '(?<![\\p{L}\\p{M}\\p{N}_])')}${literal}${edge(characters.at(-1), '(?![\\p{L}\\p{M}\\p{N}_])')}`;
}

const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
