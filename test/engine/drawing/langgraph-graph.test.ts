import { Annotation, END, START, StateGraph } from '@langchain/langgraph';
import { describe, expect, test } from 'vitest';
import { AgentGraph } from '../../../src/engine/drawing/agent-graph.ts';
import { drawAscii } from '../../../src/engine/drawing/ascii.ts';
import { buildLangGraphIr } from '../../../src/engine/drawing/langgraph-graph.ts';
import { drawMermaid } from '../../../src/engine/drawing/mermaid.ts';
import { agent, edge } from './graphs.ts';

const State = Annotation.Root({ text: Annotation<string>() });
const pass = () => ({});

async function buildDesk() {
  const research = new StateGraph(State)
    .addNode('read', pass)
    .addNode('write', pass)
    .addEdge(START, 'read')
    .addEdge('read', 'write')
    .compile();
  const desk = new StateGraph(State)
    .addNode('triage', pass)
    .addNode('research', research)
    .addNode('subgraph', pass)
    .addNode('answer', pass, { ends: ['triage', END] })
    .addEdge(START, 'triage')
    .addEdge('research', 'triage')
    .addEdge('subgraph', 'answer')
    .addConditionalEdges('triage', () => 'clear', {
      'needs "facts"': 'research',
      clear: 'subgraph',
      answer: 'answer',
      stop: END,
    })
    .compile();
  return buildLangGraphIr('desk', await desk.getGraphAsync());
}

describe('buildLangGraphIr', () => {
  test('reads a compiled state graph', async () => {
    const ir = await buildDesk();
    expect(AgentGraph.parse(ir)).toEqual(ir);
    expect(ir).toEqual({
      format_version: '1',
      metadata: { framework: 'LANGGRAPH', agent_name: 'desk', root_id: 'node:__start__', warnings: [] },
      nodes: ['__start__', 'triage', 'research', 'subgraph', 'answer'].map((name) =>
        agent(`node:${name}`, { name, is_root: name === '__start__' }),
      ),
      edges: [
        edge('node:__start__', 'node:triage'),
        edge('node:research', 'node:triage'),
        edge('node:subgraph', 'node:answer'),
        edge('node:triage', 'node:research', { condition: 'needs "facts"' }),
        edge('node:triage', 'node:subgraph', { condition: 'clear' }),
        // LangGraph drops the data of a branch named after its target.
        edge('node:triage', 'node:answer'),
        edge('node:answer', 'node:triage'),
      ],
    });
  });

  test('is drawn as text', async () => {
    expect(drawAscii(await buildDesk())).toBe(`LANGGRAPH: desk

__start__ (custom)
└── triage (custom)
    ├── [needs "facts"] research (custom)
    │   └── triage (↑ drawn above)
    ├── [clear] subgraph (custom)
    │   └── answer (custom)
    │       └── triage (↑ drawn above)
    └── answer (↑ drawn above)`);
  });

  test('is drawn as Mermaid', async () => {
    expect(drawMermaid(await buildDesk()).split('    classDef')[0]).toBe(`graph TD
    node___start__["#95;#95;start#95;#95;<br/>custom"]:::root
    node_triage["triage<br/>custom"]:::agent
    node_research["research<br/>custom"]:::agent
    node_subgraph["subgraph<br/>custom"]:::agent
    node_answer["answer<br/>custom"]:::agent
    node___start__ --> node_triage
    node_research --> node_triage
    node_subgraph --> node_answer
    node_triage -->|"needs #34;facts#34;"| node_research
    node_triage -->|"clear"| node_subgraph
    node_triage --> node_answer
    node_answer --> node_triage
`);
  });

  test('data on an unconditional edge is a label', () => {
    const nodes = { a: { id: 'a' }, b: { id: 'b' }, __end__: { id: '__end__' } };
    const ir = buildLangGraphIr('plain', {
      nodes,
      edges: [
        { source: 'a', target: 'b', data: 'then', conditional: false },
        { source: 'b', target: '__end__', data: 'done' },
      ],
    });
    expect(ir.metadata.root_id).toBe('node:a');
    expect(ir.nodes.map(({ id }) => id)).toEqual(['node:a', 'node:b']);
    expect(ir.edges).toEqual([edge('node:a', 'node:b', { label: 'then' })]);
  });

  test('an empty drawable', () => {
    const ir = buildLangGraphIr('empty', { nodes: {}, edges: [] });
    expect(AgentGraph.parse(ir)).toEqual(ir);
    expect(ir).toMatchObject({ metadata: { root_id: 'node:__start__' }, nodes: [], edges: [] });
  });
});
