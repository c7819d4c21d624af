import type { Logger } from 'pino';
import { type Env, EnvProblem } from '../../env.ts';
import type { Targets } from '../../outbound/targets.ts';
import type { AdminStore } from '../../store/admin-store.ts';
import type { ApiKeyStore } from '../../store/api-key-store.ts';
import type { AuditStore } from '../../store/audit-store.ts';
import type { AdminLogin } from './admin-login.ts';
import { type ApiKeys, createApiKeys } from './api-keys.ts';
import { type Audit, createAudit } from './audit.ts';
import { createGate, type Gate } from './gate.ts';
import { createPasswords } from './passwords.ts';
import { createSignOn, type SignOn } from './sign-on.ts';

/** Who may call, and what they did. */
export interface Access {
  readonly gate: Gate;
  /** Undefined in other modes than password. */
  readonly login: AdminLogin | undefined;
  readonly keys: ApiKeys;
  readonly signOn: SignOn;
  readonly audit: Audit;
  /** Makes sure that somebody can administer. To be called once the configuration is known. @throws EnvProblem. */
  checkAdmins(): void;
  close(): Promise<void>;
}

/**
 * Puts access control together.
 *
 * @throws EnvProblem when the admin has no password and the settings bring none.
 */
export async function createAccess(options: {
  env: Env;
  log: Logger;
  targets: Targets;
  stores: { admin: AdminStore; apiKeys: ApiKeyStore; audit: AuditStore };
  /** Whether there is an admin surface. */
  hasAdmin: boolean;
  notReady: () => string;
}): Promise<Access> {
  const { env, log, targets, stores, hasAdmin, notReady } = options;
  const mode = env.SERVICE_ADMIN_AUTH_MODE;
  const audit = createAudit(stores.audit);
  const keys = createApiKeys(stores.apiKeys, env.SERVICE_API_KEYS);
  const signOn = createSignOn({ admins: mode === 'sso' && hasAdmin ? adminsOf(env) : undefined, targets, log });
  const passwords = createPasswords();
  let login: AdminLogin | undefined;
  if (mode === 'password' && hasAdmin) {
    // Loaded where it is needed: every start waits for what is loaded.
    const { createAdminLogin } = await import('./admin-login.ts');
    login = createAdminLogin({ store: stores.admin, passwords, audit, ttlHours: env.SERVICE_SESSION_TTL_HOURS });
    await seed(login, env);
  }
  const requireApiKey = env.SERVICE_REQUIRE_API_KEY;
  return {
    gate: createGate({ mode, requireApiKey, login, keys, signOn, notReady }),
    login,
    keys,
    signOn,
    audit,
    checkAdmins() {
      if (mode !== 'sso' || !hasAdmin || signOn.hasAdminIssuer) return;
      throw new EnvProblem([
        'SERVICE_ADMIN_OIDC_ISSUER and SERVICE_ADMIN_OIDC_CLIENT_ID are needed in mode sso, since no SSO configuration is enabled: ' +
          'they say whose tokens admins bring. Set both, or enable SSO in the configuration file.',
      ]);
    },
    async close() {
      signOn.close();
      await passwords.close();
    },
  };
}

function adminsOf(env: Env) {
  const { SERVICE_ADMIN_OIDC_ISSUER: issuer, SERVICE_ADMIN_OIDC_CLIENT_ID: clientId } = env;
  return {
    fallback: issuer !== undefined && clientId !== undefined ? { issuer, clientId } : undefined,
    emails: env.SERVICE_ADMIN_ALLOWED_EMAILS,
    domains: env.SERVICE_ADMIN_ALLOWED_DOMAINS,
  };
}

async function seed(login: AdminLogin, { SERVICE_ADMIN_PASSWORD_HASH: hash }: Env): Promise<void> {
  if (await login.isSeeded()) return;
  if (hash !== undefined) return login.seed(hash);
  throw new EnvProblem([
    'SERVICE_ADMIN_PASSWORD_HASH is needed at the first start in mode password. Set it to what this prints: agent-engine hash-password',
  ]);
}
