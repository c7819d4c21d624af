import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { parseEnv } from 'node:util';
import { z } from 'zod';
import { TARGET_RULE } from './outbound/targets.ts';

const flag = z.stringbool({
  truthy: ['true', '1', 'yes', 'on'],
  falsy: ['false', '0', 'no', 'off'],
  error: 'must be true or false',
});

function wholeNumber(min: number, max: number, unit?: string) {
  return z
    .string()
    .refine((text) => /^\d+$/.test(text) && Number(text) >= min && Number(text) <= max, {
      error: `must be a whole number ${unit === undefined ? '' : `of ${unit} `}from ${min} to ${max}`,
    })
    .transform(Number);
}

/** Comma-separated entries in lower case, each of which must match. */
function list(entry: RegExp, fault: string) {
  return z
    .string()
    .transform((text) =>
      text
        .split(',')
        .map((part) => part.trim().toLowerCase())
        .filter((part) => part !== ''),
    )
    .refine((entries) => entries.every((part) => entry.test(part)), fault);
}

/** `true` and `false` are words for the usual cases; link-local addresses must always be named. */
const targetRules = list(
  TARGET_RULE,
  'must be true, false, or loopback, private, addresses, ranges such as 10.0.0.0/8 and host names, separated by commas',
).transform((rules) => {
  const named = rules.filter((rule) => rule !== 'true' && rule !== 'false');
  return rules.includes('true') ? ['loopback', 'private', ...named] : named;
});

/** What can happen to a run on a thread that is busy. */
export const THREAD_POLICIES = ['reject', 'enqueue', 'interrupt', 'rollback'] as const;

