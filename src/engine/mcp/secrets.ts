import type { McpServerConfig } from './config.ts';

/** Texts shorter than this are no secrets; taking them out would only make messages unreadable. */
const SECRET_LENGTH = 4;

const SECRET_FLAG = /^--?[\w-]*(?:key|token|secret|pass(?:word|wd)?|credential|auth)[\w-]*(?:=(.+))?$/i;

/** What no message about a server may show. Servers repeat secrets whole, without their `Bearer`, and as URLs have them. */
export function secretsOf({ headers, env, url, args }: McpServerConfig): Set<string> {
  const secrets = new Set<string>();
  const texts = [...Object.values(headers), ...Object.values(env), ...urlSecrets(url ?? ''), ...flagged(args)];
  for (const text of texts) {
    for (const part of [text, ...text.split(/\s+/)]) {
      if (part.length < SECRET_LENGTH || (/^(?:bearer|basic)$/i.test(part) && part !== text)) continue;
      secrets.add(part);
      secrets.add(encodeURIComponent(part));
    }
  }
  return secrets;
}

function urlSecrets(text: string): string[] {
  if (!URL.canParse(text)) return [];
  const { username, password, searchParams } = new URL(text);
  const queried = [...searchParams].filter(([name]) => /key|token|secret|passw|sig/i.test(name));
  const given = password === '' ? username : password;
  return [given, safeDecode(given), ...queried.map(([, value]) => value)];
}

function safeDecode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** What follows `--api-key`, or stands in `--api-key=…`. */
function flagged(args: readonly string[]): string[] {
  return args.flatMap((arg, index) => {
    const match = SECRET_FLAG.exec(arg);
    if (match === null) return [];
    return match[1] ?? args[index + 1] ?? [];
  });
}
