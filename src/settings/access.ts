import { isIP } from 'node:net';
import { z } from 'zod';
import { TARGET_RULE } from '../outbound/targets.ts';
import { flag, list, wholeNumber } from './fields.ts';

/** How admins are told from others. */
export const AUTH_MODES = ['none', 'password', 'sso'] as const;

/** What a key may do. `admin:write` may read, too. */
export const SCOPES = ['runtime', 'admin:read', 'admin:write'] as const;

export type Scope = (typeof SCOPES)[number];

/** A key that the settings bring. */
export interface ConfiguredKey {
  name: string;
  key: string;
  scopes: Scope[];
}

const SCOPE = SCOPES.join('|');
const KEY_ENTRY = new RegExp(`^(?:([\\w.-]{1,64})=)?([\\w.~+/-]{16,512}=*)(?:@((?:${SCOPE})(?:\\+(?:${SCOPE}))*))?$`);

const apiKeyEntries = z.string().transform((text, context): ConfiguredKey[] => {
  const entries = text.split(',').map((part) => part.trim());
  return entries
    .filter((entry) => entry !== '')
    .map((entry, index) => {
      const [, name, key, scopes] = KEY_ENTRY.exec(entry) ?? [];
      if (key === undefined) {
        const message = `must be entries name=key@scope+scope, separated by commas, each key of 16 characters or more: entry ${index + 1} is none`;
        context.addIssue({ code: 'custom', message });
      }
      return {
        name: name ?? `key-${index + 1}`,
        key: key ?? '',
        scopes: (scopes?.split('+') ?? ['runtime']) as Scope[],
      };
    });
});

const NAMED_NETWORKS = ['loopback', 'linklocal', 'uniquelocal'];

const trustedProxies = z.string().transform((text, context): number | string[] | false => {
  const value = text.toLowerCase();
  if (value === 'false' || value === '0') return false;
  // The proxy that connects, and no other: what further ones say can be made up.
  if (value === 'true') return 1;
  if (/^\d{1,2}$/.test(value)) return Number(value);
  const entries = value.split(',').map((part) => part.trim());
  const known = entries.every((entry) => NAMED_NETWORKS.includes(entry) || isIP(entry.replace(/\/\d{1,3}$/, '')) !== 0);
  if (!known) {
    const message =
      'must be true, false, the number of proxies in front, or their addresses and ranges, separated by commas';
    context.addIssue({ code: 'custom', message });
  }
  return entries;
});

/** `true` and `false` are words for the usual cases; link-local addresses must always be named. */
const targetRules = list(
  TARGET_RULE,
  'must be true, false, or loopback, private, addresses, ranges such as 10.0.0.0/8 and host names, separated by commas',
).transform((rules) => {
  const named = rules.filter((rule) => rule !== 'true' && rule !== 'false');
  return rules.includes('true') ? ['loopback', 'private', ...named] : named;
});

/** Settings that say who may call, and whom the server may call. */
export const accessSettings = {
  SERVICE_SECRET_KEY: z
    .string()
    .min(32, 'must have at least 32 characters')
    .optional()
    .describe(
      'Key that secrets in the database are encrypted with, 32 characters or more; unset, one is made beside the database.',
    ),
  SERVICE_ADMIN_AUTH_MODE: z
    .enum(AUTH_MODES, 'must be none, password or sso')
    .default('none')
    .describe(
      'Who may administer: none asks nobody and is for a laptop; password asks for one; sso for a token of your provider.',
    ),
  SERVICE_ADMIN_PASSWORD_HASH: z
    .string()
    .regex(/^\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}$/, 'must be a bcrypt hash, as agent-engine hash-password prints it')
    .optional()
    .describe('First password of the admin in mode password, as agent-engine hash-password prints it; later ignored.'),
  SERVICE_SESSION_SECRET: z
    .string()
    .min(32, 'must have at least 32 characters')
    .optional()
    .describe('Key that session cookies are signed with in mode password, 32 characters or more.'),
  SERVICE_SESSION_TTL_HOURS: wholeNumber(1, 720, 'hours')
    .default(24)
    .describe('Hours after a login that it must be repeated.'),
  SERVICE_ADMIN_OIDC_ISSUER: z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
    .optional()
    .describe('Issuer of admin tokens in mode sso while no SSO configuration is enabled.'),
  SERVICE_ADMIN_OIDC_CLIENT_ID: z
    .string()
    .optional()
    .describe('Client id that admin tokens of that issuer are meant for (their aud).'),
  SERVICE_ADMIN_ALLOWED_EMAILS: list(/^(?:\*|[^\s@]+@[^\s@]+)$/, 'must be e-mail addresses or *, separated by commas')
    .default([])
    .describe('E-mail addresses that may administer in mode sso; * for anyone the issuer knows. Comma-separated.'),
  SERVICE_ADMIN_ALLOWED_DOMAINS: list(
    /^(?:\*|[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)$/,
    'must be domains such as example.org or *, separated by commas',
  )
    .default([])
    .describe('E-mail domains that may administer in mode sso; * for anyone the issuer knows. Comma-separated.'),
  SERVICE_API_KEYS: apiKeyEntries
    .default([])
    .describe(
      'Keys of programs: key, or name=key, or name=key@scope+scope with runtime, admin:read, admin:write. Comma-separated.',
    ),
  SERVICE_REQUIRE_API_KEY: flag
    .default(false)
    .describe('Whether /agent/* needs an API key or a sign-on token: true or false.'),
  SERVICE_TRUST_PROXY: trustedProxies
    .default(false)
    .describe(
      'Proxies that say who the client is: false, true for one in front, their number, or their addresses and ranges.',
    ),
  SERVICE_ALLOW_OPEN_ADMIN: flag
    .default(false)
    .describe('Allow mode none on an address that other machines can reach: true or false.'),
  SERVICE_ALLOWED_HOSTS: list(
    /^[a-z0-9._-]+(?::\d+)?$|^\[[0-9a-f:]+\](?::\d+)?$/,
    'must be host names such as agent.example.org, separated by commas, without http:// or a path',
  )
    .default([])
    .describe(
      'Host names, besides loopback ones, the server answers to. Comma-separated. Unset: none in mode none, else any.',
    ),
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
    .describe('Bearer token that allows POST /reload from another machine in mode none; 16 characters or more.'),
  SERVICE_CONTENT_SECURITY_POLICY: z
    .string()
    .regex(/^[\x20-\x7e]+$/, 'must be one line of text')
    .optional()
    .describe(
      'Content security policy of the pages under SERVICE_UI_DIR, instead of one that keeps them to this server.',
    ),
};