export type ThreadPolicy = (typeof THREAD_POLICIES)[number];

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
  SERVICE_SECRET_KEY: z
    .string()
    .min(32, 'must have at least 32 characters')
    .optional()
    .describe(
      'Key that secrets in the database are encrypted with, 32 characters or more; unset, one is made beside the database.',
    ),
  SERVICE_ADMIN_AUTH_MODE: z
    .literal('none', 'must be none: password and sso are not supported by this version')
    .default('none')
    .describe("Who may administer. Only none is there yet, which is for a laptop: it asks nobody's name."),
  SERVICE_ALLOW_OPEN_ADMIN: flag
    .default(false)
    .describe('Allow mode none on an address that other machines can reach: true or false.'),
  SERVICE_ALLOWED_HOSTS: list(
    /^[a-z0-9._-]+(?::\d+)?$|^\[[0-9a-f:]+\](?::\d+)?$/,
    'must be host names such as agent.example.org, separated by commas, without http:// or a path',
  )
    .default([])
    .describe('Host names, besides loopback ones, the server answers to in mode none. Comma-separated.'),
  SERVICE_CORS_ORIGINS: list(
    /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#*]+$/,
    'must be origins such as https://chat.example.org, separated by commas, without a path and without *',
  )
    .default([])
    .describe('Origins whose pages may call the server, with credentials. Comma-separated.'),
  SERVICE_ALLOW_STDIO_MCP: flag
    .default(false)
    .describe('Allow admins to configure MCP servers that are programs on this machine: true or false.'),
  SERVICE_ALLOW_PRIVATE_TARGETS: targetRules
    .optional()
    .describe(
      'Where connection checks, MCP servers, exporters and the sign-on issuer may be besides the public internet: true, ' +
        'false, or loopback, private, addresses, ranges, host names, comma-separated. Unset: loopback in mode none.',
    ),
  SERVICE_RELOAD_TOKEN: z
    .string()
    .min(16, 'must have at least 16 characters')
    .optional()
    .describe('Bearer token that allows POST /reload from another machine; 16 characters or more.'),
  SERVICE_UI_DIR: z.string().optional().describe('Folder with an index.html, served at /.'),
  SERVICE_MANAGER_HOST: z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
    .optional()
    .describe('Manager to fetch the configuration from, with `agent serve --source manager`: an http or https URL.'),
  SERVICE_AGENT_API_KEY: z.string().optional().describe('Key this agent has at the manager.'),
  SERVICE_DRAIN_TIMEOUT_SECONDS: wholeNumber(0, 3600, 'seconds')
    .default(30)
    .describe('Seconds that running streams may go on after a reload or at shutdown.'),
  SERVICE_RUN_TIMEOUT_SECONDS: wholeNumber(0, 86400, 'seconds')
    .default(600)
    .describe('Seconds that a run may take; 0 for no limit.'),
  SERVICE_ON_DISCONNECT: z
    .enum(['continue', 'cancel'], 'must be continue or cancel')
    .default('continue')
    .describe('What a run does when its last reader loses the connection: continue or cancel.'),
  SERVICE_THREAD_POLICY: z
    .enum(THREAD_POLICIES, `must be ${THREAD_POLICIES.slice(0, -1).join(', ')} or ${THREAD_POLICIES.at(-1)}`)
    .default('reject')
    .describe(
      'What happens to a run on a thread that is busy: reject it, enqueue it, interrupt the running one, or rollback, ' +
        'which also forgets what that one did. forwardedProps.onBusy of a request overrides it.',
    ),
  SERVICE_THREAD_QUEUE_MAX: wholeNumber(1, 10_000)
    .default(16)
    .describe('Runs that may wait on one thread; another gets THREAD_BUSY.'),
  SERVICE_MAX_CONCURRENT_RUNS: wholeNumber(0, 1_000_000)
    .default(1000)
    .describe('Runs that may be under way at once; 0 for no limit.'),
  SERVICE_MAX_QUEUED_RUNS: wholeNumber(0, 1_000_000)
    .default(1000)
    .describe('Runs that may wait for one of those places; another gets 429.'),
  SERVICE_RUN_LOG_MAX_BYTES: wholeNumber(1_024, 1_073_741_824, 'bytes')
    .default(4_194_304)
    .describe(
      'About how many bytes of its events a run keeps for readers that come back; older ones become a snapshot.',
    ),
  SERVICE_RUN_LOGS_TOTAL_BYTES: wholeNumber(0, 68_719_476_736, 'bytes')
    .default(67_108_864)
    .describe('About how many bytes the events of all finished runs may take; the oldest go first.'),
  SERVICE_RUN_RETENTION_SECONDS: wholeNumber(0, 86_400, 'seconds')
    .default(300)
    .describe('Seconds that the events of a finished run are kept.'),
  SERVICE_RUN_HISTORY_DAYS: wholeNumber(0, 36_500, 'days')
    .default(30)
    .describe('Days that the list of runs goes back; 0 keeps all.'),
  SERVICE_HEARTBEAT_SECONDS: wholeNumber(1, 3600, 'seconds')
    .default(15)
    .describe('Seconds of silence after which a stream sends a comment that keeps the connection open.'),
  SERVICE_STREAM_BUFFER_BYTES: wholeNumber(65_536, 1_073_741_824, 'bytes')
    .default(4_194_304)
    .describe('Unsent bytes after which a reader that does not read is cut off.'),
  SERVICE_MAX_BODY_BYTES: wholeNumber(1_024, 1_073_741_824, 'bytes')
    .default(10_485_760)
    .describe('Bytes that a request body may have.'),
  SERVICE_TRACES_INPUT_VALUE_MAX_BYTES: wholeNumber(1_024, 16_777_216, 'bytes')
    .default(65_536)
    .describe('Bytes that an input, an output or another text on a span may have; longer ones are cut, and say so.'),
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
  if (!isLoopback(env.SERVICE_HOST) && !env.SERVICE_ALLOW_OPEN_ADMIN) {
    throw new EnvProblem([
      `SERVICE_HOST "${env.SERVICE_HOST}" would let other machines administer this server, since SERVICE_ADMIN_AUTH_MODE is none. ` +
        'Set SERVICE_HOST=127.0.0.1, or SERVICE_ALLOW_OPEN_ADMIN=true if something in front of it keeps strangers out.',
    ]);
  }
  const warnings = Object.keys(given)
    .filter((name) => name.startsWith('SERVICE_') && !(name in EnvSchema.shape))
    .map((name) => `${name} is not a setting of this server and does nothing`);
  const half = MANAGER.filter((name) => given[name] !== undefined);
  if (half.length === 1) warnings.push(`${half[0]} does nothing without ${MANAGER.find((name) => name !== half[0])}`);
  return { env, warnings };
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

/** The process's environment, completed by a `.env` file, which never overrides it. */
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
  return process.env;
}
