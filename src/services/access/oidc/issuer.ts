import { decodeProtectedHeader, errors, type JWTPayload, type JWTVerifyOptions, jwtVerify } from 'jose';
import { readClaims, type TokenClaims, TokenRefused } from './claims.ts';
import type { ProviderKeys } from './discovery.ts';
import { createKeyHolder, type IssuerOptions } from './key-holder.ts';

/** Longest token that is looked at, in characters. */
const MAX_LENGTH = 16 * 1024;

/** Asymmetric ones only: never `none`, never a secret made of a public key. */
const ALGORITHMS = 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'.split(' ');

/** How far the provider's clock may be off, in seconds. */
const LEEWAY_S = 30;

const SIGNATURE = 'The signature of the token is not valid';
const MALFORMED = 'The token is malformed';
const NOT_FOR_US = 'The token is not meant for this server';

/** One OpenID provider: its keys, and what its tokens say (runtime contract, section 10). */
export interface Issuer {
  /**
   * Checks signature, algorithm, issuer, audience and times of a JWT.
   *
   * @throws TokenRefused, also when no keys can be had.
   */
  verify(token: string, audience: string): Promise<TokenClaims>;
  /** Looks for the provider's keys anew in the background; those at hand go on serving meanwhile. */
  refresh(): void;
  /** Ends background work. */
  close(): void;
}

/** Makes an issuer, which looks for the provider's keys at once. */
export function createIssuer(options: IssuerOptions): Issuer {
  const holder = createKeyHolder(options);

  async function check(token: string, audience: string): Promise<JWTPayload> {
    const { issuer, keys } = await holder.current();
    try {
      return await verifySignature(token, keys, {
        algorithms: ALGORITHMS,
        issuer,
        audience,
        requiredClaims: ['exp'],
        clockTolerance: LEEWAY_S,
      });
    } catch (error) {
      // Ends, because keys are renewed only so often.
      if (isKeyUnknown(error, token) && (await holder.renew())) return await check(token, audience);
      throw refusalOf(error);
    }
  }

  return {
    async verify(token, audience) {
      checkHeader(token);
      return readClaims(await check(token, audience));
    },
    refresh: holder.refresh,
    close: holder.close,
  };
}

/** Refuses what can be refused without keys, before anybody waits for them. */
function checkHeader(token: string): void {
  if (token.length > MAX_LENGTH) throw new TokenRefused('The token is too long');
  let algorithm: unknown;
  try {
    algorithm = decodeProtectedHeader(token).alg;
  } catch {
    throw new TokenRefused(MALFORMED, 'The token has no header');
  }
  if (typeof algorithm !== 'string' || !ALGORITHMS.includes(algorithm)) {
    throw new TokenRefused('The algorithm of the token is not accepted');
  }
}

/** Verifies with the key the token names. One that names none may be signed by any that fits. */
async function verifySignature(
  token: string,
  keys: ProviderKeys['keys'],
  options: JWTVerifyOptions,
): Promise<JWTPayload> {
  try {
    return (await jwtVerify(token, keys, options)).payload;
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    for await (const key of error) {
      try {
        return (await jwtVerify(token, key, options)).payload;
      } catch (failure) {
        if (!(failure instanceof errors.JWSSignatureVerificationFailed)) throw failure;
      }
    }
    throw new errors.JWSSignatureVerificationFailed();
  }
}

/** Whether newer keys could make a difference. */
function isKeyUnknown(error: unknown, token: string): boolean {
  if (error instanceof errors.JWKSNoMatchingKey) return true;
  return error instanceof errors.JWSSignatureVerificationFailed && decodeProtectedHeader(token).kid === undefined;
}

/** Errors of jose carry the token's payload, so they go no further. */
function refusalOf(cause: unknown): TokenRefused {
  if (cause instanceof errors.JWTExpired) return new TokenRefused('The token has expired');
  if (cause instanceof errors.JWTClaimValidationFailed) {
    const { claim, reason } = cause;
    if (claim === 'iss' || claim === 'aud') return new TokenRefused(NOT_FOR_US, `${NOT_FOR_US}: ${claim}`);
    if (claim === 'nbf' && reason === 'check_failed') return new TokenRefused('The token is not valid yet');
    if (claim === 'exp' && reason === 'missing') return new TokenRefused('The token does not say when it expires');
    return new TokenRefused(MALFORMED, `The claim ${claim} is not of the form it should have`);
  }
  if (cause instanceof errors.JWSSignatureVerificationFailed) return new TokenRefused(SIGNATURE);
  if (cause instanceof errors.JWKSNoMatchingKey) return new TokenRefused(SIGNATURE, 'The provider has no such key');
  if (cause instanceof errors.JWSInvalid || cause instanceof errors.JWTInvalid) return new TokenRefused(MALFORMED);
  // A key of the provider that cannot be used, above all; a token cannot make the server fail.
  return new TokenRefused(SIGNATURE, 'The signature of the token cannot be checked', { cause });
}
