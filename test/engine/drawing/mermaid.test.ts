import { describe, expect, test } from 'vitest';
import { AgentGraph } from '../../../src/engine/drawing/agent-graph.ts';
import { drawMermaid } from '../../../src/engine/drawing/mermaid.ts';
import { agent, CONTRACT_EXAMPLE, chain, crew, edge, graph } from './graphs.ts';

const CLASSES = `
    classDef root fill:#fde68a,stroke:#b45309,stroke-width:3px,color:#451a03
    classDef agent fill:#dbeafe,stroke:#1d4ed8,color:#172554
    classDef native fill:#dcfce7,stroke:#15803d,color:#052e16
    classDef mcp fill:#f3e8ff,stroke:#7e22ce,color:#3b0764
    classDef built_in fill:#f1f5f9,stroke:#475569,color:#0f172a`;

// The lines we mean to write, and no other.
const LINE =
  /^ {4}(?:\w+(?:\["[^"\n]+"\]|\(\["[^"\n]+"\]\)):::(?:root|agent|native|mcp|built_in)|\w+ (?:-->|-\.->|==>)(?:\|"[^"\n]+"\|)? \w+|classDef \w+ [\w:#,-]+)$/;

const NASTY = [
  'direction TB',
  'direction\nLR',
  'end',
  'say "hi"',
  '`*bold*`',
  'x"]:::agent\n    click a call alert()',
  '|pipe| [box] (round) {brace}',
  '<img src=x onerror="alert(1)">',
  '%%{init: {"securityLevel": "loose"}}%%',
  '%% comment',
  '---',
  'style a fill:#f00;',
  '#quot; &lt; ﬂ°°60¶ß',
  '1. first',
  '__init__',
  'get_weather',
  'back\\slash',
  'línea 名前 😀',
  '\u202Eevil\u0000\u001B[31m\uD800',
  '\u2028',
  '',
];

/** What a reader sees of a label once Mermaid has decoded its entities. */
const shown = (label: string) => label.replace(/#(\d+);/g, (_, code) => String.fromCodePoint(Number(code)));

describe('drawMermaid', () => {
  test('the contract example', () => {
    expect(drawMermaid(AgentGraph.parse(JSON.parse(CONTRACT_EXAMPLE)))).toBe(`graph TD
    agent_desk["desk<br/>sequential"]:::root
    agent_triage["triage<br/>llm"]:::agent
    tool_lookup_triage(["lookup"]):::native
    agent_desk ==>|"1"| agent_triage
    agent_triage -.-> tool_lookup_triage${CLASSES}`);
  });

  test('every kind of agent, tool and edge', () => {
    expect(drawMermaid(crew())).toBe(`graph TD
    agent_crew["crew<br/>parallel"]:::root
    agent_drafts["drafts<br/>loop ↻ max 3"]:::agent
    agent_writer["writer<br/>llm"]:::agent
    agent_editor["editor<br/>llm"]:::agent
    agent_host["host<br/>llm"]:::agent
    tool_docs_writer(["docs<br/>sse https#58;#47;#47;docs#46;test"]):::mcp
    tool_search_writer(["search"]):::built_in
    agent_crew ==> agent_drafts
    agent_crew ==>|"on air"| agent_host
    agent_drafts -->|"↻ max 3"| agent_writer
    agent_drafts -->|"↻ max 3"| agent_editor
    agent_host -->|"asks · if unsure"| agent_editor
    agent_writer -.-> tool_docs_writer
    agent_writer -.-> tool_search_writer${CLASSES}`);
  });

  test('a graph of nothing is still a diagram', () => {
    expect(drawMermaid(graph([], []))).toBe(`graph TD${CLASSES}`);
  });

  test('a loop without a bound and a step without a number', () => {
    const nodes = [agent('agent:a', { agent_kind: 'loop' }), agent('agent:b', { agent_kind: 'sequential' })];
    const edges = [
      edge('agent:a', 'agent:b', { kind: 'loop_step' }),
      edge('agent:b', 'agent:a', { kind: 'sequential_step' }),
    ];
    const lines = drawMermaid(graph(nodes, edges)).split('\n');
    expect(lines[1]).toBe('    agent_a["agent#58;a<br/>loop ↻"]:::agent');
    expect(lines.slice(3, 5)).toEqual(['    agent_a -->|"↻"| agent_b', '    agent_b ==> agent_a']);
  });

  test.each(NASTY)('%j stays in its place as a name, an id, a label and a condition', (text) => {
    const nodes = [agent(`agent:${text}`, { name: text }), agent(text, { name: 'plain' })];
    const edges = [edge(`agent:${text}`, text, { label: text }), edge(text, `agent:${text}`, { condition: text })];
    const source = drawMermaid(graph(nodes, edges));
    const [heading, ...lines] = source.split('\n');
    expect(heading).toBe('graph TD');
    expect(lines).toHaveLength(9);
    for (const line of lines) expect(line).toMatch(LINE);
    // What Mermaid's own rewriting and lexing would trip over, quoted or not.
    expect(source).not.toMatch(/direction\s+(TB|BT|LR|RL|TD)/);
    expect(source).not.toMatch(/style.*:\S*#.*;|%%|"`|<(?!br\/>)|[°¶]/);
  });

  test.each([
    'say "hi"',
    'a|b[c](d){e}',
    '<b>x</b>',
    'direction TB',
    '#quot;',
    '1. first',
    'get_weather-v2',
    '名前 😀',
  ])('%j is shown as written', (text) => {
    const [, line] = drawMermaid(graph([agent('agent:a', { name: text })], [])).split('\n');
    expect(shown(line ?? '')).toBe(`    agent_a["${text}<br/>custom"]:::agent`);
  });

  test('common names stay readable in the source', () => {
    expect(drawMermaid(graph([agent('agent:a', { name: 'get_weather-v2 名前' })], []))).toContain(
      '["get_weather-v2 名前<br/>',
    );
  });

  test('ids that differ only in replaced characters stay apart', () => {
    const ids = ['tool:a@b', 'tool:a_b', 'tool:a:b', 'tool:a_b_2', 'end', 'n:end', '名', '前'];
    const lines = drawMermaid(
      graph(
        ids.map((id) => agent(id)),
        [edge('tool:a_b', '前')],
      ),
    ).split('\n');
    expect(lines.slice(1, 9).map((line) => line.trim().split('[')[0])).toEqual([
      'tool_a_b',
      'tool_a_b_2',
      'tool_a_b_3',
      'tool_a_b_2_2',
      'n_end',
      'n_n_end',
      'n__',
      'n___2',
    ]);
    expect(lines[9]).toBe('    tool_a_b_2 --> n___2');
  });

  test('a long chain', () => {
    expect(drawMermaid(chain(5000)).split('\n')).toHaveLength(1 + 5000 + 4999 + 5);
  });
});
