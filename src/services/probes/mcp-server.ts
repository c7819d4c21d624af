import { McpServerConfig } from '../../engine/mcp/config.ts';
import { listTools } from '../../engine/mcp/list-tools.ts';
import { routeTo } from '../../engine/mcp/transport.ts';
import { soon } from '../../engine/soon.ts';
import { ConnectionFailure } from '../../outbound/failure.ts';
import type { Targets } from '../../outbound/targets.ts';
import type { ConnectionCheck } from './connection-check.ts';
import { runProbe, type Variables } from './run-probe.ts';

/** Longest a request takes; what all of them take together is bounded elsewhere. */
const REQUEST_SECONDS = 5;

/** What saying goodbye may take. */
const LEAVE_MS = 500;

/** What a check of a tool server needs to know. */
export interface McpProbeOptions {
  variables: Variables;
  /** Whether programs may be started (SERVICE_ALLOW_STDIO_MCP). */
  allowStdio: boolean;
  /** Where a server may be. */
  targets: Targets;
  /** Folder a relative `cwd` counts from; by default the working directory. */
  root?: string;
}

/** Connects to a tool server and lists its tools. */
export function probeMcpServer(
  config: unknown,
  { variables, allowStdio, targets, root = process.cwd() }: McpProbeOptions,
): Promise<ConnectionCheck> {
  return runProbe(config, variables, {
    schema: McpServerConfig,
    secrets: ({ headers, env }) => [...Object.values(headers), ...Object.values(env)],
    async run(server, signal) {
      if (server.transport === 'stdio' && !allowStdio) {
        throw new ConnectionFailure('Transport stdio starts a program, which needs SERVICE_ALLOW_STDIO_MCP=true');
      }
      const tools = await toolNames(server, { root, targets, signal });
      return { name: server.name, transport: server.transport, tools, toolCount: tools.length };
    },
  });
}

async function toolNames(
  server: McpServerConfig,
  way: { root: string; targets: Targets; signal: AbortSignal },
): Promise<string[]> {
  const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
  const { transport, fault, leave } = await routeTo(server, way);
  const client = new Client({ name: 'agent-engine-server', version: '1' });
  const { timeoutSeconds, sseReadTimeoutSeconds } = server;
  const seconds = Math.min(REQUEST_SECONDS, timeoutSeconds ?? Infinity, sseReadTimeoutSeconds ?? Infinity);
  const limits = { timeout: seconds * 1000, signal: way.signal };
  try {
    await client.connect(transport, limits);
    const names = (await listTools(client, limits)).map(({ name }) => name).sort();
    // A server that does not end its sessions is no worse at tools.
    if (leave !== undefined) await soon(leave(), LEAVE_MS);
    return names;
  } catch (error) {
    throw fault?.() ?? error;
  } finally {
    // The client closes only what it has connected.
    await client.close().catch(() => {});
    await transport.close().catch(() => {});
  }
}
