import { readFileSync, writeFileSync } from 'node:fs';
import { hashSync } from 'bcryptjs';
import type { FastifyInstance, InjectOptions } from 'fastify';
import { expect, test } from 'vitest';
import type { RouteAccess } from '../../src/http/plugins/gate.ts';
import { ECHO } from '../support/agents.ts';
import { createTestApp } from '../support/app.ts';
import { type OidcProvider, startOidcProvider } from '../support/oidc.ts';

/*
 * Every route, in every mode, by every kind of caller: what it is answered. The table stands in docs/security.md, and a
 * route that is new, or answers otherwise than it did, fails here until somebody has looked at it:
 * `UPDATE_DOCS=1 npx vitest run test/pins/security-table.test.ts` writes it anew.
 */

const DOCS = new URL('../../docs/security.md', import.meta.url);
const [BEGIN, END] = ['<!-- routes: begin -->', '<!-- routes: end -->'];

const PASSWORD = 'correct horse';
const KEYS = {
  runtime: 'runtime-key-0123456789',
  read: 'admin-read-key-0123456789',
  write: 'admin-write-key-0123456789',
};
const BASE = {
  SERVICE_API_KEYS: `${KEYS.runtime}, r=${KEYS.read}@admin:read, w=${KEYS.write}@admin:write`,
  SERVICE_ALLOW_PRIVATE_TARGETS: 'loopback',
};
const PASSWORD_MODE = {
  ...BASE,
  SERVICE_ADMIN_AUTH_MODE: 'password',
  SERVICE_SESSION_SECRET: 's'.repeat(32),
  SERVICE_ADMIN_PASSWORD_HASH: hashSync(PASSWORD, 4),
};

interface Mode {
  title: string;
  env: (provider: OidcProvider) => Record<string, string>;
  /** Whether the stored SSO configuration is enabled. */
  signOn?: boolean;
}

const ssoMode = ({ issuer }: OidcProvider) => ({
  ...BASE,
  SERVICE_ADMIN_AUTH_MODE: 'sso',
  SERVICE_ADMIN_OIDC_ISSUER: issuer,
  SERVICE_ADMIN_OIDC_CLIENT_ID: 'agent',
  SERVICE_ADMIN_ALLOWED_EMAILS: 'admin@example.org',
});

const MODES: Mode[] = [
  { title: 'Mode `none`', env: () => BASE },
  { title: 'Mode `none`, SSO enabled', env: () => BASE, signOn: true },
  { title: 'Mode `password`', env: () => PASSWORD_MODE },
  { title: 'Mode `password`, SSO enabled', env: () => PASSWORD_MODE, signOn: true },
  {
    title: 'Mode `password`, `SERVICE_REQUIRE_API_KEY=true`',
    env: () => ({ ...PASSWORD_MODE, SERVICE_REQUIRE_API_KEY: 'true' }),
  },
  { title: 'Mode `sso`', env: ssoMode },
  { title: 'Mode `sso`, SSO enabled', env: ssoMode, signOn: true },
];

const CALLERS = [
  'anonymous',
  'cookie',
  'wrong cookie',
  'key runtime',
  'key admin:read',
  'key admin:write',
  'user token',
  'admin token',
] as const;
type CallerName = (typeof CALLERS)[number];

interface Route {
  method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  url: string;
  access: RouteAccess;
}

