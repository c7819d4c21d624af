import { expect, test } from 'vitest';
import { McpServerConfig } from '../../../src/engine/mcp/config.ts';
import type { McpConnection } from '../../../src/engine/mcp/connection.ts';
import { nameTools } from '../../../src/engine/mcp/tool-names.ts';

const server = (name: string, tools: string[], more: object = {}) => ({
  config: McpServerConfig.parse({ name, url: 'http://127.0.0.1/mcp', ...more }),
  connection: {
    tools: tools.map((tool) => ({ name: tool, inputSchema: { type: 'object' } })),
  } as unknown as McpConnection,
});

const names = (...servers: ReturnType<typeof server>[]): string[] => nameTools(servers).map(({ name }) => name);

test('names that only one server has stay, others get the server’s before them', () => {
  expect(names(server('a', ['x', 'y']), server('b', ['y', 'z']))).toEqual(['x', 'a_y', 'b_y', 'z']);
  expect(names(server('a', ['x', 'y'], { toolAllowList: ['x'] }), server('b', ['y']))).toEqual(['x', 'y']);
});

test('what models do not take for a name is mended, and stays apart', () => {
  expect(names(server('a', ['files/read', 'files.read']))).toEqual(['files_read', 'files_read_2']);
  expect(names(server('a', ['b_c']), server('a_b', ['c', 'x']), server('z', ['c', 'a_b_c']))).toEqual([
    'b_c',
    'a_b_c',
    'x',
    'z_c',
    'a_b_c_2',
  ]);
  const [long] = names(server('a', ['n'.repeat(100)]));
  expect(long).toHaveLength(64);
});
