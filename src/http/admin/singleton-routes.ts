import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { drop, findSingleton, put } from '../../services/config/change.ts';
import type { SingletonKind } from '../../services/resources/define.ts';
import { answer, errorResponses } from '../responses.ts';
import {
  adminOf,
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

/** The three routes of a singleton: read, write, delete (admin contract, sections 1, 2, 6 to 8). */
export async function singletonRoutes(
  app: FastifyInstance,
  { kind, component, prepare }: { kind: SingletonKind; component: string; prepare?: (body: unknown) => unknown },
): Promise<void> {
  const routes = app.withTypeProvider<ZodTypeProvider>();
  const { name, title } = kind;
  const tags = [kind.tag];
  const path = `/admin/api/v1/${name}`;
  const Record = readSchema(kind, `${component}Read`);
  const members = Object.entries(kind.data.shape).map(([key, member]) => [key, patchMember(member as z.ZodType, true)]);
  const Patch = z.object(Object.fromEntries(members)).meta({ id: `${component}Patch`, examples: [kind.example] });

  routes.get(
    path,
    {
      schema: {
        tags,
        summary: `Read the ${title}`,
        response: { 200: answer(Record, `The ${title}`), ...errorResponses(403, 404, 503) },
      },
    },
    async (request, reply) => {
      const { state, revision } = await adminOf(request).reconfigure.read();
      tag(reply, revision);
      return readRecord(kind, findSingleton(state, kind)) as never;
    },
  );
  routes.patch(
    path,
    {
      // After both spellings have become one.
      ...(prepare !== undefined && {
        preValidation: async (request) => {
          request.body = prepare(request.body) as never;
        },
      }),
      schema: {
        tags,
        summary: `Write the ${title}`,
        description: `Made by its first write, which must bring ${kind.required.join(' and ')}; later ones change what they bring.`,
        headers: ifMatch,
        body: Patch,
        response: {
          200: answer(mutation(Record, exampleOf(kind)), 'Stored and live'),
          ...errorResponses(403, 412, 413, 415, 422, 500, 503),
        },
      },
    },
    async (request, reply) => {
      const { reconfigure } = adminOf(request);
      const change = put(kind, given(request.body as object));
      const { result, reload, revision } = await reconfigure.write(noteOf(request, name, 'update'), change);
      tag(reply, revision);
      return written(readRecord(kind, result), reload) as never;
    },
  );
  routes.delete(
    path,
    {
      schema: {
        tags,
        summary: `Delete the ${title}`,
        headers: ifMatch,
        response: {
          200: answer(mutation(z.object({ deleted: z.literal(true) }), { deleted: true }), 'Gone'),
          ...errorResponses(403, 404, 412, 422, 500, 503),
        },
      },
    },
    async (request, reply) => {
      const { reconfigure } = adminOf(request);
      const { result, reload, revision } = await reconfigure.write(noteOf(request, name, 'delete'), drop(kind));
      tag(reply, revision);
      return written(result, reload) as never;
    },
  );
}
