import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { z } from 'zod';
import type { Targets } from '../../outbound/targets.ts';
import { McpServerConfig } from '../resources/mcp-servers.ts';
import type { ConnectionCheck } from './connection-check.ts';
import { ProbeFailure } from './failure.ts';
import { routeTo } from './mcp-transport.ts';
import { runProbe, type Variables } from './run-probe.ts';

/** What a list of tools may have. */
const PAGES = 100;
const TOOLS = 10_000;

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
        throw new ProbeFailure('Transport stdio starts a program, which needs SERVICE_ALLOW_STDIO_MCP=true');
      }
      const tools = await toolNames(server, { root, targets, signal });
      return { name: server.name, transport: server.transport, tools, toolCount: tools.length };
    },
  });
}

async function toolNames(
  server: z.infer<typeof McpServerConfig>,
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
    const names = await listTools(client, limits);
    // A server that does not end its sessions is no worse at tools.
    if (leave !== undefined) await soon(leave());
    return names;
  } catch (error) {
    throw fault?.() ?? error;
  } finally {
    // The client closes only what it has connected.
    await client.close().catch(() => {});
    await transport.close().catch(() => {});
  }
}

async function soon(work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, LEAVE_MS);
  });
  await Promise.race([work.catch(() => {}), late]);
  clearTimeout(timer);
}

async function listTools(client: Client, limits: { timeout: number; signal: AbortSignal }): Promise<string[]> {
  if (client.getServerCapabilities()?.tools === undefined) return [];
  const { ListToolsResultSchema } = await import('@modelcontextprotocol/sdk/types.js');
  const names = new Set<string>();
  let cursor: string | undefined;
  for (let page = 1; page <= PAGES; page += 1) {
    const params = cursor === undefined ? {} : { cursor };
    // The client's own listTools also compiles every tool's schema.
    const answer = await client.request({ method: 'tools/list', params }, ListToolsResultSchema, limits);
    for (const { name } of answer.tools) names.add(name);
    if (names.size > TOOLS) throw new ProbeFailure(`The server lists more than ${TOOLS} tools`);
    // An empty cursor is one some servers end with.
    if (!answer.nextCursor || answer.nextCursor === cursor) return [...names].sort();
    cursor = answer.nextCursor;
  }
  throw new ProbeFailure(`The server lists its tools on more than ${PAGES} pages`);
}
