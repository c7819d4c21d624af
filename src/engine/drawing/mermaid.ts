import type { AgentGraph, AgentGraphEdge, AgentGraphNode } from './agent-graph.ts';
import { edgeNote, loopMark, nodeKind, nodeName, plainText } from './wording.ts';

const ARROWS: Record<AgentGraphEdge['kind'], string> = {
  parent_child: '-->',
  graph_edge: '-->',
  loop_step: '-->',
  tool_attach: '-.->',
  parallel_branch: '==>',
  sequential_step: '==>',
};

// Text colours are set too, so that the boxes stay readable in a dark theme.
const CLASSES = [
  'classDef root fill:#fde68a,stroke:#b45309,stroke-width:3px,color:#451a03',
  'classDef agent fill:#dbeafe,stroke:#1d4ed8,color:#172554',
  'classDef native fill:#dcfce7,stroke:#15803d,color:#052e16',
  'classDef mcp fill:#f3e8ff,stroke:#7e22ce,color:#3b0764',
  'classDef built_in fill:#f1f5f9,stroke:#475569,color:#0f172a',
];

/** Draws a graph as Mermaid source, top-down; no name, label or id can break out of its place. */
export function drawMermaid(graph: AgentGraph): string {
  const nodes = new Map(graph.nodes.map((node) => [node.id, node]));
  const idOf = createIds();
  const lines = [
    'graph TD',
    ...graph.nodes.map((node) => `${idOf(node.id)}${shape(node)}`),
    ...graph.edges.map((edge) => {
      const text = escapeText(arrowText(edge, nodes.get(edge.source)));
      return `${idOf(edge.source)} ${ARROWS[edge.kind]}${text && `|"${text}"|`} ${idOf(edge.target)}`;
    }),
    ...CLASSES,
  ];
  return lines.join('\n    ');
}

function shape(node: AgentGraphNode): string {
  if (node.kind === 'agent') {
    return `["${labelOf(nodeName(node), nodeKind(node))}"]:::${node.is_root ? 'root' : 'agent'}`;
  }
  return `(["${labelOf(nodeName(node), plainText(node.mcp_server_name ?? ''))}"]):::${node.tool_kind}`;
}

function labelOf(...rows: string[]): string {
  return rows.filter(Boolean).map(escapeText).join('<br/>');
}

function arrowText(edge: AgentGraphEdge, source: AgentGraphNode | undefined): string {
  const step = edge.kind === 'sequential_step' && edge.order !== null ? `${edge.order + 1}` : '';
  const loop = edge.kind === 'loop_step' ? loopMark(source) : '';
  return [step, loop, edgeNote(edge)].filter(Boolean).join(' · ');
}

// Mermaid rewrites the source before it parses it (comments, directives, `style…;`), reads labels as Markdown and
// HTML, and keeps ° and ¶ for itself: every ASCII sign is therefore written as an entity, except a comma and a dash
// or underscore inside a word. Its lexer also takes a whole line with `direction TB` in it, quoted or not, as a command.
function escapeText(text: string): string {
  return text
    .replace(/(?<![a-z0-9])[-_]|[-_](?![a-z0-9])|[!-+./:-@[-^`{-~°¶]/gi, (sign) => `#${sign.codePointAt(0)};`)
    .replace(/(direction) /gi, '$1#32;');
}

// The prefix keeps a foreign id from starting with a keyword such as `end` or `graph`; the number tells apart ids
// that differ only in replaced characters.
function createIds(): (id: string) => string {
  const given = new Map<string, string>();
  const uses = new Map<string, number>();
  return (id) => {
    const known = given.get(id);
    if (known !== undefined) return known;
    const plain = id.replace(/[^A-Za-z0-9_]/g, '_');
    const base = /^(agent|tool|node)_/.test(plain) ? plain : `n_${plain}`;
    let count = uses.get(base) ?? 0;
    let safe: string;
    do {
      count += 1;
      safe = count === 1 ? base : `${base}_${count}`;
    } while (safe !== base && uses.has(safe));
    uses.set(base, count);
    if (safe !== base) uses.set(safe, 1);
    given.set(id, safe);
    return safe;
  };
}
