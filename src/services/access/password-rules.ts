/** Cost of a new bcrypt hash (admin contract, section 4). */
export const BCRYPT_COST = 12;

/** Shortest password, in characters as a person counts them. */
export const MIN_PASSWORD_CHARACTERS = 8;

/** bcrypt reads no further, so that two longer passwords with the same beginning would be the same. */
export const MAX_PASSWORD_BYTES = 72;

/** What keeps a text from being a password; undefined for one that may be. */
export function passwordFault(password: string): 'short' | 'long' | undefined {
  // One emoji is one character.
  if (Array.from(password).length < MIN_PASSWORD_CHARACTERS) return 'short';
  return Buffer.byteLength(password) > MAX_PASSWORD_BYTES ? 'long' : undefined;
}
