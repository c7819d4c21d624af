const MASK = '***';
const SECRET_KEY = /key|token|secret|password|passwd|credential|authorization/i;
const URL_PASSWORD = /([a-z][a-z0-9+.-]*:\/\/[^\s:/@]*):[^\s@/]*@/gi;

/** A copy that is safe to show: values under secret-looking keys and passwords inside URLs are replaced. */
export function maskSecrets(value: unknown, key = ''): unknown {
  if (typeof value === 'string') {
    if (value !== '' && SECRET_KEY.test(key)) return MASK;
    return value.replace(URL_PASSWORD, `$1:${MASK}@`);
  }
  if (Array.isArray(value)) return value.map((entry) => maskSecrets(entry, key));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, maskSecrets(entry, name)]));
}
