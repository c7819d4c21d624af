import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { z } from 'zod';

const flag = z
  .enum(['true', 'false', '1', '0'], 'must be true or false')
  .transform((text) => text === 'true' || text === '1');

function wholeNumber(unit: string, min: number, max: number) {
  return z
    .string()
    .refine((text) => /^\d+$/.test(text) && Number(text) >= min && Number(text) <= max, {
      error: `must be a whole number of ${unit} from ${min} to ${max}`,
    })
    .transform(Number);
}

const list = z.string().transform((text) =>
  text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== ''),
);

/** Every setting of the server, read from the environment and `.env`. The only reader of either. */
export const EnvSchema = z.object({
  SERVICE_HOST: z.string().default('127.0.0.1').describe('Address to listen on.'),
  SERVICE_PORT: wholeNumber('port numbers', 0, 65535)
    .optional()
    .describe('Port to listen on; before the config file, which is before 8000.'),
  SERVICE_CONFIG_PATH: z.string().default('./config.yaml').describe('Configuration file that names the agent.'),
  DATABASE_URL: z
    .string()
    .startsWith('sqlite:///', 'must start with sqlite:/// (PostgreSQL is not supported by this version)')
    .default('sqlite:///./data/service.db')
    .describe("The server's own database."),
  SERVICE_ADMIN_AUTH_MODE: z
    .literal('none', 'must be none: password and sso are not supported by this version')
    .default('none')
    .describe('Who may administer. none is for a laptop: it answers loopback callers.'),
  SERVICE_ALLOW_OPEN_ADMIN: flag.default(false).describe('Allow mode none on an address others can reach.'),
  SERVICE_ALLOWED_HOSTS: list
    .default([])
    .describe('Host names, besides loopback ones, the server answers to in mode none. Comma-separated.'),
  SERVICE_CORS_ORIGINS: list
    .default([])
    .describe('Origins whose pages may call the server, with credentials. Comma-separated.'),
  SERVICE_RELOAD_TOKEN: z
    .string()
    .min(16, 'must have at least 16 characters')
    .optional()
    .describe('Bearer token that allows POST /reload from another machine.'),
  SERVICE_UI_DIR: z.string().optional().describe('Folder with an index.html, served at /.'),
  SERVICE_MANAGER_HOST: z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
    .optional()
    .describe('Manager to fetch the configuration from.'),
  SERVICE_AGENT_API_KEY: z.string().optional().describe('Key this agent has at the manager.'),
  SERVICE_DRAIN_TIMEOUT_SECONDS: wholeNumber('seconds', 0, 3600)
    .default(30)
    .describe('How long running streams may go on after a reload or at shutdown.'),
  SERVICE_RUN_TIMEOUT_SECONDS: wholeNumber('seconds', 0, 86400)
    .default(600)
    .describe('Longest a run may take; 0 for no limit.'),
  SERVICE_HEARTBEAT_SECONDS: wholeNumber('seconds', 1, 3600)
    .default(15)
    .describe('Silence after which a stream sends a comment to keep the connection open.'),
  SERVICE_STREAM_BUFFER_BYTES: wholeNumber('bytes', 65_536, 1_073_741_824)
    .default(4_194_304)
    .describe('Unsent bytes after which a reader that does not read is cut off.'),
  SERVICE_MAX_BODY_BYTES: wholeNumber('bytes', 1_024, 1_073_741_824)
    .default(10_485_760)
    .describe('Largest request body.'),
  SERVICE_LOG_LEVEL: z
    .enum(
      ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
      'must be trace, debug, info, warn, error, fatal or silent',
    )
    .default('info')
    .describe('Least level that is logged.'),
});

/** Settings of one server. */
export type Env = z.infer<typeof EnvSchema>;

/** Name of a setting. */
export type EnvName = keyof Env;

/** Settings whose value is never shown. */
const SECRET_SETTINGS: ReadonlySet<string> = new Set<EnvName>([
  'SERVICE_RELOAD_TOKEN',
  'SERVICE_AGENT_API_KEY',
  'DATABASE_URL',
]);

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
 * @returns the settings, and warnings about `SERVICE_*` names that are none.
 * @throws EnvProblem with one line per bad value, and for settings that do not go together.
 */
export function readEnv(variables: Readonly<Record<string, string | undefined>>): { env: Env; warnings: string[] } {
  const given: Record<string, string> = {};
  for (const [name, value] of Object.entries(variables)) {
    if (value === undefined || value === '') continue;
    const upper = name.toUpperCase();
    // Names are case-insensitive; the exact spelling wins over another.
    if (name === upper || given[upper] === undefined) given[upper] = value.trim();
  }
  const parsed = EnvSchema.safeParse(given);
  if (!parsed.success) {
    throw new EnvProblem(
      parsed.error.issues.map((issue) => {
        const name = String(issue.path[0]);
        const shown = SECRET_SETTINGS.has(name) ? '' : ` "${given[name] ?? ''}"`;
        return `${name}${shown} ${issue.message}. ${EnvSchema.shape[name as EnvName].description ?? ''}`.trim();
      }),
    );
  }
  const env = parsed.data;
  if (!isLoopback(env.SERVICE_HOST) && !env.SERVICE_ALLOW_OPEN_ADMIN) {
    throw new EnvProblem([
      `SERVICE_HOST "${env.SERVICE_HOST}" would let other machines administer this server, since SERVICE_ADMIN_AUTH_MODE is none. ` +
        'Set SERVICE_HOST=127.0.0.1, or SERVICE_ALLOW_OPEN_ADMIN=true if something in front of it keeps strangers out.',
    ]);
  }
  const unknown = Object.keys(given).filter((name) => name.startsWith('SERVICE_') && !(name in EnvSchema.shape));
  return { env, warnings: unknown.map((name) => `${name} is not a setting of this server and does nothing`) };
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

/** The process's environment, completed by a `.env` file, which never overrides it. */
export function processVariables(dotenvPath: string): Record<string, string | undefined> {
  let fromFile: Record<string, string | undefined> = {};
  try {
    fromFile = parseEnv(readFileSync(dotenvPath, 'utf8')) as Record<string, string | undefined>;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
      throw new EnvProblem([`${dotenvPath} cannot be read. Mend its permissions, or remove it.`]);
  }
  // Agent code and provider packages read their keys from the process's environment.
  for (const [name, value] of Object.entries(fromFile)) process.env[name] ??= value;
  return process.env;
}
