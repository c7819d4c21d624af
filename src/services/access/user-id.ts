/** Longest user id that is taken, in characters (runtime contract, section 10). */
const MAX_LENGTH = 256;

/** A user id as a caller gives it, trimmed; null for one that is empty, too long, or holds control bytes. */
export function cleanUserId(given: string): string | null {
  const id = given.trim();
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control bytes are what is looked for
  return id === '' || id.length > MAX_LENGTH || /[\x00-\x1f\x7f]/.test(id) ? null : id;
}
