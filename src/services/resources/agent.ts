import { z } from 'zod';
import { defineSingleton } from './define.ts';

/** States of an agent. Only the managed route changes it; the server runs the agent in any. */
export const AgentStatus = z.enum(['draft', 'active', 'inactive', 'deprecated', 'error']).meta({ id: 'AgentStatus' });

/** The agent this server hosts. */
export const agent = defineSingleton({
  name: 'agent',
  title: 'agent',
  example: { name: 'Billing Helper', description: 'Answers billing questions', version: null, baseUrl: null },
  tag: 'Agent Configuration',
  required: [],
  data: z.object({
    name: z.string().trim().min(1).max(255),
    description: z.string().max(10_000).nullable().default(null),
    version: z.string().max(50).nullable().default(null),
    baseUrl: z.string().max(255).nullable().default(null),
    status: AgentStatus.default('draft'),
    baseEngineConfig: z.object({
      server: z.object({ api: z.object({ port: z.int().min(0).max(65_535) }) }),
      agent: z.object({
        type: z.string(),
        config: z.looseObject({
          settings: z.record(z.string(), z.unknown()).meta({ secret: 'named' }).optional(),
          store: z.looseObject({ db_url: z.string().optional().meta({ secret: 'url' }) }).nullish(),
        }),
      }),
    }),
  }),
});
