import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { exportYaml } from '../../services/config/export.ts';
import { resourceSchemas } from '../../services/resources/schemas.ts';
import { answer, errorResponses } from '../responses.ts';
import { adminOf, ifMatch, mutation, noteOf, tag, written } from './answers.ts';

const Status = z
  .object({
    lastStatus: z.string(),
    lastMessage: z.string(),
    lastError: z.string().nullable(),
    lastReloadedAt: z.iso.datetime(),
    generation: z
      .int()
      .describe('Counts up with each agent that was put into service since the server started; 0: none.'),
    revision: z.int(),
    failures: z
      .array(z.object({ name: z.string(), kind: z.enum(['mcp']), reason: z.string() }))
      .describe(
        'Parts of the running agent that do not work, while the rest does. They are tried again by themselves.',
      ),
  })
  .meta({
    id: 'RuntimeStatus',
    examples: [
      {
        lastStatus: 'reloaded',
        lastMessage: 'The change is stored and live (generation 2).',
        lastError: null,
        lastReloadedAt: '2026-01-01T00:00:00.000Z',
        generation: 2,
        revision: 3,
        failures: [{ name: 'clock', kind: 'mcp', reason: 'The connection was refused' }],
      },
    ],
  });

const Materialized = z
  .object({
    config: z.record(z.string(), z.unknown()),
    hash: z.string(),
    revision: z.int(),
    sources: z.record(z.string(), z.string()),
  })
  .meta({
    id: 'MaterializedConfiguration',
    examples: [{ config: {}, hash: 'e3b0c442…', revision: 3, sources: { agent: 'file', 'agent.name': 'environment' } }],
  });

const Schemas = z.record(z.string(), z.record(z.string(), z.unknown())).meta({
  id: 'ResourceSchemas',
  examples: [{ memory: { type: 'object', properties: { agentFramework: { type: 'string' } } } }],
});

const document = z.string().max(5_000_000).describe('A configuration file: YAML or JSON.');
const Document = z.union([z.object({ yaml: document }), z.object({ config: z.record(z.string(), z.unknown()) })]).meta({
  id: 'ConfigurationDocument',
  examples: [{ yaml: 'agent: {type: LANGGRAPH, config: {name: desk, graph_definition: "agent.ts:graph"}}' }],
});

/** The configuration as a whole: how it stands, what it can hold, out and in. */
export async function configurationRoutes(app: FastifyInstance): Promise<void> {
  const routes = app.withTypeProvider<ZodTypeProvider>();
  const tags = ['Agent Configuration'];
  routes.get(
    '/admin/api/v1/runtime/status',
    {
      schema: {
        tags,
        summary: 'How the last reload went',
        response: { 200: answer(Status, 'The outcome'), ...errorResponses(403, 404, 503) },
      },
    },
    async (request) => {
      const { configuration, mcp } = adminOf(request);
      return { ...(await configuration.status()), failures: mcp.failures() };
    },
  );
  routes.get(
    '/admin/api/v1/schemas',
    {
      serializerCompiler: () => (data) => JSON.stringify(data),
      schema: {
        tags,
        summary: 'What each resource can hold',
        description: 'A JSON Schema each, with titles, descriptions, defaults, and `secret` on what is never shown.',
        response: {
          200: answer(Schemas, 'By resource'),
          ...errorResponses(403, 503),
        },
      },
    },
    async () => resourceSchemas() as never,
  );
  routes.get(
    '/admin/api/v1/config/materialized',
    {
      schema: {
        tags,
        summary: 'The configuration the engine is built from',
        description:
          'Secrets masked. `sources` says of each part where it comes from: database, file, command line or environment.',
        response: {
          200: answer(Materialized, 'The configuration'),
          ...errorResponses(403, 503),
        },
      },
    },
    async (request) => adminOf(request).configuration.materialized(),
  );
  routes.post(
    '/admin/api/v1/validate',
    {
      config: { isDocument: true },
      schema: {
        tags,
        summary: 'Try a whole configuration out',
        description: 'Builds the agent it describes, reports, and swaps and stores nothing.',
        body: Document,
        response: {
          200: answer(z.object({ ok: z.literal(true) }).meta({ examples: [{ ok: true }] }), 'It would go live'),
          ...errorResponses(403, 413, 415, 422, 503),
        },
      },
    },
    async (request) => {
      await adminOf(request).configuration.tryOut(request.body);
      return { ok: true as const };
    },
  );
  app.get(
    '/admin/api/v1/config/export',
    {
      schema: {
        tags,
        summary: 'Export the configuration',
        description: 'As a configuration file, with a reference to a variable in the place of each secret.',
        response: {
          200: {
            description: 'The file',
            content: { 'application/yaml': { schema: z.string().meta({ examples: ['agent:\n  type: LANGGRAPH\n'] }) } },
          },
          ...errorResponses(403, 503),
        },
      },
      // A file, not a value.
      serializerCompiler: () => (data) => String(data),
    },
    async (request, reply) => {
      const { state, revision } = await adminOf(request).reconfigure.read();
      tag(reply, revision);
      return reply
        .type('application/yaml; charset=utf-8')
        .header('Content-Disposition', 'attachment; filename="config.yaml"')
        .send(exportYaml(state));
    },
  );
  routes.post(
    '/admin/api/v1/config/import',
    {
      config: { isDocument: true },
      schema: {
        tags,
        summary: 'Import a configuration',
        description: 'Replaces the whole configuration, all or nothing. `dry_run=true` only tries it out.',
        headers: ifMatch,
        querystring: z.object({ dry_run: z.stringbool().default(false) }),
        body: Document,
        response: {
          200: answer(
            mutation(z.object({ revision: z.int(), dryRun: z.boolean() }), { revision: 4, dryRun: false }),
            'Stored and live',
          ),
          ...errorResponses(403, 412, 413, 415, 422, 500, 503),
        },
      },
    },
    async (request, reply) => {
      const { configuration, reconfigure } = adminOf(request);
      if (request.query.dry_run) {
        await configuration.tryOut(request.body);
        const { revision } = await reconfigure.read();
        const reload = { status: 'reloaded' as const, message: 'It would go live. Nothing was changed.', error: null };
        return written({ revision, dryRun: true }, reload) as never;
      }
      const note = noteOf(request, 'configuration', 'import');
      const { revision, reload } = await configuration.replace(request.body, note);
      tag(reply, revision);
      return written({ revision, dryRun: false }, reload) as never;
    },
  );
}
