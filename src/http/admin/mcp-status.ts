import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { answer, errorResponses } from '../responses.ts';
import { adminOf } from './answers.ts';

const McpServerStatus = z
  .object({
    name: z.string().describe('What the agent knows it by.'),
    transport: z.string(),
    state: z.enum(['connecting', 'connected', 'failed']).describe('`failed` is tried again by itself.'),
    reason: z.string().nullable().describe('Why it is not connected, in one line; null when it is.'),
    since: z.iso.datetime(),
    tools: z.array(z.string()).describe("The tools the agent has of it, by the agent's names for them."),
  })
  .meta({
    id: 'McpServerStatus',
    examples: [
      {
        name: 'clock',
        transport: 'streamable_http',
        state: 'connected',
        reason: null,
        since: '2026-01-01T00:00:00.000Z',
        tools: ['clock_now'],
      },
    ],
  });

/** How the tool servers of the running agent stand; beside what is stored of them. */
export async function mcpStatusRoutes(app: FastifyInstance): Promise<void> {
  const routes = app.withTypeProvider<ZodTypeProvider>();
  routes.get(
    '/admin/api/v1/mcp-servers/status',
    {
      schema: {
        tags: ['Integrations & Tools'],
        summary: 'How the MCP servers of the running agent stand',
        description:
          'In the order of the configuration. Disabled ones, and those of an agent that is not running, have none.',
        response: { 200: answer(z.array(McpServerStatus), 'The servers'), ...errorResponses(403, 503) },
      },
    },
    async (request) => adminOf(request).mcp.servers(),
  );
}
