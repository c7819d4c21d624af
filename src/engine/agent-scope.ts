import { AsyncLocalStorage } from 'node:async_hooks';

/** What agent code can ask about the agent it belongs to, while its module loads and in its runs. */
export interface AgentScope {
  /** Tools of the configured MCP servers, as the agent's framework knows tools. */
  readonly tools: readonly unknown[];
}

const storage = new AsyncLocalStorage<AgentScope>();

/** Runs `work` so that {@link currentAgentScope} answers `scope` in everything it starts. */
export function withAgentScope<T>(scope: AgentScope, work: () => T): T {
  return storage.run(scope, work);
}

/** The agent this code belongs to, or undefined outside any. */
export function currentAgentScope(): AgentScope | undefined {
  return storage.getStore();
}
