import type { AgentGraph, AgentGraphAgentNode, AgentGraphEdge } from './agent-graph.ts';

const START = '__start__';
const END = '__end__';

/** What we read of the graph LangGraph's `getGraphAsync()` returns; call it without `xray`, which opens subgraphs. */
export interface LangGraphDrawable {
  nodes: Record<string, { id: string; name?: string; data?: unknown; metadata?: Record<string, unknown> }>;
  edges: { source: string; target: string; data?: string; conditional?: boolean }[];
}

/** Turns a LangGraph drawable into our graph: the start node is the root, the end node and the way there are left out. */
export function buildLangGraphIr(agentName: string, drawable: LangGraphDrawable): AgentGraph {
  const ids = Object.values(drawable.nodes)
    .map(({ id }) => id)
    .filter((id) => id !== END);
  const edges = drawable.edges.filter(({ source, target }) => source !== END && target !== END);
  const root = findRoot(ids, edges);
  return {
    format_version: '1',
    metadata: { framework: 'LANGGRAPH', agent_name: agentName, root_id: nodeId(root), warnings: [] },
    nodes: ids.map((id) => buildNode(id, id === root)),
    edges: edges.map(buildEdge),
  };
}

// Every state graph has a start node; other runnables begin where nothing leads to.
function findRoot(ids: string[], edges: LangGraphDrawable['edges']): string {
  const targets = new Set(edges.map(({ target }) => target));
  return ids.find((id) => id === START) ?? ids.find((id) => !targets.has(id)) ?? ids[0] ?? START;
}

function buildNode(id: string, isRoot: boolean): AgentGraphAgentNode {
  return {
    kind: 'agent',
    id: nodeId(id),
    name: nodeName(id),
    agent_kind: 'custom',
    is_root: isRoot,
    description: null,
    model: null,
    loop_max_iterations: null,
  };
}

function buildEdge({ source, target, data, conditional }: LangGraphDrawable['edges'][number]): AgentGraphEdge {
  const text = data ?? null;
  return {
    source: nodeId(source),
    target: nodeId(target),
    kind: 'graph_edge',
    order: null,
    condition: conditional ? text : null,
    label: conditional ? null : text,
  };
}

function nodeId(id: string): string {
  return `node:${nodeName(id)}`;
}

// The drawable's `name` is not used: for a node whose key is a UUID it is its runnable's. LangGraph puts the one
// Mermaid keyword it knows in quotes; the author's name has none.
function nodeName(id: string): string {
  return id === '"subgraph"' ? 'subgraph' : id;
}
