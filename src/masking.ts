/** Stands for a secret in everything that is read; written back it means "as it was". */
export const MASK = '***';
const SECRET_KEY = /key|token|secret|password|passwd|credential|authorization|cookie/i;
const URL_CREDENTIALS = /([a-z][a-z0-9+.-]*:\/\/)([^\s/@]+)@/gi;
const SECRET_QUERY = /([?&][^=&\s]*(?:key|token|secret|password|passwd|signature|sig)[^=&\s]*=)[^&\s#]+/gi;

/**
 * A copy that is safe to show: what stands under a secret-looking key is replaced whole, and so are credentials and
 * secret-looking query values inside URLs, wherever they stand in a text.
 */
export function maskSecrets(value: unknown, secret = false): unknown {
  if (typeof value === 'string') return secret && value !== '' ? MASK : maskText(value);
  if (Array.isArray(value)) return value.map((entry) => maskSecrets(entry, secret));
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).map(([key, entry]) => [
      key,
      maskSecrets(entry, secret || SECRET_KEY.test(key)),
    ]);
    return Object.fromEntries(entries);
  }
  // `max_tokens: 100` is a setting, `password: 12345678` is not; short numbers are no secrets.
  return secret && typeof value === 'number' && value >= 10_000 ? MASK : value;
}

function maskText(text: string): string {
  return text
    .replace(URL_CREDENTIALS, (_, scheme: string, credentials: string) => {
      const colon = credentials.indexOf(':');
      return colon < 0 ? `${scheme}${MASK}@` : `${scheme}${credentials.slice(0, colon)}:${MASK}@`;
    })
    .replace(SECRET_QUERY, `$1${MASK}`);
}
