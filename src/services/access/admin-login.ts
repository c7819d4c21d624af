import { createHash, randomBytes } from 'node:crypto';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { Mutex } from '../../engine/mutex.ts';
import { problem } from '../../problems.ts';
import type { AdminRow, AdminStore } from '../../store/admin-store.ts';
import { type Audit, auditEntry } from './audit.ts';
import type { AuditMark } from './caller.ts';
import { clientKey } from './client-address.ts';
import { MAX_PASSWORD_BYTES, MIN_PASSWORD_CHARACTERS, passwordFault } from './password-rules.ts';
import type { Passwords } from './passwords.ts';

/** Failures after which a client has to wait, and for how long (contract decision 8). */
const FAILURES = 5;
const WINDOW_SECONDS = 300;

/** Passwords that may wait to be checked; a flood from many addresses must not take the memory or all the time. */
const MAX_WAITING = 16;

/** Clients that have known the password. They may wait where others no longer may, or a flood would keep the admin out. */
const MAX_KNOWN = 100;

/** The admin's logins in mode password (admin contract, section 4). */
export interface AdminLogin {
  /** Whether the admin has a password yet. */
  isSeeded(): Promise<boolean>;
  /** Sets the first password, from its bcrypt hash; one there is stays. */
  seed(passwordHash: string): Promise<void>;
  /**
   * Checks the password and begins a session.
   *
   * @returns the session's id, for the cookie.
   * @throws Problem `auth_required` when it is wrong, `rate_limited` after five wrong ones of the same client.
   */
  login(password: string, mark: AuditMark): Promise<string>;
  /** Whether a session of this id is under way. One that has expired is forgotten. */
  isLoggedIn(session: string): Promise<boolean>;
  logout(session: string, mark: AuditMark): Promise<void>;
  /**
   * Replaces the password and ends every other session.
   *
   * @throws Problem `auth_required` when the current one is wrong, `validation_failed` for a new one that cannot be,
   *   `rate_limited`, `unsupported_mode` when there is no password to change.
   */
  changePassword(session: string, current: string, next: string, mark: AuditMark): Promise<void>;
}

/** Makes the logins. @param options.ttlHours how long a session lasts; it is never made longer. */
export function createAdminLogin(options: {
  store: AdminStore;
  passwords: Passwords;
  audit: Audit;
  ttlHours: number;
}): AdminLogin {
  const { store, passwords, audit, ttlHours } = options;
  const limiter = new RateLimiterMemory({ points: FAILURES, duration: WINDOW_SECONDS });
  const changes = new Mutex();
  const known = new Set<string>();

  const remember = (client: string): void => {
    known.delete(client);
    known.add(client);
    const [oldest] = known;
    if (known.size > MAX_KNOWN && oldest !== undefined) known.delete(oldest);
  };

  /** Checks a password. Each try counts before its outcome is known, so that many at once are no way around. */
  const check = async (password: string, mark: AuditMark): Promise<AdminRow | undefined> => {
    const client = clientKey(mark.address);
    const tries = await limiter.consume(client).catch(async (refused: unknown) => {
      if (!(refused instanceof RateLimiterRes)) throw refused;
      // The first that is turned away is worth an entry; ten thousand more would only fill the disk.
      if (refused.consumedPoints === FAILURES + 1) await audit.add(mark, 'refused', 'too many failures');
      mark.recorded = true;
      throw problem('rate_limited', { retryAfter: Math.ceil(refused.msBeforeNext / 1000) });
    });
    if (passwords.waiting >= (known.has(client) ? 2 * MAX_WAITING : MAX_WAITING)) {
      await limiter.reward(client);
      mark.recorded = true;
      throw problem('rate_limited', { retryAfter: 5 });
    }
    const admin = await store.admin();
    const isRight = admin !== undefined && (await passwords.matches(password, admin.passwordHash));
    if (isRight) {
      await limiter.delete(client);
      remember(client);
    } else await audit.add(mark, 'refused', `wrong password, try ${tries.consumedPoints}`);
    return isRight ? admin : undefined;
  };

  return {
    isSeeded: async () => (await store.admin()) !== undefined,
    seed: (passwordHash) => store.seed(passwordHash, Date.now()),
    async login(password, mark) {
      const admin = await check(password, mark);
      if (admin === undefined) throw wrongPassword();
      const id = randomBytes(32).toString('base64url');
      const now = Date.now();
      await store.pruneSessions(now);
      const session = { id: keyOf(id), createdAt: now, expiresAt: now + ttlHours * 3_600_000 };
      await store.addSession(session, auditEntry({ ...mark, actor: 'admin' }, now, 'ok'));
      mark.recorded = true;
      // Whoever changes the password means to end every login of the old one, this one too.
      if ((await store.admin())?.passwordHash === admin.passwordHash) return id;
      await store.removeSession(session.id);
      throw wrongPassword();
    },
    async isLoggedIn(session) {
      const found = await store.session(keyOf(session));
      if (found === undefined) return false;
      if (found.expiresAt > Date.now()) return true;
      await store.removeSession(found.id);
      return false;
    },
    async logout(session, mark) {
      const found = await store.session(keyOf(session));
      if (found === undefined) return;
      await store.removeSession(found.id);
      await audit.add({ ...mark, actor: 'admin' }, 'ok');
      mark.recorded = true;
    },
    async changePassword(session, current, next, mark) {
      checkNew(next);
      if ((await store.admin()) === undefined) throw problem('unsupported_mode');
      // One at a time: of two who know the old password at once, the second must not replace what the first has chosen.
      await changes.runWith(async () => {
        if ((await check(current, mark)) === undefined)
          throw problem('auth_required', { message: 'The current password is wrong.' });
        const hash = await passwords.hash(next);
        await store.changePassword(hash, keyOf(session), auditEntry(mark, Date.now(), 'ok'));
      });
      mark.recorded = true;
    },
  };
}

function wrongPassword() {
  return problem('auth_required', { message: 'The password is wrong.' });
}

/** A session as the store knows it. */
function keyOf(session: string): string {
  return createHash('sha256').update(session).digest('hex');
}

function checkNew(password: string): void {
  const fault = passwordFault(password);
  if (fault === undefined) return;
  const [msg, type] =
    fault === 'long'
      ? [`must have at most ${MAX_PASSWORD_BYTES} bytes`, 'string_too_long']
      : [`must have at least ${MIN_PASSWORD_CHARACTERS} characters`, 'string_too_short'];
  throw problem('validation_failed', { details: [{ loc: ['body', 'newPassword'], msg, type }] });
}
