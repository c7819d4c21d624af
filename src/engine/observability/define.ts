import { z } from 'zod';
import type { Targets } from '../../outbound/targets.ts';
import type { SpanRecord } from '../tracing/span.ts';

/** Where one exporter posts its spans, and how. */
export interface Destination {
  readonly url: string;
  readonly contentType: 'application/x-protobuf' | 'application/json';
  /** Headers of one request, credentials included. @throws when there are none to be had. */
  headers(signal: AbortSignal): Record<string, string> | Promise<Record<string, string>>;
  /** The body of one request. Without spans: one that is accepted, and changes nothing. */
  encode(spans: readonly SpanRecord[], signal: AbortSignal): Bytes | Promise<Bytes>;
  /** How long spans may wait for others to be sent with them, in milliseconds; 2,000 by default. */
  readonly flushMs?: number;
  /** Forgets a token that the server has refused, so that the next request asks for a new one. */
  renew?(): void;
  /** Whether a trace is one of those that are sent; all are by default. */
  samples?(traceId: string): boolean;
}

type Bytes = Uint8Array | string;

/** What exporters are opened with. */
export interface ExporterPorts {
  /** Where they may go; undefined for anywhere. */
  readonly targets: Targets | undefined;
  /** The hosted agent's name, which is the service's towards the provider. */
  readonly serviceName: string;
  readonly serviceVersion: string;
  readonly google: GoogleEnvironment;
}

/** What the environment says of Google's credentials (Application Default Credentials). */
export interface GoogleEnvironment {
  /** GOOGLE_APPLICATION_CREDENTIALS: a file with a key; without one the metadata server of the machine is asked. */
  readonly credentialsFile: string | undefined;
  /** GCE_METADATA_HOST: where that server is, if not where Google puts it. */
  readonly metadataHost: string | undefined;
}

/** Reads it from where Google's own libraries do. */
export function googleEnvironment(variables: Readonly<Record<string, string | undefined>>): GoogleEnvironment {
  return {
    credentialsFile: variables.GOOGLE_APPLICATION_CREDENTIALS || undefined,
    metadataHost: variables.GCE_METADATA_HOST || undefined,
  };
}

/** A kind of exporter: its entry in the configuration, and how it is opened. */
export interface ExporterKind<Name extends string, Shape extends z.ZodRawShape> {
  readonly provider: Name;
  readonly entry: z.ZodObject<{
    provider: z.ZodLiteral<Name>;
    enabled: z.ZodDefault<z.ZodBoolean>;
    config: z.ZodObject<{ provider: z.ZodDefault<z.ZodLiteral<Name>> } & Shape>;
  }>;
  /** Makes ready to send. Nothing is sent, and no connection made. @throws when a package cannot be loaded. */
  open(config: z.infer<z.ZodObject<Shape>>, ports: ExporterPorts): Promise<Destination>;
}

/** Types a kind of exporter. Its configuration carries the provider's name again (admin contract, section 7). */
export function defineExporter<const Name extends string, Shape extends z.ZodRawShape>(kind: {
  provider: Name;
  config: Shape;
  open: ExporterKind<Name, Shape>['open'];
}): ExporterKind<Name, Shape> {
  const { provider, config, open } = kind;
  return {
    provider,
    open,
    entry: z.object({
      provider: z.literal(provider),
      enabled: z.boolean().default(true),
      config: z.object({ provider: z.literal(provider).default(provider as never), ...config }),
    }) as ExporterKind<Name, Shape>['entry'],
  };
}

/** A text member; empty means not given. */
export const text = (fallback = '') => z.string().max(2_000).default(fallback);

/** A key or password, encrypted at rest and never shown. */
export const key = () => z.string().max(2_000).meta({ secret: true });

/** The same, empty when not given. */
export const secret = () => key().default('');

/** An address; references to variables are checked once they are resolved. */
export const webAddress = () =>
  z
    .string()
    .max(2_000)
    .refine((value) => value === '' || value.includes('${') || isWebAddress(value), 'must be an http or https URL')
    .meta({ secret: 'url' });

/** The same, with what it is when not given. */
export const address = (fallback = '') => webAddress().default(fallback);

function isWebAddress(value: string): boolean {
  return URL.canParse(value) && /^https?:$/.test(new URL(value).protocol);
}

/** An address with a path behind it; as much of the path as it has already is not repeated. */
export function withPath(base: string, path: string): string {
  const url = new URL(base);
  const given = url.pathname.replace(/\/+$/, '');
  const parts = path.split('/').slice(1);
  for (let length = parts.length; length >= 0; length -= 1) {
    const head = parts
      .slice(0, length)
      .map((part) => `/${part}`)
      .join('');
    if (!given.endsWith(head)) continue;
    url.pathname =
      given +
      parts
        .slice(length)
        .map((part) => `/${part}`)
        .join('');
    break;
  }
  return url.href;
}
