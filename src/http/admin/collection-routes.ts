import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { assembleOrder } from '../../services/config/assemble.ts';
import { create, findRecord, patch, remove } from '../../services/config/change.ts';
import type { CollectionKind, Policy } from '../../services/resources/define.ts';
import type { ResourceName } from '../../services/resources/index.ts';
import { answer, errorResponses } from '../responses.ts';
import {
  adminOf,
  DELETED,
  exampleOf,
  given,
  ifMatch,
  mutation,
  noteOf,
  patchMember,
  readRecord,
  readSchema,
  tag,
  written,
} from './answers.ts';

/** The five routes of a collection: list, create, read, patch, delete (admin contract, sections 1 and 2). */
export async function collectionRoutes(
  app: FastifyInstance,
  { kind, policy, component }: { kind: CollectionKind; policy: Policy; component: string },
): Promise<void> {
  const routes = app.withTypeProvider<ZodTypeProvider>();
  const { name, title, tag: group, idName } = kind;
  const path = `/admin/api/v1/${name}`;
  const Record = readSchema(kind, `${component}Read`);
  const Create = kind.create.meta({ id: `${component}Create`, examples: [kind.example] });
  const members = kind.patchable.map((key) => {
    const member = (kind.data.shape as { [key: string]: z.ZodType })[key] as z.ZodType;
    return [key, patchMember(member, !kind.notNull.includes(key))];
  });
  const Patch = z.object(Object.fromEntries(members)).meta({ id: `${component}Patch`, examples: [pick(kind)] });
  const params = z.object({ [idName]: z.uuid('Input should be a valid UUID') });
  const idOf = (request: { params: unknown }): string => String((request.params as { [key: string]: string })[idName]);
  const tags = [group];

  routes.get(
    path,
    {
      schema: {
        tags,
        summary: `List: ${title}s`,
        response: { 200: answer(z.array(Record), `The ${title}s`), ...errorResponses(403, 503) },
      },
    },
    async (request, reply) => {
      const { state, revision } = await adminOf(request).reconfigure.read();
      tag(reply, revision);
      return assembleOrder(state, name as ResourceName).map((record) => readRecord(kind, record)) as never;
    },
  );
  routes.post(
    path,
    {
      schema: {
        tags,
        summary: `Add a ${title}`,
        headers: ifMatch,
        body: Create,
        response: {
          201: answer(mutation(Record, exampleOf(kind)), 'Stored and live'),
          ...errorResponses(403, 409, 412, 413, 415, 422, 500, 503),
        },
      },
    },
    async (request, reply) => {
      const { reconfigure } = adminOf(request);
      const change = create(kind, request.body as { [key: string]: unknown }, policy);
      const { result, reload, revision } = await reconfigure.write(noteOf(request, name, 'create'), change);
      tag(reply, revision);
      return reply.status(201).send(written(readRecord(kind, result), reload) as never);
    },
  );
  routes.get(
    `${path}/:${idName}`,
    {
      schema: {
        tags,
        summary: `Read a ${title}`,
        params,
        response: { 200: answer(Record, `The ${title}`), ...errorResponses(403, 404, 422, 503) },
      },
    },
    async (request, reply) => {
      const { state, revision } = await adminOf(request).reconfigure.read();
      tag(reply, revision);
      return readRecord(kind, findRecord(state, kind, idOf(request))) as never;
    },
  );
  routes.patch(
    `${path}/:${idName}`,
    {
      schema: {
        tags,
        summary: `Change a ${title}`,
        description:
          'Members that are absent stay as they are; an inner object is replaced whole. Nothing sent: nothing done.',
        headers: ifMatch,
        params,
        body: Patch,
        response: {
          200: answer(mutation(Record, exampleOf(kind)), 'Stored and live'),
          ...errorResponses(403, 404, 409, 412, 413, 415, 422, 500, 503),
        },
      },
    },
    async (request, reply) => {
      const { reconfigure } = adminOf(request);
      const change = patch(kind, idOf(request), given(request.body as object), policy);
      const { result, reload, revision } = await reconfigure.write(noteOf(request, name, 'update'), change);
      tag(reply, revision);
      return written(readRecord(kind, result), reload) as never;
    },
  );
  routes.delete(
    `${path}/:${idName}`,
    {
      schema: {
        tags,
        summary: `Delete a ${title}`,
        headers: ifMatch,
        params,
        response: {
          200: answer(mutation(z.object({ id: z.uuid(), deleted: z.literal(true) }), DELETED), 'Gone'),
          ...errorResponses(403, 404, 412, 422, 500, 503),
        },
      },
    },
    async (request, reply) => {
      const { reconfigure } = adminOf(request);
      const note = noteOf(request, name, 'delete');
      const { result, reload, revision } = await reconfigure.write(note, remove(kind, idOf(request)));
      tag(reply, revision);
      return written(result, reload) as never;
    },
  );
}

/** A patch, for examples: the last member that may be patched. */
function pick({ patchable, example }: CollectionKind): Record<string, unknown> {
  const member = patchable.at(-1) ?? '';
  return { [member]: example[member] };
}
