import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { createFetch } from '../../outbound/fetch.ts';
import type { GoogleEnvironment } from './define.ts';
import { DeliveryFault } from './delivery-fault.ts';

/** How long before its end a token is no longer used. */
const MARGIN_MS = 60_000;

const METADATA_HOST = 'metadata.google.internal';

/** A key file, as far as it is used. */
const Credentials = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('service_account'),
    client_email: z.string(),
    private_key: z.string(),
    private_key_id: z.string().optional(),
    project_id: z.string().optional(),
    token_uri: z.url({ protocol: /^https?$/ }).default('https://oauth2.googleapis.com/token'),
  }),
  z.object({
    type: z.literal('authorized_user'),
    client_id: z.string(),
    client_secret: z.string(),
    refresh_token: z.string(),
    quota_project_id: z.string().optional(),
    token_uri: z.url({ protocol: /^https?$/ }).default('https://oauth2.googleapis.com/token'),
  }),
]);
type Credentials = z.infer<typeof Credentials>;

const Token = z.object({ access_token: z.string().min(1), expires_in: z.number().default(3_600) });

/** Application Default Credentials, for one scope. */
export interface GoogleAuth {
  /** Headers with a token that is good for a while. @throws DeliveryFault when there is none to be had. */
  headers(signal: AbortSignal): Promise<Record<string, string>>;
  /** Forgets the token. */
  renew(): void;
  /** The project the credentials are of. @throws DeliveryFault when nobody says. */
  project(signal: AbortSignal): Promise<string>;
}

/** Makes the credentials. The addresses asked come from the operator, not from the configuration, so they are not checked. */
export function createGoogleAuth(scope: string, environment: GoogleEnvironment): GoogleAuth {
  const { credentialsFile, metadataHost = METADATA_HOST } = environment;
  const fetch = createFetch({ targets: undefined, maxBytes: 100_000 });
  let held: { token: string; until: number } | undefined;

  const post = async (url: string, form: Record<string, string>, signal: AbortSignal): Promise<unknown> => {
    const body = new URLSearchParams(form).toString();
    const headers = { 'content-type': 'application/x-www-form-urlencoded', 'content-length': String(body.length) };
    const response = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'error' });
    if (!response.ok) throw refused(response);
    return response.json();
  };

  const metadata = async (path: string, signal: AbortSignal): Promise<Response> => {
    const url = `http://${metadataHost}/computeMetadata/v1/${path}`;
    const headers = { 'metadata-flavor': 'Google' };
    try {
      const response = await fetch(url, { headers, signal, redirect: 'error' });
      if (!response.ok) throw refused(response);
      return response;
    } catch (error) {
      if (error instanceof DeliveryFault) throw error;
      throw new DeliveryFault(
        'No Google credentials: GOOGLE_APPLICATION_CREDENTIALS is not set, and no metadata server answers',
        {
          cause: error,
        },
      );
    }
  };

  const ask = async (signal: AbortSignal): Promise<unknown> => {
    if (credentialsFile === undefined) {
      const path = `instance/service-accounts/default/token?scopes=${encodeURIComponent(scope)}`;
      return (await metadata(path, signal)).json();
    }
    const credentials = await readCredentials(credentialsFile);
    if (credentials.type === 'authorized_user') {
      const { client_id, client_secret, refresh_token, token_uri } = credentials;
      return post(token_uri, { grant_type: 'refresh_token', client_id, client_secret, refresh_token }, signal);
    }
    const assertion = await signed(credentials, scope);
    const grant = { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion };
    return post(credentials.token_uri, grant, signal);
  };

  return {
    async headers(signal) {
      if (held === undefined || held.until < Date.now()) {
        const token = Token.safeParse(await ask(signal));
        if (!token.success) throw new DeliveryFault('Google gave no token', { retry: true });
        held = { token: token.data.access_token, until: Date.now() + token.data.expires_in * 1_000 - MARGIN_MS };
      }
      const headers: Record<string, string> = { authorization: `Bearer ${held.token}` };
      const credentials = credentialsFile === undefined ? undefined : await readCredentials(credentialsFile);
      if (credentials?.type === 'authorized_user' && credentials.quota_project_id !== undefined) {
        headers['x-goog-user-project'] = credentials.quota_project_id;
      }
      return headers;
    },
    renew() {
      held = undefined;
    },
    async project(signal) {
      if (credentialsFile === undefined) return (await metadata('project/project-id', signal)).text();
      const credentials = await readCredentials(credentialsFile);
      const project = credentials.type === 'service_account' ? credentials.project_id : credentials.quota_project_id;
      if (project === undefined) throw new DeliveryFault('gcpProjectId: is not set, and the key file names none');
      return project;
    },
  };
}

/** Read each time: keys are changed under a running server. */
async function readCredentials(file: string): Promise<Credentials> {
  let content: unknown;
  try {
    content = JSON.parse(await readFile(file, 'utf8'));
  } catch (cause) {
    throw new DeliveryFault('The file GOOGLE_APPLICATION_CREDENTIALS names cannot be read', { cause });
  }
  const parsed = Credentials.safeParse(content);
  if (parsed.success) return parsed.data;
  throw new DeliveryFault('The file GOOGLE_APPLICATION_CREDENTIALS names holds no service account key');
}

async function signed(credentials: Credentials & { type: 'service_account' }, scope: string): Promise<string> {
  const { importPKCS8, SignJWT } = await import('jose');
  const { client_email: issuer, private_key: key, private_key_id: id, token_uri: audience } = credentials;
  try {
    return await new SignJWT({ scope })
      .setProtectedHeader({ alg: 'RS256', typ: 'JWT', ...(id !== undefined && { kid: id }) })
      .setIssuer(issuer)
      .setSubject(issuer)
      .setAudience(audience)
      .setIssuedAt()
      .setExpirationTime('1h')
      .sign(await importPKCS8(key, 'RS256'));
  } catch (cause) {
    throw new DeliveryFault('The private key of the Google credentials cannot be used', { cause });
  }
}

function refused({ status }: Response): DeliveryFault {
  return new DeliveryFault(`Google refuses the credentials (status ${status})`, {
    retry: status === 429 || status >= 500,
    status,
  });
}
