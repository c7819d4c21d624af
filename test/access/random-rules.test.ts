import type { FastifyInstance } from 'fastify';
import { expect, test } from 'vitest';
import { withAgent } from '../admin/support.ts';
import { type OidcProvider, startOidcProvider } from '../support/oidc.ts';
import { randomFrom } from '../support/random.ts';
import { type Headers, login, PASSWORD, PASSWORD_ENV, seat, tokenOf } from './support.ts';

const ROOT = 'root@example.org';
const EMAILS = [ROOT, 'ana@example.org', 'bob@other.org'];
const OPERATOR = 'operator-key-of-more-than-16';
const SCOPES = ['runtime', 'admin:read', 'admin:write'];

/** What the rules are, as somebody reads them who has only followed what was written. */
interface Rules {
  mode: string;
  requireApiKey: boolean;
  /** The stored configuration if it is enabled: which provider, and who may enter. */
  sso: { provider: number; emails: string[] | null; domains: string[] | null } | undefined;
}

/** Somebody who calls, and what is true of them. */
interface Person {
  headers: Headers;
  token?: { provider: number; email: string };
  key?: { scopes: string[]; isGood: boolean };
  session?: { isGood: boolean };
}

type Route = 'runtime' | 'admin:read' | 'admin:write';

function mayCall({ mode, requireApiKey, sso }: Rules, { token, key, session }: Person, route: Route): boolean {
  if (key !== undefined && !key.isGood) return false;
  const holds = (scope: string): boolean =>
    key !== undefined && (key.scopes.includes(scope) || (scope === 'admin:read' && key.scopes.includes('admin:write')));
  if (route !== 'runtime') {
    if (mode === 'none' || holds(route)) return true;
    if (key !== undefined) return false;
    if (mode === 'password') return session?.isGood === true;
    return token?.provider === (sso?.provider ?? 0) && token.email === ROOT;
  }
  if (sso !== undefined) {
    if (key !== undefined) return holds('runtime');
    if (token?.provider !== sso.provider) return false;
    if (sso.emails === null && sso.domains === null) return true;
    const domain = token.email.split('@')[1] ?? '';
    return (sso.emails ?? []).includes(token.email) || (sso.domains ?? []).includes(domain);
  }
  if (key !== undefined) return !requireApiKey || holds('runtime');
  if (token !== undefined && mode === 'sso') return token.provider === 0;
  return !requireApiKey;
}

async function statusOf(app: FastifyInstance, { headers }: Person, route: Route): Promise<number> {
  const caller = seat(app, headers);
  if (route === 'runtime') return (await caller.get('//agent/capabilities')).status;
  // An empty change writes nothing, but one must be allowed to make it.
  return (await (route === 'admin:read' ? caller.get('/agent') : caller.patch('/agent', {}))).status;
}

async function peopleOf(providers: OidcProvider[]): Promise<Person[]> {
  const people: Person[] = [{ headers: {} }, { headers: { 'x-service-user-id': ROOT } }];
  for (const [provider, known] of providers.entries()) {
    for (const email of EMAILS) people.push({ headers: await tokenOf(known, email), token: { provider, email } });
  }
  return people;
}

const CASES = [
  { mode: 'none', requireApiKey: true },
  { mode: 'password', requireApiKey: false },
  { mode: 'password', requireApiKey: true },
  { mode: 'sso', requireApiKey: false },
  { mode: 'sso', requireApiKey: true },
].map((known, index) => ({ ...known, seed: 7_000 + index }));

