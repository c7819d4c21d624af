import type { z } from 'zod';

/** Where a record came from: an admin, the configuration file of the first start, or the command line. */
export type Origin = 'database' | 'file' | 'command line';

/** What a server allows its admins. */
export interface Policy {
  /** Whether MCP servers that are programs may be configured over HTTP (contract decision 14). */
  allowStdio: boolean;
}

/** A stored record of a resource. Never changed in place: a write makes a new one. */
export interface ConfigRecord {
  /** A UUID. */
  readonly id: string;
  readonly slug: string | null;
  /** What the resource's schema describes, secrets in clear. */
  readonly data: Readonly<Record<string, unknown>>;
  /** Where it came from. */
  readonly origin: Origin;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** What all resources have. */
interface ResourceBase {
  /** Name in the store and last part of its routes' path. */
  readonly name: string;
  /** What one is called in messages and documents: `guardrail`. */
  readonly title: string;
  /** Tag of its routes in the OpenAPI document. */
  readonly tag: string;
  /** One, as it would be written. */
  readonly example: Readonly<Record<string, unknown>>;
  /** What is stored. Secrets are marked in it. */
  readonly data: z.ZodObject;
}

/** A resource of which there is one or none. */
export interface SingletonKind extends ResourceBase {
  readonly cardinality: 'singleton';
  /** Members the first write must bring. */
  readonly required: readonly string[];
}

/** A resource of which there are any number. */
export interface CollectionKind extends ResourceBase {
  readonly cardinality: 'collection';
  /** Name of the id in paths. */
  readonly idName: string;
  /** Body of a create; what the client does not decide is left out of it. */
  readonly create: z.ZodObject;
  /** Members a patch may change. */
  readonly patchable: readonly string[];
  /** Whether records have a slug, made from their name. */
  readonly slugged: boolean;
  /** Order of lists; records of equal rank by age. */
  readonly order: (left: ConfigRecord, right: ConfigRecord) => number;
  /** Members a patch may not set to null. Others that are null stay as they are. */
  readonly notNull: readonly string[];
  /** Refuses what this server does not allow. @throws Problem. */
  readonly permit?: (data: Record<string, unknown>, policy: Policy) => void;
  /** What a create adds that depends on the records there are. */
  readonly complete?: (data: Record<string, unknown>, records: readonly ConfigRecord[]) => Record<string, unknown>;
}

export type ResourceKind = SingletonKind | CollectionKind;

/** Types a resource of which there is one or none. */
export function defineSingleton<const Kind extends Omit<SingletonKind, 'cardinality'>>(kind: Kind) {
  return { cardinality: 'singleton' as const, ...kind };
}

/** Types a resource of which there are any number. */
export function defineCollection<const Kind extends Omit<CollectionKind, 'cardinality'>>(kind: Kind) {
  return { cardinality: 'collection' as const, ...kind };
}
