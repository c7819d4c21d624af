/** Texts shorter than this are no secrets; taking them out would only make messages unreadable. */
const SECRET_LENGTH = 4;

/** Adds a secret in the forms others repeat it in: whole, without its `Bearer`, and as it stands in URLs. */
export function rememberSecret(secret: string, secrets: Set<string>): void {
  for (const part of [secret, ...secret.split(/\s+/)]) {
    if (part.length < SECRET_LENGTH || (/^(?:bearer|basic)$/i.test(part) && part !== secret)) continue;
    secrets.add(part);
    secrets.add(encodeURIComponent(part));
  }
}

/** The secrets in a URL: its credentials, and what its query calls a key. */
export function urlSecrets(text: string): string[] {
  if (!URL.canParse(text)) return [];
  const { username, password, searchParams } = new URL(text);
  const queried = [...searchParams].filter(([name]) => /key|token|secret|passw|sig/i.test(name));
  // A name before a password is shown; one by itself is a token.
  const given = password === '' ? username : password;
  return [given, decoded(given), ...queried.map(([, value]) => value)];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
