import { z } from 'zod';

// The spellings are the wire's. Members that may be null are always present, so clients never meet `undefined`.

/** The frameworks a graph may say it was read from. */
export const AgentGraphFramework = z.enum([
  'LANGGRAPH',
  'ADK',
  'CREWAI',
  'CUSTOM',
  'TRANSLATION_AGENT',
  'CORRECTION_AGENT',
  'DEEP_RESEARCH_AGENT',
]);
/** One framework name. */
export type AgentGraphFramework = z.infer<typeof AgentGraphFramework>;

/** Says what the graph was read from, where to start reading it, and what could not be understood. */
export const AgentGraphMetadata = z
  .object({
    framework: AgentGraphFramework,
    agent_name: z.string(),
    root_id: z.string(),
    warnings: z.array(z.string()),
  })
  .meta({ id: 'AgentGraphMetadata' });
/** The metadata of one graph. */
export type AgentGraphMetadata = z.infer<typeof AgentGraphMetadata>;

/** A node that decides or works: an agent, or a step of a graph. */
export const AgentGraphAgentNode = z
  .object({
    kind: z.literal('agent'),
    id: z.string(),
    name: z.string(),
    agent_kind: z.enum(['llm', 'sequential', 'parallel', 'loop', 'custom']),
    is_root: z.boolean(),
    description: z.string().nullable(),
    model: z.string().nullable(),
    loop_max_iterations: z.int().nullable(),
  })
  .meta({ id: 'AgentGraphAgentNode' });
/** One agent node. */
export type AgentGraphAgentNode = z.infer<typeof AgentGraphAgentNode>;

/** A node an agent calls: a function, a built-in, or a whole MCP toolset. */
export const AgentGraphToolNode = z
  .object({
    kind: z.literal('tool'),
    id: z.string(),
    name: z.string(),
    tool_kind: z.enum(['native', 'mcp', 'built_in']),
    description: z.string().nullable(),
    mcp_server_name: z.string().nullable(),
  })
  .meta({ id: 'AgentGraphToolNode' });
/** One tool node. */
export type AgentGraphToolNode = z.infer<typeof AgentGraphToolNode>;

/** Any node, told apart by `kind`. */
export const AgentGraphNode = z
  .discriminatedUnion('kind', [AgentGraphAgentNode, AgentGraphToolNode])
  .meta({ id: 'AgentGraphNode' });
/** One node. */
export type AgentGraphNode = z.infer<typeof AgentGraphNode>;

/** A directed connection between two node ids. */
export const AgentGraphEdge = z
  .object({
    source: z.string(),
    target: z.string(),
    kind: z.enum(['parent_child', 'sequential_step', 'parallel_branch', 'loop_step', 'tool_attach', 'graph_edge']),
    order: z.int().nullable(),
    condition: z.string().nullable(),
    label: z.string().nullable(),
  })
  .meta({ id: 'AgentGraphEdge' });
/** One edge. */
export type AgentGraphEdge = z.infer<typeof AgentGraphEdge>;

/** The framework-agnostic picture of an agent, from which a UI or our own drawings render it. */
export const AgentGraph = z
  .object({
    format_version: z.literal('1'),
    metadata: AgentGraphMetadata,
    nodes: z.array(AgentGraphNode),
    edges: z.array(AgentGraphEdge),
  })
  .meta({
    id: 'AgentGraph',
    examples: [
      {
        format_version: '1',
        metadata: { framework: 'LANGGRAPH', agent_name: 'desk', root_id: 'node:__start__', warnings: [] },
        nodes: [
          {
            kind: 'agent',
            id: 'node:__start__',
            name: '__start__',
            agent_kind: 'custom',
            is_root: true,
            description: null,
            model: null,
            loop_max_iterations: null,
          },
        ],
        edges: [],
      },
    ],
  });
/** One agent's graph. */
export type AgentGraph = z.infer<typeof AgentGraph>;
