import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { RequestOptions } from '@modelcontextprotocol/sdk/shared/protocol.js';
import type { Tool } from '@modelcontextprotocol/sdk/types.js';
import { ConnectionFailure } from '../../outbound/failure.ts';

/** What a list of tools may have. */
const PAGES = 100;
const TOOLS = 10_000;

/**
 * Lists the tools of a connected server, the first of each name, in the server's order.
 *
 * @throws ConnectionFailure for a list without end, and what the SDK throws.
 */
export async function listTools(client: Client, limits: RequestOptions): Promise<Tool[]> {
  if (client.getServerCapabilities()?.tools === undefined) return [];
  const { ListToolsResultSchema } = await import('@modelcontextprotocol/sdk/types.js');
  const tools = new Map<string, Tool>();
  let cursor: string | undefined;
  for (let page = 1; page <= PAGES; page += 1) {
    const params = cursor === undefined ? {} : { cursor };
    // The client's own listTools also compiles every tool's schema, and fails for all when one is wrong.
    const answer = await client.request({ method: 'tools/list', params }, ListToolsResultSchema, limits);
    for (const tool of answer.tools) if (!tools.has(tool.name)) tools.set(tool.name, tool);
    if (tools.size > TOOLS) throw new ConnectionFailure(`The server lists more than ${TOOLS} tools`);
    // An empty cursor is one some servers end with.
    if (!answer.nextCursor || answer.nextCursor === cursor) return [...tools.values()];
    cursor = answer.nextCursor;
  }
  throw new ConnectionFailure(`The server lists its tools on more than ${PAGES} pages`);
}
