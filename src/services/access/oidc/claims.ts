import { z } from 'zod';

/** What a checked token says of its bearer (runtime contract, section 10). */
export interface TokenClaims {
  subject: string | undefined;
  email: string | undefined;
  /** Undefined when the provider does not say. */
  emailVerified: boolean | undefined;
}

/** Who may enter; entries are compared without regard to the case of ASCII letters. */
export interface AllowLists {
  /** Whole addresses. */
  emails: readonly string[] | null;
  /** Parts after the last `@`. */
  domains: readonly string[] | null;
}

/** Why a token is refused. Neither text holds anything of the token, nor what a library or the network has said. */
export class TokenRefused extends Error {
  override name = 'TokenRefused';
  /** One of a few fixed sentences, safe to show: an `error_description` of RFC 6750. */
  readonly description: string;
  /** The same in more words, for the log. */
  readonly reason: string;

  constructor(description: string, reason: string = description, options?: ErrorOptions) {
    super(reason, options);
    this.description = description;
    this.reason = reason;
  }
}

/** The bounds of user ids, the same as for `X-Service-User-Id`. */
const Text = z
  .string()
  .max(256)
  .regex(/^\P{Cc}*$/u);

const Claims = z.object({
  sub: Text.nullish(),
  email: Text.nullish(),
  // Some providers write every claim as a string.
  email_verified: z.union([z.boolean(), z.literal(['true', 'false'])]).nullish(),
});

/** Takes from a token's payload what the server asks of it. @throws TokenRefused when a claim is not what it should be */
export function readClaims(payload: object): TokenClaims {
  const { data, error } = Claims.safeParse(payload);
  if (data === undefined) {
    const claim = String(error.issues[0]?.path[0]);
    throw new TokenRefused('The token is malformed', `The claim ${claim} is not of the form it should have`);
  }
  const verified = data.email_verified ?? undefined;
  return {
    subject: present(data.sub),
    email: present(data.email),
    emailVerified: typeof verified === 'string' ? verified === 'true' : verified,
  };
}

function present(text: string | null | undefined): string | undefined {
  return text == null || text.trim() === '' ? undefined : text;
}

/**
 * The user id: claim `email`, else `sub`. An address the provider says is not verified is not used: anybody may claim it.
 *
 * @throws TokenRefused when there is neither
 */
export function userIdOf(claims: TokenClaims): string {
  const id = claims.emailVerified === false ? claims.subject : (claims.email ?? claims.subject);
  if (id === undefined) throw new TokenRefused('The token names no user');
  return id;
}

/**
 * Checks that the address or its domain is in either list. Both null or empty admit everybody; otherwise a token without
 * an address, or with one that is said not to be verified, is refused.
 *
 * @throws TokenRefused
 */
export function checkAllowed({ email, emailVerified }: TokenClaims, { emails, domains }: AllowLists): void {
  if (!emails?.length && !domains?.length) return;
  if (email === undefined) throw new TokenRefused('The token names no e-mail address');
  if (emailVerified === false) throw new TokenRefused('The e-mail address of the token is not verified');
  const at = email.lastIndexOf('@');
  if (emails !== null && includes(emails, email)) return;
  if (domains !== null && at > 0 && includes(domains, email.slice(at + 1))) return;
  throw new TokenRefused('The e-mail address of the token is not admitted');
}

function includes(list: readonly string[], wanted: string): boolean {
  const folded = foldCase(wanted);
  // Folding keeps the length; lists may be long.
  return list.some((entry) => entry.length === folded.length && foldCase(entry) === folded);
}

/** ASCII only: by Unicode's rules other letters fall together with ours, such as the Kelvin sign with k. */
function foldCase(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}
