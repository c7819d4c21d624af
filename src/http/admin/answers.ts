import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type ProblemDetail, problem } from '../../problems.ts';
import type { ReloadReport, WriteNote } from '../../services/config/reconfigure.ts';
import { shown } from '../../services/config/state-codec.ts';
import type { ConfigRecord, ResourceKind } from '../../services/resources/define.ts';
import type { ResourceName } from '../../services/resources/index.ts';
import type { Admin } from '../../services.ts';

/** How a write went live. */
const Reload = z
  .object({
    status: z.enum(['reloaded', 'restart_required', 'reload_failed']),
    message: z.string(),
    error: z.string().nullable(),
  })
  .meta({ id: 'ReloadOutcome' });

const EXAMPLE_ID = '3b0f3a0e-5f0c-4a52-9a54-0d9f7a1b2c3d';
const EXAMPLE_TIME = '2026-01-01T00:00:00.000Z';

/** What every write of the configuration answers (admin contract, section 2). */
export function mutation<Data extends z.ZodType>(data: Data, example: unknown) {
  const reload = { status: 'reloaded', message: 'The change is stored and live (generation 2).', error: null };
  return z.object({ data, reload: Reload }).meta({ examples: [{ data: example, reload }] });
}

/** A record as it is read, for examples. */
export function exampleOf(kind: ResourceKind): Record<string, unknown> {
  if (kind.cardinality === 'singleton') return { ...kind.example, updatedAt: EXAMPLE_TIME };
  const slug = kind.slugged ? { slug: String(kind.example.name).toLowerCase().replaceAll(' ', '-') } : { version: 1 };
  return { id: EXAMPLE_ID, ...slug, ...kind.example, createdAt: EXAMPLE_TIME, updatedAt: EXAMPLE_TIME };
}

/** What a delete answers. */
export const DELETED = { id: EXAMPLE_ID, deleted: true };

/** How a record of a resource is read. */
export function readSchema(kind: ResourceKind, id: string) {
  const times = { createdAt: z.iso.datetime(), updatedAt: z.iso.datetime() };
  if (kind.cardinality === 'singleton') {
    return kind.data.extend({ updatedAt: times.updatedAt }).meta({ id, examples: [exampleOf(kind)] });
  }
  const slug = kind.slugged ? { slug: z.string() } : {};
  return z.object({ id: z.uuid(), ...slug, ...kind.data.shape, ...times }).meta({ id, examples: [exampleOf(kind)] });
}

/** A record as it is read: secrets masked, times in ISO 8601. */
export function readRecord(kind: ResourceKind, record: ConfigRecord): Record<string, unknown> {
  const data = shown(kind.name as ResourceName, record.data);
  const updatedAt = isoTime(record.updatedAt);
  if (kind.cardinality === 'singleton') return { ...data, updatedAt };
  const slug = kind.slugged ? { slug: record.slug } : {};
  return { id: record.id, ...slug, ...data, createdAt: isoTime(record.createdAt), updatedAt };
}

export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** The header by which a writer says which revision it has seen. */
export const ifMatch = z.looseObject({
  'if-match': z
    .string()
    .optional()
    .describe('Number of the revision the change was made on; 412 when there is a newer one.'),
});

/** Who writes what, as a request says it. @throws Problem `validation_failed` for an `If-Match` that is no number. */
export function noteOf(request: FastifyRequest, resource: string, action: string): WriteNote {
  const given = request.headers['if-match'];
  const note = { by: request.audit, resource, action };
  if (given === undefined || given.trim() === '*') return note;
  const number = /^(?:W\/)?"?(\d{1,15})"?$/.exec(given.trim())?.[1];
  if (number !== undefined) return { ...note, ifMatch: Number(number) };
  const detail: ProblemDetail = {
    loc: ['header', 'if-match'],
    msg: 'must be the number of a revision, as the ETag of a read gives it',
    type: 'value_error',
  };
  throw problem('validation_failed', { details: [detail] });
}

/** Tells the reader which revision it has read. */
export function tag(reply: FastifyReply, revision: number): void {
  reply.header('ETag', `"${revision}"`);
}

/** What the admin surface works with. */
export function adminOf(request: FastifyRequest): Admin {
  const { admin } = request.server.services;
  // Its routes are not registered without it.
  if (admin === undefined) throw problem('not_found');
  return admin;
}

/** A write's answer. */
export function written(data: unknown, reload: ReloadReport) {
  return { data, reload };
}

/** A body's members, those that were not sent left out. */
export function given(body: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
}

/** A schema's member as a patch has it: optional, without its default, and null where that means "as it is". */
export function patchMember(schema: z.ZodType, nullable: boolean): z.ZodType {
  let inner: z.ZodType = schema;
  while (inner instanceof z.ZodDefault) inner = inner.unwrap() as z.ZodType;
  return nullable ? inner.nullish() : inner.optional();
}
