import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { parseEnv } from 'node:util';
import { z } from 'zod';
import { accessSettings } from './settings/access.ts';
import { wholeNumber } from './settings/fields.ts';
import { limitSettings } from './settings/limits.ts';

/** Every setting of the server, read from the environment and `.env`. The only reader of either. */
export const EnvSchema = z.object({
  SERVICE_HOST: z
    .string()
    .refine(
      (text) => isIP(text) !== 0 || /^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/i.test(text),
      'must be an IP address or a host name, without http:// and without a port',
    )
    .default('127.0.0.1')
    .describe('Address to listen on.'),
  SERVICE_PORT: wholeNumber(0, 65535)
    .optional()
    .describe('Port to listen on; 0 takes a free one. When unset, the configuration file decides, else it is 8000.'),
  SERVICE_CONFIG_PATH: z.string().default('./config.yaml').describe('Configuration file that names the agent.'),
  DATABASE_URL: z
    .string()
    .startsWith('sqlite:///', 'must start with sqlite:/// (PostgreSQL is not supported by this version)')
    .default('sqlite:///./data/service.db')
    .describe("The server's own database: a file, relative to the working directory (four slashes: absolute)."),
  ...accessSettings,
  SERVICE_UI_DIR: z.string().optional().describe('Folder with an index.html, served at /.'),
  SERVICE_MANAGER_HOST: z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
    .optional()
    .describe('Manager to fetch the configuration from, with `agent serve --source manager`: an http or https URL.'),
  SERVICE_AGENT_API_KEY: z.string().optional().describe('Key this agent has at the manager.'),
  ...limitSettings,
  SERVICE_LOG_LEVEL: z
    .enum(
      ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
      'must be trace, debug, info, warn, error, fatal or silent',
    )
    .default('info')
    .describe('Least level that is logged: trace, debug, info, warn, error, fatal or silent.'),
});

/** Settings of one server. */
export type Env = z.infer<typeof EnvSchema>;

/** Name of a setting. */
export type EnvName = keyof Env;

/** Settings whose value is never shown. */
const SECRET_SETTINGS: ReadonlySet<string> = new Set<EnvName>([
  'SERVICE_SECRET_KEY',
  'SERVICE_SESSION_SECRET',
  'SERVICE_ADMIN_PASSWORD_HASH',
  'SERVICE_API_KEYS',
  'SERVICE_RELOAD_TOKEN',
  'SERVICE_AGENT_API_KEY',
  'DATABASE_URL',
]);

/** Settings that only work together. */
const MANAGER = ['SERVICE_MANAGER_HOST', 'SERVICE_AGENT_API_KEY'] as const satisfies EnvName[];

/** Why the server does not start: one line per setting, each with its name, the fault and the way to mend it. */
export class EnvProblem extends Error {
  override name = 'EnvProblem';
  readonly lines: string[];

  constructor(lines: string[]) {
    super(lines.join('\n'));
    this.lines = lines;
  }
}

/**
 * Reads the settings out of an environment; an empty value counts as unset.
 *
 * @returns the settings, and warnings about names and combinations that do nothing.
 * @throws EnvProblem with one line per bad value, and for settings that do not go together.
 */
export function readEnv(variables: Readonly<Record<string, string | undefined>>): { env: Env; warnings: string[] } {
  const given: Record<string, string> = {};
  for (const [name, value] of Object.entries(variables)) {
    const text = value?.trim();
    if (text === undefined || text === '') continue;
    const upper = name.toUpperCase();
    // Names are case-insensitive; the exact spelling wins over another.
    if (name === upper || given[upper] === undefined) given[upper] = text;
  }
  const parsed = EnvSchema.safeParse(given);
  if (!parsed.success) {
    const faults = new Map<EnvName, string>();
    for (const { path, message } of parsed.error.issues) {
      const name = path[0] as EnvName;
      if (!faults.has(name)) faults.set(name, message);
    }
    throw new EnvProblem([...faults].map(([name, message]) => faultLine(name, given[name] ?? '', message)));
  }
  const env = parsed.data;
  const faults = accessFaults(env);
  if (faults.length > 0) throw new EnvProblem(faults);
  const warnings = Object.keys(given)
    .filter((name) => name.startsWith('SERVICE_') && !(name in EnvSchema.shape))
    .map((name) => `${name} is not a setting of this server and does nothing`);
  const half = MANAGER.filter((name) => given[name] !== undefined);
  if (half.length === 1) warnings.push(`${half[0]} does nothing without ${MANAGER.find((name) => name !== half[0])}`);
  if (env.SERVICE_RELOAD_TOKEN !== undefined && env.SERVICE_ADMIN_AUTH_MODE !== 'none') {
    const instead = 'give the caller an API key with the scope admin:write';
    warnings.push(`SERVICE_RELOAD_TOKEN does nothing in mode ${env.SERVICE_ADMIN_AUTH_MODE}: ${instead}`);
  }
  return { env, warnings };
}

