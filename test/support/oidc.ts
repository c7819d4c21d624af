import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, importJWK, type JWK, type JWTHeaderParameters, SignJWT } from 'jose';
import { onTestFinished } from 'vitest';

/** What a token says; undefined leaves a claim out. */
export type Claims = Record<string, unknown>;

/** What a test wants of its provider. */
export interface OidcProviderOptions {
  /** Whom tokens are for unless they say otherwise; `agent` by default. */
  audience?: string;
  /** A key is made for each; the first signs what `token()` gives. `RS256` alone by default. */
  algorithms?: readonly string[];
}

/** A real OpenID provider on loopback. */
export interface OidcProvider {
  /** Without a slash at its end. */
  issuer: string;
  /** Requests it has had since it was made. */
  requests: { discovery: number; jwks: number; token: number };
  /** A token of the token endpoint, got by client credentials: the provider's own claims, and those given. */
  token(claims?: Claims): Promise<string>;
  /**
   * A hand-made token, signed by the provider's key; it is good for five minutes unless claims or header say otherwise.
   *
   * @param signer Id of the key; the first for the header's `alg` by default.
   */
  sign(claims?: Claims, header?: Record<string, unknown>, signer?: string): Promise<string>;
  /** The first public key it publishes. */
  publicKey(): JWK;
  /** All of them, in the order of `algorithms`. */
  publicKeys(): JWK[];
  /** Replaces all keys by new ones with new ids. */
  rotate(): Promise<void>;
  /** Stops listening and drops every connection. */
  stop(): Promise<void>;
  /** Listens again, on the same port. */
  start(): Promise<void>;
}

/** The console as it was before anybody made it quiet. */
const { info, warn } = console;
/** Carries a token's claims to the place where the provider writes it. */
const CLAIMS_HEADER = 'x-test-claims';
const CLIENT = { client_id: 'test-client', client_secret: 'test-secret' };
const COUNTED: Record<string, keyof OidcProvider['requests']> = {
  '/.well-known/openid-configuration': 'discovery',
  '/jwks': 'jwks',
  '/token': 'token',
};

/** Starts a provider on a free port; it goes away with the test. */
export async function startOidcProvider(options: OidcProviderOptions = {}): Promise<OidcProvider> {
  const { audience = 'agent', algorithms = ['RS256'] } = options;
  const requests = { discovery: 0, jwks: 0, token: 0 };
  let generation = 0;
  let keys: JWK[] = [];
  let answer: RequestListener = () => {};
  const listen = async (port: number): Promise<Server> => {
    const server = createServer((request, response) => {
      const counted = COUNTED[request.url ?? ''];
      if (counted !== undefined) requests[counted] += 1;
      answer(request, response);
    });
    await new Promise<void>((resolve, reject) => server.on('error', reject).listen(port, '127.0.0.1', resolve));
    return server;
  };
  let server: Server | undefined = await listen(0);
  const { port } = server.address() as AddressInfo;
  const issuer = `http://127.0.0.1:${port}`;

  const rotate = async (): Promise<void> => {
    generation += 1;
    keys = await Promise.all(algorithms.map((algorithm, index) => makeKey(algorithm, `${generation}.${index}`)));
    answer = await makeProvider(issuer, audience, algorithms, keys);
  };
  const stop = async (): Promise<void> => {
    const stopped = server;
    server = undefined;
    stopped?.closeAllConnections();
    await new Promise<void>((resolve) => (stopped === undefined ? resolve() : stopped.close(() => resolve())));
  };
  const publicKeys = (): JWK[] => keys.map(({ d, p, q, dp, dq, qi, ...key }) => key);
  await rotate();
  onTestFinished(stop);

  return {
    issuer,
    requests,
    async token(claims = {}) {
      const response = await fetch(`${issuer}/token`, {
        method: 'POST',
        headers: {
          authorization: `Basic ${btoa(`${CLIENT.client_id}:${CLIENT.client_secret}`)}`,
          [CLAIMS_HEADER]: encodeURIComponent(JSON.stringify(claims, (_, value) => value ?? null)),
          connection: 'close',
        },
        body: new URLSearchParams({ grant_type: 'client_credentials' }),
      });
      if (!response.ok) throw new Error(`The provider gave no token: ${await response.text()}`);
      return ((await response.json()) as { access_token: string }).access_token;
    },
    async sign(claims = {}, header = {}, signer) {
      const key = keys.find(({ alg, kid }) => (signer === undefined ? alg === (header.alg ?? alg) : kid === signer));
      if (key === undefined) throw new Error('The provider has no such key');
      const now = Math.floor(Date.now() / 1_000);
      const payload = { iss: issuer, aud: audience, sub: CLIENT.client_id, iat: now, exp: now + 300, ...claims };
      return await new SignJWT(without(undefined, payload))
        .setProtectedHeader(without(undefined, { alg: key.alg, kid: key.kid, ...header }) as JWTHeaderParameters)
        .sign(await importJWK(key, key.alg));
    },
    publicKey: () => publicKeys()[0] as JWK,
    publicKeys,
    rotate,
    stop,
    async start() {
      server ??= await listen(port);
    },
  };
}

function without(nothing: null | undefined, record: Claims): Claims {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== nothing));
}

async function makeKey(alg: string, name: string): Promise<JWK> {
  const { privateKey } = await generateKeyPair(alg, { extractable: true });
  return { ...(await exportJWK(privateKey)), alg, kid: `${alg}-${name}`, use: 'sig' };
}

async function makeProvider(
  issuer: string,
  audience: string,
  algorithms: readonly string[],
  keys: readonly JWK[],
): Promise<RequestListener> {
  // What is printed is advice for production.
  Object.assign(console, { info() {}, warn() {} });
  try {
    // @ts-expect-error: the package has no types
    const { Provider } = await import('oidc-provider');
    const [alg] = algorithms;
    const provider = new Provider(issuer, {
      jwks: { keys },
      clients: [{ ...CLIENT, grant_types: ['client_credentials'], redirect_uris: [], response_types: [] }],
      clientDefaults: { id_token_signed_response_alg: alg },
      enabledJWA: { idTokenSigningAlgValues: algorithms },
      ttl: { ClientCredentials: 300 },
      features: {
        devInteractions: { enabled: false },
        clientCredentials: { enabled: true },
        resourceIndicators: {
          enabled: true,
          defaultResource: () => 'urn:test:agent',
          getResourceServerInfo: () => ({ scope: '', audience, accessTokenFormat: 'jwt', jwt: { sign: { alg } } }),
        },
      },
      formats: {
        customizers: {
          jwt(context: { get(header: string): string }, _: unknown, parts: { payload: Claims }) {
            const claims = JSON.parse(decodeURIComponent(context.get(CLAIMS_HEADER))) as Claims;
            parts.payload = without(null, { ...parts.payload, ...claims });
          },
        },
      },
    });
    return provider.callback() as RequestListener;
  } finally {
    Object.assign(console, { info, warn });
  }
}