test.each(CASES)('whatever is configured in whatever order, who may not call does not: %j', async (settings) => {
  const { mode, requireApiKey, seed } = settings;
  const random = randomFrom(seed);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const some = <T>(list: readonly T[]): T[] => list.filter(() => random() < 0.5);
  const providers = [
    await startOidcProvider({ algorithms: ['ES256'] }),
    await startOidcProvider({ algorithms: ['ES256'] }),
  ];
  const { app } = await withAgent({
    env: {
      ...PASSWORD_ENV,
      SERVICE_ADMIN_AUTH_MODE: mode,
      SERVICE_ADMIN_ALLOWED_EMAILS: ROOT,
      SERVICE_ADMIN_OIDC_ISSUER: providers[0]?.issuer ?? '',
      SERVICE_ADMIN_OIDC_CLIENT_ID: 'agent',
      SERVICE_ALLOW_PRIVATE_TARGETS: 'loopback',
      SERVICE_REQUIRE_API_KEY: String(requireApiKey),
      SERVICE_API_KEYS: `operator=${OPERATOR}@admin:write`,
    },
  });
  const operator = seat(app, { 'x-api-key': OPERATOR });
  const rules: Rules = { mode, requireApiKey, sso: undefined };
  const people = await peopleOf(providers);
  const keys: { id: string; person: Person }[] = [];
  let password = PASSWORD;
  let passwords = 0;

  const steps: Record<string, () => Promise<number>> = {
    async sso() {
      const provider = pick([0, 1]);
      const enabled = random() < 0.7;
      const [emails, domains] = [random() < 0.5 ? some(EMAILS) : [], random() < 0.3 ? ['other.org'] : []];
      const lists = {
        allowedEmails: emails.length > 0 ? emails : null,
        allowedDomains: domains.length > 0 ? domains : null,
      };
      const sso = { enabled, issuer: providers[provider]?.issuer, clientId: 'agent', ...lists };
      rules.sso = enabled ? { provider, emails: lists.allowedEmails, domains: lists.allowedDomains } : undefined;
      return (await operator.patch('/sso', { sso })).status;
    },
    async noSso() {
      const { status } = await operator.del('/sso');
      rules.sso = undefined;
      return status === 404 ? 200 : status;
    },
    async refused() {
      const { status } = await operator.patch('/sso', {
        sso: { enabled: false, issuer: 'nonsense', clientId: 'agent' },
      });
      return status === 422 ? 200 : status;
    },
    async addKey() {
      const scopes = some(SCOPES);
      if (scopes.length === 0) scopes.push(pick(SCOPES));
      const { status, body } = await operator.post('/api-keys', { name: `key-${keys.length}`, scopes });
      const headers: Headers = random() < 0.5 ? { 'x-api-key': body.key } : { authorization: `Bearer ${body.key}` };
      const person: Person = { headers, key: { scopes, isGood: true } };
      people.push(person);
      keys.push({ id: body.id, person });
      return status === 201 ? 200 : status;
    },
    async endKey() {
      const ended = pick(keys);
      if (ended?.person.key?.isGood !== true) return 200;
      ended.person.key.isGood = false;
      return (await operator.del(`/api-keys/${ended.id}`)).status;
    },
    async login() {
      if (mode !== 'password') return 200;
      people.push({ headers: await login(app, password), session: { isGood: true } });
      return 200;
    },
    async logout() {
      const known = people.find(({ session }) => session?.isGood === true);
      if (known?.session === undefined) return 200;
      known.session.isGood = false;
      return (await seat(app, known.headers).post('/auth/logout')).status;
    },
    async password() {
      const keeper = people.find(({ session }) => session?.isGood === true);
      // Each takes its time.
      if (keeper === undefined || passwords === 3) return 200;
      passwords += 1;
      const body = { currentPassword: password, newPassword: `battery staple ${passwords}` };
      password = body.newPassword;
      for (const { session } of people) if (session !== undefined && session !== keeper.session) session.isGood = false;
      return (await seat(app, keeper.headers).post('/auth/change-password', body)).status;
    },
  };

  const done: string[] = [];
  for (let step = 0; step < 24; step += 1) {
    const name = pick(Object.keys(steps));
    done.push(name);
    expect(await steps[name]?.(), done.join()).toBe(200);
    for (const person of people) {
      for (const route of ['runtime', 'admin:read', 'admin:write'] as const) {
        const status = await statusOf(app, person, route);
        const what = `${done.join()}\n${JSON.stringify({ rules, person, route, seed })}`;
        if (mayCall(rules, person, route)) expect(status, what).toBe(200);
        else expect([401, 403], what).toContain(status);
      }
    }
  }
});
