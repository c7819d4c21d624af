import { z } from 'zod';
import { FRAMEWORKS } from '../../engine/agent.ts';
import { defineSingleton } from './define.ts';

const db = (schemes: string[], example: string) =>
  z
    .string()
    .max(2_000)
    .refine((url) => schemes.some((scheme) => url.startsWith(scheme) || url.startsWith('${')), {
      error: `must start with ${schemes.join(' or ')}`,
    })
    .meta({ secret: 'url', title: 'Database URL', examples: [example] });

/** Where conversations are kept (admin contract, section 6). */
export const MemoryPayload = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('memory') }).meta({ title: 'In process, for graph agents' }),
    z
      .object({ type: z.literal('sqlite'), db_url: db(['sqlite:///'], 'sqlite:///./data/conversations.db') })
      .meta({ title: 'SQLite, for graph agents' }),
    z
      .object({ type: z.literal('postgres'), db_url: db(['postgresql://', 'postgres://'], 'postgresql://host/chat') })
      .meta({ title: 'PostgreSQL, for graph agents' }),
    z.object({ type: z.literal('in_memory') }).meta({ title: 'In process, for ADK agents' }),
    z
      .object({
        type: z.literal('database'),
        db_url: db(['sqlite:///', 'postgresql://', 'postgres://'], 'sqlite:///./data/sessions.db'),
      })
      .meta({ title: 'Database, for ADK agents' }),
    z
      .object({
        type: z.literal('vertex_ai'),
        project_id: z.string().min(1),
        location: z.string().min(1),
        reasoning_engine_app_name: z.string().min(1),
      })
      .meta({ title: 'Vertex AI, for ADK agents' }),
  ])
  .meta({ id: 'MemoryPayload' });

/** Kinds of memory each framework's agents can have. */
export const MEMORY_FAMILIES = {
  LANGGRAPH: ['memory', 'sqlite', 'postgres'],
  ADK: ['in_memory', 'database', 'vertex_ai'],
} as const;

export const memory = defineSingleton({
  name: 'memory',
  title: 'memory',
  example: { agentFramework: 'LANGGRAPH', memory: { type: 'sqlite', db_url: 'sqlite:///./data/conversations.db' } },
  tag: 'Agent Configuration',
  required: ['agentFramework', 'memory'],
  data: z.object({ agentFramework: z.enum(FRAMEWORKS), memory: MemoryPayload }),
});
