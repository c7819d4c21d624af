import { expect, test } from 'vitest';
import { z } from 'zod';
import { AgentGraph } from '../../../src/engine/drawing/agent-graph.ts';
import { CONTRACT_EXAMPLE } from './graphs.ts';

test('the contract example passes unchanged', () => {
  const example = JSON.parse(CONTRACT_EXAMPLE);
  expect(AgentGraph.parse(example)).toEqual(example);
});

test('a member that may be null may not be missing', () => {
  const example = JSON.parse(CONTRACT_EXAMPLE);
  delete example.nodes[0].model;
  delete example.edges[0].condition;
  expect(AgentGraph.safeParse(example).error?.issues.map(({ path }) => path.join('.'))).toEqual([
    'nodes.0.model',
    'edges.0.condition',
  ]);
});

test('its parts are named components of an OpenAPI document', () => {
  const { $defs } = z.toJSONSchema(AgentGraph, { io: 'output' });
  expect($defs?.AgentGraph?.required).toEqual(['format_version', 'metadata', 'nodes', 'edges']);
  expect(Object.keys($defs ?? {}).sort()).toEqual([
    'AgentGraph',
    'AgentGraphAgentNode',
    'AgentGraphEdge',
    'AgentGraphMetadata',
    'AgentGraphNode',
    'AgentGraphToolNode',
  ]);
});