test.each(MODES)(
  '$title: every route answers every caller as docs/security.md says',
  { timeout: 60_000 },
  async (mode) => {
    const provider = await startOidcProvider();
    const { app } = await createTestApp({
      files: { 'agent.ts': ECHO, 'config.yaml': configFile(provider, mode.signOn === true) },
      env: mode.env(provider),
    });
    await app.ready();
    const routes = app.allRoutes
      .filter(({ method }) => typeof method === 'string' && method !== 'HEAD' && method !== 'OPTIONS')
      .map(({ method, url, config }) => ({ method, url, access: config?.access }) as Route);
    const callers: Record<CallerName, () => Promise<Record<string, string>>> = {
      anonymous: async () => ({}),
      cookie: async () => ({ cookie: await logIn(app) }),
      'wrong cookie': async () => ({ cookie: `service_session=${'x'.repeat(43)}.abc.${'y'.repeat(43)}` }),
      'key runtime': async () => ({ 'x-api-key': KEYS.runtime }),
      'key admin:read': async () => ({ 'x-api-key': KEYS.read }),
      'key admin:write': async () => ({ authorization: `Bearer ${KEYS.write}` }),
      'user token': async () => ({ authorization: `Bearer ${await provider.token({ email: 'user@example.org' })}` }),
      'admin token': async () => ({ authorization: `Bearer ${await provider.token({ email: 'admin@example.org' })}` }),
    };
    const rows: string[] = [];
    for (const route of routes.sort(byAddress)) {
      const cells: number[] = [];
      for (const name of CALLERS) {
        const { statusCode } = await app.inject(requestFor(route, await callers[name]()));
        expect(statusCode, `${route.method} ${route.url} for ${name}`).not.toBe(500);
        cells.push(statusCode);
      }
      rows.push(`| \`${route.method} ${route.url}\` | ${cells.join(' | ')} |`);
      // What the table must never say, whoever has written it.
      if (route.access === 'admin' && !mode.title.includes('none')) expect(cells[0], route.url).toBe(401);
      if (route.access === 'runtime' && mode.signOn === true) expect(cells[0], route.url).toBe(401);
    }
    const table = [
      `### ${mode.title}`,
      '',
      `| Route | ${CALLERS.join(' | ')} |`,
      `|---|${CALLERS.map(() => '---').join('|')}|`,
      ...rows,
      '',
    ].join('\n');
    if (process.env.UPDATE_DOCS === '1') update(mode.title, table);
    const documented = readFileSync(DOCS, 'utf8');
    expect(sectionOf(documented, mode.title)).toBe(table);
  },
);

function configFile({ issuer }: OidcProvider, signOn: boolean): string {
  const sso = `sso: { enabled: ${signOn}, issuer: "${issuer}", client_id: agent }`;
  return `agent: { type: LANGGRAPH, config: { name: desk, graph_definition: "agent.ts:graph" } }\n${sso}\n`;
}

async function logIn(app: FastifyInstance): Promise<string> {
  const response = await app.inject({
    method: 'POST',
    url: '/admin/api/v1/auth/login',
    payload: { password: PASSWORD },
  });
  return String(response.headers['set-cookie'] ?? '').split(';')[0] ?? '';
}

/** A request that asks for nothing to be changed: whoever gets in is told that there is no such thing, or what is missing. */
function requestFor({ method, url }: Route, headers: Record<string, string>): InjectOptions {
  const path = url
    .replace(/:number/g, '1')
    .replace(/:(?:run_id|thread_id|session_id)/g, 'no-such')
    .replace(/:\w+/g, '7f9c1b5e-3a5d-4c57-9d38-2f6f4b8f0c11')
    .replace('*', 'no-such.txt');
  // A revision nobody has: what would change something is refused, once the caller is in.
  const common = { ...headers, origin: 'http://localhost', 'if-match': '999999' };
  return {
    method,
    url: path,
    headers: common,
    ...(method !== 'GET' && method !== 'DELETE' && { payload: {} }),
  };
}

function byAddress(left: Route, right: Route): number {
  return left.url.localeCompare(right.url) || left.method.localeCompare(right.method);
}

function sectionOf(text: string, title: string): string | undefined {
  const part = text.slice(text.indexOf(BEGIN), text.indexOf(END));
  const start = part.indexOf(`### ${title}\n`);
  if (start < 0) return undefined;
  const next = part.indexOf('### ', start + 4);
  return part.slice(start, next < 0 ? undefined : next).replace(/\n*$/, '\n');
}

function update(title: string, table: string): void {
  const text = readFileSync(DOCS, 'utf8');
  const old = sectionOf(text, title);
  writeFileSync(DOCS, old === undefined ? text.replace(END, `${table}\n${END}`) : text.replace(old, table));
}
