/** Who a request comes from, once that is known. */
export interface Caller {
  /** How it is known: by nothing, an admin's login, a program's key, a token of the sign-on provider. */
  readonly kind: 'anonymous' | 'session' | 'key' | 'token';
  /** As histories name it: `anonymous`, `admin`, `key:name`, an e-mail address. */
  readonly actor: string;
  /** The user it is; null when nothing but its own word says so. */
  readonly userId: string | null;
  /** Whether its word, `X-Service-User-Id`, counts for an unknown user. */
  readonly mayNameUser: boolean;
}

/** A caller nobody has asked for a name. */
export const ANONYMOUS: Caller = { kind: 'anonymous', actor: 'anonymous', userId: null, mayNameUser: true };

/** What a request brings to show who it is from. */
export interface Credentials {
  /** Id of the admin's session, of a cookie whose signature is good. */
  readonly session: string | undefined;
  /** `Authorization: Bearer …`: a token or a key. */
  bearer: string | undefined;
  /** `X-API-Key`. */
  apiKey: string | undefined;
}

/** Where an entry of the audit log comes from, and whether it is written yet. */
export interface AuditMark {
  /** What is done, such as `guardrails.create`. */
  readonly action: string;
  readonly actor: string;
  /** Address of the client. */
  readonly address: string;
  readonly requestId: string;
  /** Set once the log has an entry, so that nobody writes a second one. */
  recorded: boolean;
}

/** A mark for what the server does by itself, such as filling its database at the first start. */
export function ownMark(action: string, actor: string): AuditMark {
  return { action, actor, address: 'local', requestId: '', recorded: false };
}
