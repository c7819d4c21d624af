import { rememberSecret, urlSecrets } from '../../outbound/secret-texts.ts';
import type { McpServerConfig } from './config.ts';

const SECRET_FLAG = /^--?[\w-]*(?:key|token|secret|pass(?:word|wd)?|credential|auth)[\w-]*(?:=(.+))?$/i;

/** What no message about a server may show. Servers repeat secrets whole, without their `Bearer`, and as URLs have them. */
export function secretsOf({ headers, env, url, args }: McpServerConfig): Set<string> {
  const secrets = new Set<string>();
  const texts = [...Object.values(headers), ...Object.values(env), ...urlSecrets(url ?? ''), ...flagged(args)];
  for (const text of texts) rememberSecret(text, secrets);
  return secrets;
}

/** What follows `--api-key`, or stands in `--api-key=…`. */
function flagged(args: readonly string[]): string[] {
  return args.flatMap((arg, index) => {
    const match = SECRET_FLAG.exec(arg);
    if (match === null) return [];
    return match[1] ?? args[index + 1] ?? [];
  });
}
