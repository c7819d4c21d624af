import type { Logger } from 'pino';
import type { SsoConfig } from '../../engine/sign-on.ts';
import { createFetch } from '../../outbound/fetch.ts';
import type { Targets } from '../../outbound/targets.ts';
import { problem } from '../../problems.ts';
import type { SignOnRules } from '../config/prepare.ts';
import { checkAllowed, type TokenClaims, TokenRefused, userIdOf } from './oidc/claims.ts';
import type { Issuer } from './oidc/issuer.ts';

/** Bytes of a provider's answers. */
const ANSWER_BYTES = 1024 * 1024;

/** Who may administer in mode sso, as the settings say; undefined in other modes. */
export interface AdminSignOn {
  /** For the time without an enabled SSO configuration. */
  fallback: { issuer: string; clientId: string } | undefined;
  emails: readonly string[];
  domains: readonly string[];
}

/** What anybody may know of the rules: a page needs it to send people to the right provider. */
export type SignOnInfo =
  | { enabled: false }
  | { enabled: true; issuer: string; clientId: string; audience: string | null };

/** Where a token must come from, and whom it must be meant for. */
interface Source {
  provider: Promise<Issuer>;
  audience: string;
}

/** Whose tokens count: the rules in service, and the providers behind them. */
export interface SignOn extends SignOnRules {
  /** Whether runs need a token; undefined while it is not known, since no configuration could be read. */
  readonly isEnforced: boolean | undefined;
  /** Whether there is a provider that admins could come from. */
  readonly hasAdminIssuer: boolean;
  readonly info: SignOnInfo;
  /** The user of a token, by the rules in service or, without any, as admins' tokens are checked. @throws Problem `auth_required`. */
  user(token: string): Promise<string>;
  /** The admin of a token. @throws Problem `auth_required`, also for users who are no admins. */
  admin(token: string): Promise<string>;
  close(): void;
}

/**
 * Makes the sign-on of one server.
 *
 * @param options.targets where a provider may be that somebody has configured; one of the settings may be anywhere.
 */
export function createSignOn(options: { admins: AdminSignOn | undefined; targets: Targets; log: Logger }): SignOn {
  const { admins, targets, log } = options;
  const fallback = admins?.fallback;
  // Loaded where somebody signs on: every start waits for what is loaded.
  const make = async (issuer: string, trusted: boolean): Promise<Issuer> => {
    const { createIssuer } = await import('./oidc/issuer.ts');
    const fetch = createFetch({ targets: trusted ? undefined : targets, maxBytes: ANSWER_BYTES });
    return createIssuer({ issuer, fetch, log });
  };
  const own = fallback && { ...fallback, provider: make(fallback.issuer, true) };
  let rules: SsoConfig | undefined;
  let known = false;
  let stored: { issuer: string; provider: Promise<Issuer> } | undefined;

  /** The stored rules' provider if they are enabled. */
  const enforced = (): { rules: SsoConfig; provider: Promise<Issuer> } | undefined =>
    rules?.enabled === true && stored !== undefined ? { rules, provider: stored.provider } : undefined;

  const adminSource = (): Source | undefined => {
    const current = enforced();
    if (current !== undefined) return { provider: current.provider, audience: audienceOf(current.rules) };
    return own && { provider: own.provider, audience: own.clientId };
  };

  /** @throws Problem `auth_required`, which says no more than the token's holder may know. */
  const refuse = (error: unknown): never => {
    if (!(error instanceof TokenRefused)) throw error;
    throw problem('auth_required', { message: error.description, challenge: error.description, cause: error });
  };

  const subjectOf = async (
    { provider, audience }: Source,
    token: string,
    lists: { emails: readonly string[] | null; domains: readonly string[] | null },
  ): Promise<string> => {
    const claims: TokenClaims = await (await provider).verify(token, audience);
    checkAllowed(claims, lists);
    return userIdOf(claims);
  };

  return {
    get isEnforced() {
      return known ? rules?.enabled === true : undefined;
    },
    get hasAdminIssuer() {
      return adminSource() !== undefined;
    },
    get info(): SignOnInfo {
      if (rules?.enabled !== true) return { enabled: false };
      const { issuer, clientId, audience } = rules;
      return { enabled: true, issuer, clientId, audience };
    },
    refusal(sso) {
      if (admins === undefined || fallback !== undefined || sso?.enabled === true) return undefined;
      return 'must be enabled: admins sign on by it, and SERVICE_ADMIN_OIDC_ISSUER is not set';
    },
    apply(sso) {
      known = true;
      rules = sso;
      const wanted = sso?.enabled === true ? sso.issuer : undefined;
      if (stored?.issuer === wanted) {
        void stored?.provider.then((provider) => provider.refresh());
        return;
      }
      void stored?.provider.then((provider) => provider.close());
      // One the operator has named himself may be anywhere, whoever names it again.
      stored =
        wanted === undefined ? undefined : { issuer: wanted, provider: make(wanted, wanted === fallback?.issuer) };
    },
    async user(token) {
      const current = enforced();
      const source = current && { provider: current.provider, audience: audienceOf(current.rules) };
      const lists = { emails: current?.rules.allowedEmails ?? null, domains: current?.rules.allowedDomains ?? null };
      const checked = source ?? adminSource();
      if (checked === undefined) throw problem('auth_required');
      return await subjectOf(checked, token, lists).catch(refuse);
    },
    async admin(token) {
      const source = adminSource();
      if (source === undefined || admins === undefined) throw problem('auth_required');
      const anyone = admins.emails.includes('*') || admins.domains.includes('*');
      // A list that names nobody lets nobody in, which is why it is not passed as if it were unset.
      const lists = anyone ? { emails: null, domains: null } : { emails: admins.emails, domains: admins.domains };
      return await subjectOf(source, token, lists).catch(refuse);
    },
    close() {
      for (const known of [own, stored]) void known?.provider.then((provider) => provider.close());
    },
  };
}

function audienceOf({ audience, clientId }: SsoConfig): string {
  return audience ?? clientId;
}
