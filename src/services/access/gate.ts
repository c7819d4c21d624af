import { problem } from '../../problems.ts';
import type { Scope } from '../../settings/access.ts';
import type { AdminLogin } from './admin-login.ts';
import { type ApiKeys, hasScope, KEY_PREFIX, type KeyHolder } from './api-keys.ts';
import { ANONYMOUS, type Caller, type Credentials } from './caller.ts';
import type { SignOn } from './sign-on.ts';

/** Decides who a caller is and whether it may enter. */
export interface Gate {
  /**
   * Lets an admin in, by what the mode asks for or by a key with the scope.
   *
   * @throws Problem `auth_required`, `insufficient_scope`.
   */
  admin(credentials: Credentials, scope: 'admin:read' | 'admin:write'): Promise<Caller>;
  /**
   * The holder of the key that is shown, in whatever mode; undefined when none is.
   *
   * @throws Problem `auth_required`, `insufficient_scope`.
   */
  key(credentials: Credentials, scope: Scope): Promise<Caller | undefined>;
  /**
   * Lets somebody run the agent.
   *
   * @throws Problem `auth_required`, `insufficient_scope`; `agent_not_ready` while it is not known who may.
   */
  runtime(credentials: Credentials): Promise<Caller>;
}

/** What the gate asks. */
export interface GateOptions {
  mode: 'none' | 'password' | 'sso';
  requireApiKey: boolean;
  login: Pick<AdminLogin, 'isLoggedIn'> | undefined;
  keys: Pick<ApiKeys, 'resolve'>;
  signOn: Pick<SignOn, 'isEnforced' | 'user' | 'admin'>;
  /** Why there is no agent. */
  notReady: () => string;
}

/** Makes the gate. */
export function createGate({ mode, requireApiKey, login, keys, signOn, notReady }: GateOptions): Gate {
  /** The holder of the key that was shown, if one was. @throws Problem `auth_required` for a key that is none. */
  const holderOf = async ({ apiKey, bearer }: Credentials): Promise<KeyHolder | undefined> => {
    const shown = apiKey ?? bearer;
    if (shown === undefined) return undefined;
    const holder = await keys.resolve(shown);
    if (holder !== undefined) return holder;
    // Whoever means to show a key must not pass as somebody else because it has expired. Other tokens are not ours to judge.
    if (apiKey === undefined && !shown.startsWith(KEY_PREFIX)) return undefined;
    const message = 'This API key is not known, or it has expired.';
    throw problem('auth_required', { message, challenge: message });
  };

  const byKey = ({ name, userId }: KeyHolder): Caller => {
    const actor = `key:${name}`;
    if (userId !== null) return { kind: 'key', actor, userId, mayNameUser: false };
    // Under sign-on nobody is somebody else by saying so, programs included.
    if (signOn.isEnforced !== false) return { kind: 'key', actor, userId: actor, mayNameUser: false };
    return { kind: 'key', actor, userId: null, mayNameUser: true };
  };

  const demand = (holder: KeyHolder, scope: Scope): Caller => {
    if (hasScope(holder, scope)) return byKey(holder);
    const message = `This API key lacks the scope ${scope}.`;
    throw problem('insufficient_scope', { message });
  };

  return {
    async admin(credentials, scope) {
      const holder = await holderOf(credentials);
      if (mode === 'none') return holder === undefined ? ANONYMOUS : byKey(holder);
      if (holder !== undefined) return demand(holder, scope);
      const { session, bearer } = credentials;
      if (mode === 'password') {
        if (session === undefined || login === undefined || !(await login.isLoggedIn(session))) {
          throw problem('auth_required', { message: 'Log in first.' });
        }
        return { kind: 'session', actor: 'admin', userId: null, mayNameUser: true };
      }
      if (bearer === undefined) throw problem('auth_required', { message: 'A sign-on token is needed.' });
      const actor = await signOn.admin(bearer);
      return { kind: 'token', actor, userId: actor, mayNameUser: false };
    },
    async key(credentials, scope) {
      const holder = await holderOf(credentials);
      return holder && demand(holder, scope);
    },
    async runtime(credentials) {
      const { isEnforced } = signOn;
      if (isEnforced === undefined) throw problem('agent_not_ready', { message: notReady() });
      const holder = await holderOf(credentials);
      const isOpen = !isEnforced && !requireApiKey;
      if (holder !== undefined) return isOpen ? byKey(holder) : demand(holder, 'runtime');
      const { bearer } = credentials;
      if (isEnforced || (bearer !== undefined && mode === 'sso')) {
        if (bearer === undefined) throw problem('auth_required', { message: 'A sign-on token is needed.' });
        const userId = await signOn.user(bearer);
        return { kind: 'token', actor: userId, userId, mayNameUser: false };
      }
      if (requireApiKey) throw problem('auth_required', { message: 'An API key is needed.' });
      return ANONYMOUS;
    },
  };
}
