import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { AgentGraph } from '../../engine/drawing/agent-graph.ts';
import { CapabilitiesResponse } from '../../services/introspection.ts';
import { answer, errorResponses } from '../responses.ts';

const ConfigResponse = z
  .object({ config: z.object({ type: z.string(), config: z.record(z.string(), z.unknown()) }) })
  .meta({
    id: 'AgentConfig',
    examples: [
      {
        config: {
          type: 'LANGGRAPH',
          config: {
            name: 'desk',
            graph_definition: 'agent.ts:graph',
            checkpointer: { type: 'memory' },
            store: null,
            observability: null,
          },
        },
      },
    ],
  });

/** What the agent is and how it is built (runtime contract, sections 7 and 8). */
export async function introspectionRoutes(app: FastifyInstance): Promise<void> {
  const routes = app.withTypeProvider<ZodTypeProvider>();
  const { introspection } = app.services;
  const graphErrors = errorResponses(404, 500, 503);
  routes.get(
    '/agent/capabilities',
    {
      schema: {
        tags: ['Runtime'],
        summary: 'What the agent can do',
        description: 'Descriptor by which a UI sets itself up.',
        response: { 200: answer(CapabilitiesResponse, 'The descriptor'), ...errorResponses(503) },
      },
    },
    () => introspection.capabilities(),
  );
  routes.get(
    '/agent/config',
    {
      schema: {
        tags: ['Agent Configuration'],
        summary: 'The running configuration of the agent',
        description: 'The agent block after defaults. Secrets are masked.',
        response: { 200: answer(ConfigResponse, 'The configuration'), ...errorResponses(503) },
      },
    },
    () => introspection.config(),
  );
  routes.get(
    '/agent/graph',
    {
      schema: {
        tags: ['Agent Configuration'],
        summary: "The agent's structure",
        description: 'Nodes and edges, in one form for every framework.',
        response: { 200: answer(AgentGraph, 'Nodes and edges'), ...graphErrors },
      },
    },
    () => introspection.graph(),
  );
  routes.get(
    '/agent/graph/mermaid',
    {
      schema: {
        tags: ['Agent Configuration'],
        summary: "The agent's structure as a Mermaid diagram",
        response: {
          200: answer(
            z.object({ mermaid: z.string() }).meta({ examples: [{ mermaid: 'graph TD\n…' }] }),
            'Mermaid source',
          ),
          ...graphErrors,
        },
      },
    },
    () => introspection.mermaid(),
  );
  routes.get(
    '/agent/graph/ascii',
    {
      schema: {
        tags: ['Agent Configuration'],
        summary: "The agent's structure as text",
        response: {
          200: answer(
            z.object({ ascii: z.string() }).meta({ examples: [{ ascii: 'LANGGRAPH: desk\n…' }] }),
            'The drawing',
          ),
          ...graphErrors,
        },
      },
    },
    () => introspection.ascii(),
  );
}
