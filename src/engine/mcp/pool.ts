import type { Targets } from '../../outbound/targets.ts';
import { soon } from '../soon.ts';
import type { McpServerConfig } from './config.ts';
import type { createMcpConnection, McpConnection, McpState } from './connection.ts';
import { createMadeCalls, type MadeCalls } from './made-calls.ts';
import { createReaper } from './reaper.ts';
import { type McpTool, nameTools } from './tool-names.ts';

export type { McpTool } from './tool-names.ts';

/** How long an agent waits for its servers when it is built: a start or a change should not hang on one that hangs. */
const PATIENCE_MS = 5_000;

/** How a server stands. */
export interface McpServerStatus {
  name: string;
  transport: McpServerConfig['transport'];
  state: McpState;
  /** Why it is not connected, in one line without secrets; null when it is. */
  reason: string | null;
  /** Since when; epoch milliseconds. */
  since: number;
  /** The tools the agent has of it, by the agent's names for them. */
  tools: string[];
}

/** An engine's share in the connections to its servers. */
export interface McpShare {
  /** The tools there were when the engine was built, in the order of the servers. */
  readonly tools: readonly McpTool[];
  /** Whether the servers have other tools by now. */
  readonly stale: boolean;
  readonly calls: MadeCalls;
  status(): McpServerStatus[];
  /** Gives the share back; a connection is closed with its last one. */
  release(): Promise<void>;
}

/** Connects to tool servers and shares each connection between the engines that ask for the same server. */
export interface McpPool {
  /**
   * Connects to all at once, and waits a few seconds for them. A server that cannot be reached is no failure: it is tried
   * again and again, and its tools come when it does.
   */
  acquire(servers: readonly McpServerConfig[]): Promise<McpShare>;
  /** Whether an engine is in use that has other tools than its servers have by now. */
  readonly stale: boolean;
  /** Is told whenever the tools of a server have changed. */
  onToolsChanged(listener: () => void): void;
  /** Ends every connection at once, also those that are being made, and makes no more. */
  close(): Promise<void>;
}

/**
 * Makes an empty pool. Across a reload the new engine is built before the old one is closed, so a server whose
 * configuration has not changed stays connected.
 */
export function createMcpPool(options: {
  root: string;
  targets: Targets;
  log: Record<'debug' | 'info' | 'warn', (details: object, message: string) => void>;
}): McpPool {
  const open = new Map<string, { connection: McpConnection; shares: number }>();
  const inUse = new Set<McpShare>();
  const calls = createMadeCalls();
  const reaper = createReaper();
  const listeners = new Set<() => void>();
  let closed = false;

  const share = (
    config: McpServerConfig,
    connect: typeof createMcpConnection,
  ): { connection: McpConnection; release(): Promise<void> } => {
    const key = keyOf(config);
    const entry = open.get(key) ?? {
      connection: connect(config, {
        ...options,
        onStarted: (groupId) => reaper.watch(groupId),
        onToolsChanged: () => {
          for (const listener of listeners) listener();
        },
      }),
      shares: 0,
    };
    open.set(key, entry);
    entry.shares += 1;
    if (closed) void entry.connection.close();
    return {
      connection: entry.connection,
      async release() {
        entry.shares -= 1;
        if (entry.shares > 0) return;
        open.delete(key);
        await entry.connection.close();
      },
    };
  };

  return {
    async acquire(configs) {
      // Loaded with the first server there is: every start waits for what is loaded.
      const connect = configs.length === 0 ? undefined : (await import('./connection.ts')).createMcpConnection;
      const shares = connect === undefined ? [] : configs.map((config) => ({ config, ...share(config, connect) }));
      await soon(Promise.all(shares.map(({ connection }) => connection.tried)), PATIENCE_MS);
      for (const { config, connection } of shares) warnOfUnknown(config, connection, options.log);
      const built = shares.map(({ connection }) => connection.revision);
      const tools = nameTools(shares);
      let released: Promise<void> | undefined;
      const made: McpShare = {
        tools,
        calls,
        get stale() {
          return shares.some(({ connection }, index) => connection.revision !== built[index]);
        },
        status: () =>
          shares.map(({ config: { name, transport }, connection: { state, reason = null, since } }) => {
            const names = tools.filter(({ server }) => server === name).map((tool) => tool.name);
            return { name, transport, state, reason, since, tools: names };
          }),
        release() {
          inUse.delete(made);
          released ??= Promise.all(shares.map((one) => one.release())).then(() => undefined);
          return released;
        },
      };
      inUse.add(made);
      return made;
    },
    get stale() {
      return [...inUse].some((made) => made.stale);
    },
    onToolsChanged: (listener) => void listeners.add(listener),
    async close() {
      closed = true;
      await Promise.all([...open.values()].map(({ connection }) => connection.close()));
      reaper.close();
    },
  };
}

/** A tool that is named wrongly would be called without the approval it should need. */
function warnOfUnknown(
  { name, toolAllowList, requireApproval }: McpServerConfig,
  { state, tools }: McpConnection,
  log: Record<'warn', (details: object, message: string) => void>,
): void {
  if (state !== 'connected') return;
  const known = new Set(tools.map((tool) => tool.name));
  const named = [...(toolAllowList ?? []), ...(Array.isArray(requireApproval) ? requireApproval : [])];
  const unknown = named.filter((tool) => !known.has(tool));
  if (unknown.length === 0) return;
  log.warn(
    { mcpServer: name, tools: unknown },
    'toolAllowList or requireApproval name tools the MCP server does not have',
  );
}

/** What makes a server the same one: all but what is decided without it. */
function keyOf({ toolAllowList: _list, requireApproval: _approval, ...connection }: McpServerConfig): string {
  return JSON.stringify(connection);
}
