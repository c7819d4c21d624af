import { describe, expect, test } from 'vitest';
import { AgentGraph } from '../../../src/engine/drawing/agent-graph.ts';
import { drawAscii } from '../../../src/engine/drawing/ascii.ts';
import { agent, CONTRACT_EXAMPLE, chain, crew, edge, graph } from './graphs.ts';

describe('drawAscii', () => {
  test('the contract example', () => {
    expect(drawAscii(AgentGraph.parse(JSON.parse(CONTRACT_EXAMPLE)))).toBe(`ADK: desk

desk (sequential)
└── 1. triage (llm, m-small)
    └── tools
        └── lookup (native)`);
  });

  test('warnings, tools, loops and a node reached twice', () => {
    expect(drawAscii(crew())).toBe(`ADK: crew
! Unknown agent class Choir shown as custom.

crew (parallel)
├── drafts (loop ↻ max 3)
│   ├── writer (llm, m-large)
│   │   └── tools
│   │       ├── docs (mcp, sse https://docs.test)
│   │       └── search (built_in)
│   └── editor (llm)
└── [on air] host (llm)
    └── [asks · if unsure] editor (↑ drawn above)`);
  });

  test('steps come in their order', () => {
    const edges = [
      edge('a', 'c', { kind: 'sequential_step', order: 1 }),
      edge('a', 'b', { kind: 'sequential_step', order: 0 }),
    ];
    expect(drawAscii(graph([agent('a'), agent('b'), agent('c')], edges))).toBe(`ADK: desk

a (custom)
├── 1. b (custom)
└── 2. c (custom)`);
  });

  test('a graph of nothing', () => {
    expect(drawAscii(graph([], []))).toBe('ADK: desk\n\n(no nodes)');
  });

  test('cycles end, and a node may lead to itself', () => {
    const edges = [edge('a', 'b'), edge('b', 'b', { condition: 'again' }), edge('b', 'a')];
    expect(drawAscii(graph([agent('a'), agent('b')], edges))).toBe(`ADK: desk

a (custom)
└── b (custom)
    ├── [again] b (↑ drawn above)
    └── a (↑ drawn above)`);
  });

  test('nodes the root does not lead to are listed, heads first', () => {
    const nodes = [agent('a'), agent('tail'), agent('head'), agent('x'), agent('y')];
    const edges = [edge('head', 'tail'), edge('x', 'y'), edge('y', 'x')];
    expect(drawAscii(graph(nodes, edges))).toBe(`ADK: desk

a (custom)

Not reached from the root:
head (custom)
└── tail (custom)
x (custom)
└── y (custom)
    └── x (↑ drawn above)`);
  });

  test('a missing root and a missing target hide nothing', () => {
    expect(drawAscii(graph([agent('a')], [edge('a', 'ghost')], { root_id: 'gone' }))).toBe(`ADK: desk

Not reached from the root:
a (custom)
└── ghost (unknown)`);
  });

  test('names cannot add lines or steer a terminal', () => {
    const nodes = [agent('a', { name: 'one\n└── two\u001B[31m\u202E' }), agent('', { name: '\u2028' })];
    const text = drawAscii(graph(nodes, [edge('a', '', { label: 'x\r\ny' })], { agent_name: 'a\nb' }));
    expect(text).toBe('ADK: a b\n\none └── two\uFFFD[31m (custom)\n└── [x y] ? (custom)');
  });

  test('a long chain is cut into trees and stays small', () => {
    const text = drawAscii(chain(5000));
    expect(text.length).toBeLessThan(500_000);
    for (const id of [0, 32, 4999])
      expect(text.split('\n').filter((l) => l.endsWith(`node:${id} (custom)`))).toHaveLength(1);
    expect(text).toContain(`${'    '.repeat(31)}└── node:32 (↓ drawn below)\n\nnode:32 (custom)\n└── node:33 (custom)`);
  });

  test('a dense cyclic graph takes a line an edge', () => {
    const ids = Array.from({ length: 150 }, (_, index) => `node:${index}`);
    const edges = ids.flatMap((source) => ids.map((target) => edge(source, target)));
    const lines = drawAscii(
      graph(
        ids.map((id) => agent(id)),
        edges,
      ),
    ).split('\n');
    expect(lines.filter((line) => line.includes('── '))).toHaveLength(150 * 150);
    expect(lines.filter((line) => line.endsWith('(custom)'))).toHaveLength(150);
  });
});