/** What each way of telling who is an admin cannot do without. */
function accessFaults(env: Env): string[] {
  const faults: string[] = [];
  switch (env.SERVICE_ADMIN_AUTH_MODE) {
    case 'none':
      if (!isLoopback(env.SERVICE_HOST) && !env.SERVICE_ALLOW_OPEN_ADMIN) {
        faults.push(
          `SERVICE_HOST "${env.SERVICE_HOST}" would let other machines administer this server, since SERVICE_ADMIN_AUTH_MODE is none. ` +
            'Set SERVICE_HOST=127.0.0.1, or SERVICE_ADMIN_AUTH_MODE=password or sso, or SERVICE_ALLOW_OPEN_ADMIN=true if something in ' +
            'front of it keeps strangers out.',
        );
      }
      break;
    case 'password':
      if (env.SERVICE_SESSION_SECRET === undefined) {
        const how = `node -e "console.log(crypto.randomBytes(32).toString('base64'))"`;
        faults.push(`SERVICE_SESSION_SECRET is needed in mode password. Set it to a random text, such as of: ${how}`);
      }
      break;
    case 'sso':
      if (env.SERVICE_ADMIN_ALLOWED_EMAILS.length + env.SERVICE_ADMIN_ALLOWED_DOMAINS.length === 0) {
        faults.push(
          'SERVICE_ADMIN_ALLOWED_EMAILS or SERVICE_ADMIN_ALLOWED_DOMAINS is needed in mode sso: it says who may administer. ' +
            'Name addresses or domains, or set one of them to * for anyone the issuer knows.',
        );
      }
      if ((env.SERVICE_ADMIN_OIDC_ISSUER === undefined) !== (env.SERVICE_ADMIN_OIDC_CLIENT_ID === undefined)) {
        faults.push(
          'SERVICE_ADMIN_OIDC_ISSUER and SERVICE_ADMIN_OIDC_CLIENT_ID need each other. Set both, or neither.',
        );
      }
      break;
  }
  return faults;
}

/** One line: which setting, what it is, what it must be, and what to do. */
function faultLine(name: EnvName, value: string, message: string): string {
  const shown = SECRET_SETTINGS.has(name) ? '' : ` is ${quoted(value)} but`;
  const fallback = envDefault(name);
  return `${name}${shown} ${message}. Correct it, or remove it${fallback === '' ? '' : ` to get ${fallback}`}.`;
}

/** A value in one line of bearable length, without a password that a URL may carry. */
function quoted(value: string): string {
  const text = value.length > 80 ? `${value.slice(0, 80)}…` : value;
  return JSON.stringify(text.replace(/\/\/[^@/]*@/, '//***@'));
}

/** What a setting is when unset, in the spelling of the environment; empty for nothing. */
export function envDefault(name: EnvName): string {
  return String(EnvSchema.parse({})[name] ?? '');
}

/** Whether an address or host name only means this machine. */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[|\]$/g, '');
  return (
    name === 'localhost' ||
    name.endsWith('.localhost') ||
    name === '::1' ||
    /^127(?:\.\d{1,3}){3}$/.test(name) ||
    /^::ffff:127\./.test(name)
  );
}

/** The process's environment, completed by a `.env` file, which never overrides it, and by what agents need. */
export function processVariables(dotenvPath: string): Record<string, string | undefined> {
  let fromFile: Record<string, string | undefined> = {};
  try {
    fromFile = parseEnv(readFileSync(dotenvPath, 'utf8')) as Record<string, string | undefined>;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
      throw new EnvProblem([`${dotenvPath} cannot be read. Mend its permissions, or remove it.`]);
  }
  const taken = new Set(Object.keys(process.env).map((name) => name.toUpperCase()));
  for (const [name, value] of Object.entries(fromFile)) {
    // A setting has the same meaning in every spelling, so the environment's wins in any.
    if (name.toUpperCase() in EnvSchema.shape && taken.has(name.toUpperCase())) continue;
    // Agent code and provider packages read their keys from the process's environment.
    process.env[name] ??= value;
  }
  // LangChain calls the callback handlers of all runs one after the other in the background, each in the context of the
  // one before: `currentUser()` would name another user. Handlers that are awaited are called in their own run's.
  process.env.LANGCHAIN_CALLBACKS_BACKGROUND ??= 'false';
  return process.env;
}
