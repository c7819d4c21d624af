import type { Tool } from '@modelcontextprotocol/sdk/types.js';
import type { McpServerConfig } from './config.ts';
import type { McpConnection } from './connection.ts';

/** A tool of a server, as an agent gets it. */
export interface McpTool {
  /** What the agent and its model know it by. */
  readonly name: string;
  /** Name of its server. */
  readonly server: string;
  /** As the server describes it, under its own name. */
  readonly tool: Tool;
  readonly needsApproval: boolean;
  readonly connection: McpConnection;
}

/** What models take for a name. */
const NAME_LENGTH = 64;

/**
 * The tools an agent gets of its servers: those its lists allow, and none that cannot be called at once. A name that
 * two servers use gets the server's name before it, in both.
 */
export function nameTools(servers: readonly { config: McpServerConfig; connection: McpConnection }[]): McpTool[] {
  const found = servers.flatMap(({ config, connection }) =>
    connection.tools
      .filter(({ name }) => config.toolAllowList?.includes(name) ?? true)
      // Such a tool answers with a ticket, and the result is to be fetched later.
      .filter(({ execution }) => execution?.taskSupport !== 'required')
      .map((tool) => ({ server: config.name, tool, connection, needsApproval: asks(config, tool.name) })),
  );
  const users = new Map<string, Set<string>>();
  for (const { server, tool } of found) {
    const name = clean(tool.name);
    users.set(name, (users.get(name) ?? new Set()).add(server));
  }
  const taken = new Set<string>();
  return found.map((entry) => {
    const own = clean(entry.tool.name);
    const wanted = users.get(own)?.size === 1 ? own : clean(`${entry.server}_${own}`);
    let name = wanted;
    for (let number = 2; taken.has(name); number += 1) name = `${wanted.slice(0, NAME_LENGTH - 4)}_${number}`;
    taken.add(name);
    return { ...entry, name };
  });
}

function asks({ requireApproval }: McpServerConfig, tool: string): boolean {
  return Array.isArray(requireApproval) ? requireApproval.includes(tool) : requireApproval;
}

function clean(name: string): string {
  return name.replace(/[^\w-]/g, '_').slice(0, NAME_LENGTH);
}
