import type { AgentGraph, AgentGraphAgentNode, AgentGraphEdge } from '../../../src/engine/drawing/agent-graph.ts';

/** An agent node; `id` doubles as the name. */
export const agent = (id: string, more: Partial<AgentGraphAgentNode> = {}): AgentGraphAgentNode => ({
  kind: 'agent',
  id,
  name: id,
  agent_kind: 'custom',
  is_root: false,
  description: null,
  model: null,
  loop_max_iterations: null,
  ...more,
});

/** An edge of a workflow graph unless told otherwise. */
export const edge = (source: string, target: string, more: Partial<AgentGraphEdge> = {}): AgentGraphEdge => ({
  source,
  target,
  kind: 'graph_edge',
  order: null,
  condition: null,
  label: null,
  ...more,
});

/** A graph whose root is its first node. */
export const graph = (
  nodes: AgentGraph['nodes'],
  edges: AgentGraph['edges'],
  metadata: Partial<AgentGraph['metadata']> = {},
): AgentGraph => ({
  format_version: '1',
  metadata: { framework: 'ADK', agent_name: 'desk', root_id: nodes[0]?.id ?? '', warnings: [], ...metadata },
  nodes,
  edges,
});

/** A chain `node:0` → `node:1` → …, deeper than a call stack or a reader's screen. */
export const chain = (length: number): AgentGraph =>
  graph(
    Array.from({ length }, (_, index) => agent(`node:${index}`)),
    Array.from({ length: length - 1 }, (_, index) => edge(`node:${index}`, `node:${index + 1}`)),
  );

/** The example of the wire contract, as JSON, so that it goes through the schema. */
export const CONTRACT_EXAMPLE = `{"format_version":"1","metadata":{"framework":"ADK","agent_name":"desk","root_id":"agent:desk","warnings":[]},
 "nodes":[{"kind":"agent","id":"agent:desk","name":"desk","agent_kind":"sequential","is_root":true,"description":null,"model":null,"loop_max_iterations":null},
  {"kind":"agent","id":"agent:triage","name":"triage","agent_kind":"llm","is_root":false,"description":null,"model":"m-small","loop_max_iterations":null},
  {"kind":"tool","id":"tool:lookup@triage","name":"lookup","tool_kind":"native","description":null,"mcp_server_name":null}],
 "edges":[{"source":"agent:desk","target":"agent:triage","kind":"sequential_step","order":0,"condition":null,"label":null},
  {"source":"agent:triage","target":"tool:lookup@triage","kind":"tool_attach","order":null,"condition":null,"label":null}]}`;

/** Every kind of ADK agent, tool and edge at once. */
export const crew = (): AgentGraph =>
  graph(
    [
      agent('agent:crew', { name: 'crew', agent_kind: 'parallel', is_root: true }),
      agent('agent:drafts', { name: 'drafts', agent_kind: 'loop', loop_max_iterations: 3 }),
      agent('agent:writer', { name: 'writer', agent_kind: 'llm', model: 'm-large' }),
      agent('agent:editor', { name: 'editor', agent_kind: 'llm' }),
      agent('agent:host', { name: 'host', agent_kind: 'llm' }),
      {
        kind: 'tool',
        id: 'tool:docs@writer',
        name: 'docs',
        tool_kind: 'mcp',
        description: null,
        mcp_server_name: 'sse https://docs.test',
      },
      {
        kind: 'tool',
        id: 'tool:search@writer',
        name: 'search',
        tool_kind: 'built_in',
        description: 'Finds.',
        mcp_server_name: null,
      },
    ],
    [
      edge('agent:crew', 'agent:drafts', { kind: 'parallel_branch' }),
      edge('agent:crew', 'agent:host', { kind: 'parallel_branch', label: 'on air' }),
      edge('agent:drafts', 'agent:writer', { kind: 'loop_step' }),
      edge('agent:drafts', 'agent:editor', { kind: 'loop_step' }),
      edge('agent:host', 'agent:editor', { kind: 'parent_child', label: 'asks', condition: 'if unsure' }),
      edge('agent:writer', 'tool:docs@writer', { kind: 'tool_attach' }),
      edge('agent:writer', 'tool:search@writer', { kind: 'tool_attach' }),
    ],
    { agent_name: 'crew', warnings: ['Unknown agent class Choir\nshown as custom.'] },
  );
