import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { banList } from '../../engine/guardrails/ban-list.ts';
import { AgentStatus } from '../../services/resources/agent.ts';
import { adminOf } from '../admin/answers.ts';
import { accessFor } from '../plugins/gate.ts';
import { answer, errorResponses } from '../responses.ts';

const GUARDRAIL = {
  id: '9d1e6f1a-2b3c-4d5e-8f90-a1b2c3d4e5f6',
  name: 'No secrets',
  guardrail: { config_id: 'ban_list' as const, api_key: '', reject_message: '', banned_words: ['alpha'] },
  created_at: '2026-01-01T00:00:00.000Z',
  updated_at: '2026-01-01T00:00:00.000Z',
  agent_count: 1,
};

const ManagedGuardrail = z
  .object({
    id: z.uuid(),
    name: z.string(),
    guardrail: banList.config,
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
    agent_count: z.int().default(0).describe('Agents that use it: 1 when it is enabled, for a server hosts one.'),
  })
  .meta({ id: 'ManagedGuardrail', examples: [GUARDRAIL] });

const ids = z.array(z.uuid());
const ManagedAgent = z
  .object({
    id: z.uuid(),
    name: z.string(),
    engine_config: z.record(z.string(), z.unknown()).describe('The whole configuration, secrets masked.'),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
    status: AgentStatus,
    version: z.string().nullable(),
    base_url: z.string().nullable(),
    resources: z.object({
      memory_id: z.uuid().optional(),
      sso_id: z.uuid().optional(),
      guardrail_ids: z.array(z.object({ id: z.uuid(), position: z.string(), sort_order: z.int().default(0) })),
      mcp_server_ids: ids,
      observability_ids: ids,
      integration_ids: ids,
    }),
  })
  .meta({
    id: 'ManagedAgent',
    examples: [
      {
        id: '0c7fd1f0-3f2d-4a77-9a1b-0f4d2d3c1b2a',
        name: 'Billing Helper',
        engine_config: {},
        created_at: GUARDRAIL.created_at,
        updated_at: GUARDRAIL.updated_at,
        status: 'active',
        version: null,
        base_url: null,
        resources: { guardrail_ids: [], mcp_server_ids: [], observability_ids: [], integration_ids: [] },
      },
    ],
  });

const workspace = z.looseObject({
  'x-workspace-id': z
    .string()
    .max(255)
    .optional()
    .describe('Narrows to rows of that workspace; a row without one is visible to all.'),
});
const params = z.object({ id: z.string() });

/** The routes a managing platform calls (specification, managed-platform routes; contract decision 11). */
export async function managedRoutes(app: FastifyInstance): Promise<void> {
  accessFor(app, 'admin');
  const routes = app.withTypeProvider<ZodTypeProvider>();
  routes.patch(
    '/api/v1/guardrails/:id',
    {
      schema: {
        tags: ['Integrations & Tools'],
        summary: 'Replace a managed guardrail',
        headers: workspace,
        params,
        body: z.object({ name: z.string().trim().min(1).max(255), guardrail: banList.config }).meta({
          id: 'ManagedGuardrailPatch',
          examples: [{ name: GUARDRAIL.name, guardrail: GUARDRAIL.guardrail }],
        }),
        response: {
          200: answer(ManagedGuardrail, 'Stored and live'),
          ...errorResponses(403, 404, 409, 413, 415, 422, 500, 503),
        },
      },
    },
    (request) => adminOf(request).managed.updateGuardrail(request.params.id, request.body, request.audit),
  );
  routes.put(
    '/api/v1/agents/:id/status',
    {
      schema: {
        tags: ['Agent Configuration'],
        summary: "Note an agent's status",
        description: 'Any status may follow any other. Nothing is reloaded.',
        headers: workspace,
        params,
        body: z.object({ status: AgentStatus }).meta({ id: 'ManagedStatus', examples: [{ status: 'active' }] }),
        response: { 200: answer(ManagedAgent, 'The agent'), ...errorResponses(403, 404, 413, 415, 422, 500, 503) },
      },
    },
    (request) => adminOf(request).managed.setAgentStatus(request.params.id, request.body.status, request.audit),
  );
}
