/** Stands in the place of a secret. */
const MASK = '***';

/** Shorter texts are no secrets; taking them out would only make traces unreadable. */
const SECRET_LENGTH = 8;

/** Names under which secrets stand. Plain `key` is not one: it is what half of all records call something else. */
const SECRET_NAME =
  /(?:api|access|secret|private|signing|encryption|service|account|auth)[-_ ]?key|token(?!s|_?count|_?type|iz)|secret|passw|passphrase|\bpwd\b|credential|authorization|cookie|signature/i;

/** The end of such a name, to be looked back at. */
const NAMED = `(?:${SECRET_NAME.source})[\\w.-]{0,20}`;

/**
 * Secrets known by how they look, in plain texts and in JSON, where a line break before one is the letter n. `hint` is
 * looked for first: that costs next to nothing, the pattern does not. Patterns begin with something that is rare, and look
 * back from there, because texts are long and secrets few.
 */
const PATTERNS: readonly { hint: string; plainOnly?: true; pattern: RegExp; mask: string }[] = [
  // JSON within a text, as tools answer it. In JSON the names of its own members have been seen to already.
  { hint: '":', plainOnly: true, pattern: new RegExp(`":(?<=${NAMED}":)(\\s*")[^"]+`, 'gi'), mask: `":$1${MASK}` },
  {
    hint: '\\":',
    pattern: new RegExp(`\\\\":(?<=${NAMED}\\\\+":)(\\s*\\\\+")[^"\\\\]+`, 'gi'),
    mask: `\\":$1${MASK}`,
  },
  // As shells and INI files have it.
  {
    hint: '=',
    pattern: new RegExp(`=(?<=${NAMED} ?=)( ?(?:\\\\*["'])?)[^\\s"'\\\\&;#]{4,}`, 'gi'),
    mask: `=$1${MASK}`,
  },
  { hint: '://', pattern: /(:\/\/[^\s/@:"\\]*):[^\s/@"\\]+@/g, mask: `$1:${MASK}@` },
  {
    hint: '=',
    pattern: /([?&;][^=&;\s"\\]{0,60}(?:key|token|secret|passw|passwd|signature|sig)[^=&;\s"\\]{0,60}=)[^&;\s"\\#]+/gi,
    mask: `$1${MASK}`,
  },
  { hint: 'earer ', pattern: /(bearer) +(?:(?=\S*\d)[\w.~+/=-]{8,}|[\w.~+/=-]{20,})/gi, mask: `$1 ${MASK}` },
  { hint: 'asic ', pattern: /(basic) +(?=\S*\d)[\w+/]{12,}={0,2}/gi, mask: `$1 ${MASK}` },
  { hint: 'sk-', pattern: /(?:\b|(?<=\\[nrt]))sk-[\w-]{12,}/g, mask: MASK },
  { hint: 'sk_', pattern: /[sr]k_(?:live|test)_\w{8,}/g, mask: MASK },
  { hint: 'lsv2_', pattern: /lsv2_\w{8,}/g, mask: MASK },
  { hint: 'gh', pattern: /(?:gh[opsur]_\w{20,}|github_pat_\w{20,})/g, mask: MASK },
  { hint: 'glpat-', pattern: /glpat-[\w-]{16,}/g, mask: MASK },
  { hint: 'xox', pattern: /xox[abeprs]-[\w-]{8,}/g, mask: MASK },
  { hint: 'AIza', pattern: /AIza[\w-]{30,}/g, mask: MASK },
  { hint: 'AKIA', pattern: /AKIA[0-9A-Z]{16}\b/g, mask: MASK },
  { hint: 'eyJ', pattern: /eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g, mask: MASK },
  {
    hint: 'PRIVATE KEY-----',
    pattern: /-----BEGIN [A-Z ]*PRIVATE KEY-----[^"]*?(?:-----END [A-Z ]*PRIVATE KEY-----|(?="|$))/g,
    mask: MASK,
  },
];

/** Takes secrets out of what is recorded. */
export interface Scrubber {
  /** The text without what looks like a secret, and without the secrets that are known. */
  text(text: string, isJson?: boolean): string;
  /** Whether what stands under a name is a secret. */
  isSecret(name: string): boolean;
  readonly mask: string;
}

/** Makes a scrubber. @param known secrets of the configuration and the environment, to be taken out wherever they stand. */
export function createScrubber(known: Iterable<string>): Scrubber {
  const secrets = [...new Set([...known].flatMap(spellings))]
    .filter((secret) => secret.length >= SECRET_LENGTH)
    // One secret can be part of another.
    .sort((left, right) => right.length - left.length);
  const names = new Map<string, boolean>();
  return {
    mask: MASK,
    text(text, isJson = false) {
      let clean = text;
      for (const secret of secrets) if (clean.includes(secret)) clean = clean.replaceAll(secret, MASK);
      for (const { hint, plainOnly, pattern, mask } of PATTERNS) {
        if (isJson && plainOnly === true) continue;
        if (clean.includes(hint)) clean = clean.replace(pattern, mask);
      }
      return clean;
    },
    isSecret(name) {
      let secret = names.get(name);
      if (secret === undefined) {
        secret = SECRET_NAME.test(name);
        // Names come from a few schemas over and over, or from data without end.
        if (names.size < 1_000) names.set(name, secret);
      }
      return secret;
    },
  };
}

/** A secret as it may stand in texts: as it is, as JSON writes it, as a URL does. */
function spellings(secret: string): string[] {
  return [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret.replace(/\p{Surrogate}/gu, ''))];
}

/** The texts of a value that stand under secret-looking names, however deep. Prose is none, whatever it is called. */
export function secretsIn(value: unknown, isSecret = false): string[] {
  if (typeof value === 'string')
    return isSecret ? [value.replace(/^(?:bearer|basic|token)\s+/i, '')].filter(isOneWord) : [];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, entry]) => secretsIn(entry, isSecret || SECRET_NAME.test(name)));
}

function isOneWord(text: string): boolean {
  return !/\s/.test(text);
}
