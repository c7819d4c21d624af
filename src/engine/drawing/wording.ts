import type { AgentGraphEdge, AgentGraphNode } from './agent-graph.ts';

/** Puts any text on one printable line, so that a name can neither break a drawing nor steer a terminal. */
export function plainText(text: string): string {
  return text
    .replace(/\s+/g, ' ')
    .replace(/\p{Bidi_Control}/gu, '')
    .replace(/[\p{Cc}\p{Cs}]/gu, '\uFFFD')
    .trim();
}

/** The words a node is known by; never empty, as an empty Mermaid label is a syntax error. */
export function nodeName(node: AgentGraphNode): string {
  return plainText(node.name) || plainText(node.id) || '?';
}

/** The kind of a node, with the loop mark on a loop agent. */
export function nodeKind(node: AgentGraphNode): string {
  if (node.kind === 'tool') return node.tool_kind;
  return node.agent_kind === 'loop' ? `loop ${loopMark(node)}` : node.agent_kind;
}

/** The mark of repetition, with the bound when there is one. */
export function loopMark(node: AgentGraphNode | undefined): string {
  const max = node?.kind === 'agent' ? node.loop_max_iterations : null;
  return max === null ? '↻' : `↻ max ${max}`;
}

/** What an edge says about when it is taken; empty when it says nothing. */
export function edgeNote(edge: AgentGraphEdge): string {
  return [edge.label, edge.condition]
    .map((text) => plainText(text ?? ''))
    .filter(Boolean)
    .join(' · ');
}
