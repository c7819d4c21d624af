import type { EngineHolder } from '../engine/holder.ts';
import type { McpServerStatus } from '../engine/mcp/pool.ts';

/** A part of the running agent that does not work, while the rest does (runtime contract, section 12). */
export interface PartFailure {
  name: string;
  kind: 'mcp';
  /** One line, without secrets. */
  reason: string;
}

/** How the tool servers of the running agent stand. */
export interface McpStatus {
  servers(): (Omit<McpServerStatus, 'since'> & { since: string })[];
  failures(): PartFailure[];
}

/** Makes the view of the tool servers. Without an agent there are none. */
export function createMcpStatus(holder: EngineHolder): McpStatus {
  const all = (): McpServerStatus[] => holder.current?.engine.mcp.status() ?? [];
  return {
    servers: () => all().map((server) => ({ ...server, since: new Date(server.since).toISOString() })),
    // One that is tried again has a reason until it is there.
    failures: () =>
      all().flatMap(({ name, reason }) => (reason === null ? [] : { name, kind: 'mcp' as const, reason })),
  };
}
