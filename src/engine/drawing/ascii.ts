import type { AgentGraph, AgentGraphEdge } from './agent-graph.ts';
import { edgeNote, nodeKind, nodeName, plainText } from './wording.ts';

// Each level indents by four: without a bound a chain of n nodes costs n² characters.
const MAX_DEPTH = 32;

type Content = { id: string; step: string } | { tools: AgentGraphEdge[] };

interface Branch {
  content: Content;
  /** Printed before the branch's own text. */
  lead: string;
  /** Printed before everything beneath it. */
  under: string;
  depth: number;
}

/** Draws a graph as a text tree in which each node is expanded once. */
export function drawAscii(graph: AgentGraph): string {
  const { framework, agent_name, root_id, warnings } = graph.metadata;
  const nodes = new Map(graph.nodes.map((node) => [node.id, node]));
  const edgesFrom = groupBySource(graph.edges);
  const drawn = new Set<string>();
  const waiting = new Set<string>();
  const lines = [`${framework}: ${plainText(agent_name)}`, ...warnings.map((text) => `! ${plainText(text)}`)];

  // An explicit stack: agents may be deeper than the call stack.
  const drawTree = (root: string): void => {
    const stack: Branch[] = [{ content: { id: root, step: '' }, lead: '', under: '', depth: 0 }];
    for (let branch = stack.pop(); branch; branch = stack.pop()) {
      const { content, lead } = branch;
      if ('tools' in content) {
        lines.push(`${lead}tools`);
        for (const child of beneath(branch, content.tools.map(stepTo))) stack.push(child);
        continue;
      }
      const edges = edgesFrom.get(content.id) ?? [];
      const mark = markOf(content.id, edges, branch.depth);
      lines.push(`${lead}${content.step}${nameOf(content.id)} (${mark || kindOf(content.id)})`);
      if (mark) continue;
      drawn.add(content.id);
      for (const child of beneath(branch, contentsOf(edges))) stack.push(child);
    }
  };

  const markOf = (id: string, edges: AgentGraphEdge[], depth: number): string => {
    if (drawn.has(id)) return '↑ drawn above';
    if (depth === 0 || (!waiting.has(id) && (depth < MAX_DEPTH || edges.length === 0))) return '';
    waiting.add(id);
    return '↓ drawn below';
  };

  // An edge may name a node that is not listed; it is drawn all the same.
  const nameOf = (id: string): string => {
    const node = nodes.get(id);
    return node ? nodeName(node) : plainText(id) || '?';
  };

  const kindOf = (id: string): string => {
    const node = nodes.get(id);
    if (!node) return 'unknown';
    const detail = plainText((node.kind === 'agent' ? node.model : node.mcp_server_name) ?? '');
    return `${nodeKind(node)}${detail && `, ${detail}`}`;
  };

  // Trees cut off by MAX_DEPTH follow the tree they were cut from; a Set iterates over what is added meanwhile.
  const drawWithCuttings = (root: string): void => {
    drawTree(root);
    for (const id of waiting) {
      waiting.delete(id);
      lines.push('');
      drawTree(id);
    }
  };

  lines.push('');
  if (nodes.size === 0) lines.push('(no nodes)');
  if (nodes.has(root_id)) drawWithCuttings(root_id);

  const targets = new Set(graph.edges.map((edge) => edge.target));
  const unreached = [...nodes.keys()].filter((id) => !drawn.has(id));
  if (unreached.length > 0 && drawn.size > 0) lines.push('');
  if (unreached.length > 0) lines.push('Not reached from the root:');
  // Heads first, so that what they lead to is drawn beneath them.
  for (const id of [...unreached.filter((id) => !targets.has(id)), ...unreached]) {
    if (!drawn.has(id)) drawWithCuttings(id);
  }
  return lines.join('\n');
}

function groupBySource(edges: AgentGraphEdge[]): Map<string, AgentGraphEdge[]> {
  const groups = new Map<string, AgentGraphEdge[]>();
  for (const edge of edges) {
    const group = groups.get(edge.source);
    if (group) group.push(edge);
    else groups.set(edge.source, [edge]);
  }
  return groups;
}

// Last child first, as the stack gives back the last one pushed.
function beneath(parent: Branch, contents: Content[]): Branch[] {
  const last = contents.length - 1;
  return contents
    .map((content, index) => ({
      content,
      lead: `${parent.under}${index === last ? '└── ' : '├── '}`,
      under: `${parent.under}${index === last ? '    ' : '│   '}`,
      depth: parent.depth + 1,
    }))
    .reverse();
}

function contentsOf(edges: AgentGraphEdge[]): Content[] {
  const tools = edges.filter((edge) => edge.kind === 'tool_attach');
  const steps = edges
    .filter((edge) => edge.kind !== 'tool_attach')
    .sort((a, b) => (a.order ?? 0) - (b.order ?? 0))
    .map(stepTo);
  return tools.length > 0 ? [{ tools }, ...steps] : steps;
}

function stepTo(edge: AgentGraphEdge): Content {
  const number = edge.order === null ? '' : `${edge.order + 1}. `;
  const note = edgeNote(edge);
  return { id: edge.target, step: `${number}${note && `[${note}] `}` };
}
