import type { Targets } from '../../outbound/targets.ts';
import type { ConnectionCheck } from '../probes/connection-check.ts';
import type { Policy } from '../resources/define.ts';
import { mcpServers } from '../resources/mcp-servers.ts';
import { memory } from '../resources/memory.ts';
import { observability } from '../resources/observability.ts';
import { findRecord, findSingleton } from './change.ts';
import type { Reconfigure } from './reconfigure.ts';

/** Tries out what is stored. A failure is a value; what is not there is Problem `not_found`. */
export interface Checks {
  memory(): Promise<ConnectionCheck>;
  observability(): Promise<ConnectionCheck>;
  /** @throws Problem `validation_failed` for a program, where those are not allowed. */
  mcpServer(id: string): Promise<ConnectionCheck>;
}

/**
 * Makes the checks of one server. What they need is loaded by the first of them, since few starts ever see one.
 *
 * @param options.root folder relative paths count from.
 */
export function createChecks(
  reconfigure: Reconfigure,
  options: {
    root: string;
    variables: Readonly<Record<string, string | undefined>>;
    policy: Policy;
    targets: Targets;
  },
): Checks {
  const { policy } = options;
  return {
    async memory() {
      const { state } = await reconfigure.read();
      const { probeMemory } = await import('../probes/memory.ts');
      return probeMemory(findSingleton(state, memory).data.memory, options);
    },
    async observability() {
      const { state } = await reconfigure.read();
      const { probeObservability } = await import('../probes/observability.ts');
      return probeObservability(findSingleton(state, observability).data.observability, options);
    },
    async mcpServer(id) {
      const { state } = await reconfigure.read();
      const { data } = findRecord(state, mcpServers, id);
      mcpServers.permit(data, policy);
      const { probeMcpServer } = await import('../probes/mcp-server.ts');
      return probeMcpServer(data.mcpServer, { ...options, allowStdio: policy.allowStdio });
    },
  };
}
