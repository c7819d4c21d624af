import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { patchAgent } from '../../services/config/agent-record.ts';
import { findSingleton } from '../../services/config/change.ts';
import { shown } from '../../services/config/state-codec.ts';
import { agent as kind } from '../../services/resources/agent.ts';
import type { ConfigRecord } from '../../services/resources/define.ts';
import { answer, errorResponses } from '../responses.ts';
import { adminOf, given, ifMatch, isoTime, mutation, noteOf, patchMember, tag, written } from './answers.ts';

const { name, description, version, baseUrl, status } = kind.data.shape;
const layer = z.null().describe('Only filled where the whole configuration is shown.');

const NO_LAYERS = {
  mcpServers: null,
  guardrails: null,
  observability: null,
  sso: null,
  integrations: null,
  prompts: null,
};

/** An agent, for examples. */
export const AGENT_EXAMPLE = {
  id: '0c7fd1f0-3f2d-4a77-9a1b-0f4d2d3c1b2a',
  slug: null,
  name: 'Billing Helper',
  description: 'Answers billing questions',
  version: null,
  status: 'draft' as const,
  baseUrl: null,
  baseEngineConfig: {
    server: { api: { port: 8000 } },
    agent: { type: 'LANGGRAPH', config: { name: 'billing_helper', graph_definition: 'agent.ts:graph' } },
    ...NO_LAYERS,
  },
  createdAt: '2026-01-01T00:00:00.000Z',
  updatedAt: '2026-01-01T00:00:00.000Z',
};

/** The agent as an admin sees it (admin contract, section 5). */
export const AgentRead = z
  .object({
    id: z.uuid(),
    slug: z.string().nullable(),
    name,
    description: z.string().nullable(),
    version: z.string().nullable(),
    status,
    baseUrl: z.string().nullable(),
    baseEngineConfig: z.object({
      server: z.record(z.string(), z.unknown()),
      agent: z.record(z.string(), z.unknown()),
      mcpServers: layer,
      guardrails: layer,
      observability: layer,
      sso: layer,
      integrations: layer,
      prompts: layer,
    }),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: 'AgentRead', examples: [AGENT_EXAMPLE] });

const AgentPatch = z
  .object({
    name: patchMember(name, false),
    description: patchMember(description, true),
    version: patchMember(version, true),
    baseUrl: patchMember(baseUrl, true),
  })
  .meta({ id: 'AgentPatch', examples: [kind.example] });

/** The agent as {@link AgentRead} describes it. */
export function readAgent(record: ConfigRecord): z.infer<typeof AgentRead> {
  const { baseEngineConfig, ...data } = shown('agent', record.data);
  return {
    id: record.id,
    slug: null,
    ...data,
    baseEngineConfig: { ...(baseEngineConfig as object), ...NO_LAYERS },
    createdAt: isoTime(record.createdAt),
    updatedAt: isoTime(record.updatedAt),
  } as z.infer<typeof AgentRead>;
}

/** What the agent is called and how it is described. It is made by onboarding or the configuration file. */
export async function agentRoutes(app: FastifyInstance): Promise<void> {
  const routes = app.withTypeProvider<ZodTypeProvider>();
  const tags = [kind.tag];
  routes.get(
    '/admin/api/v1/agent',
    {
      schema: {
        tags,
        summary: 'Read the agent',
        response: { 200: answer(AgentRead, 'The agent'), ...errorResponses(403, 404, 503) },
      },
    },
    async (request, reply) => {
      const { state, revision } = await adminOf(request).reconfigure.read();
      tag(reply, revision);
      return readAgent(findSingleton(state, kind));
    },
  );
  routes.patch(
    '/admin/api/v1/agent',
    {
      schema: {
        tags,
        summary: 'Describe the agent',
        description: 'Absent members stay as they are; null clears a description, a version or a base URL.',
        headers: ifMatch,
        body: AgentPatch,
        response: {
          200: answer(mutation(AgentRead, AGENT_EXAMPLE), 'Stored and live'),
          ...errorResponses(403, 404, 412, 413, 415, 422, 500, 503),
        },
      },
    },
    async (request, reply) => {
      const { reconfigure } = adminOf(request);
      const note = noteOf(request, 'agent', 'update');
      const { result, reload, revision } = await reconfigure.write(note, patchAgent(given(request.body)));
      tag(reply, revision);
      return written(readAgent(result), reload) as never;
    },
  );
}
