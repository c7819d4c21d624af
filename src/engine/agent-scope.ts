import { AsyncLocalStorage } from 'node:async_hooks';
import type { Prompts } from './prompts/prompt.ts';

/** What agent code can ask about the engine it belongs to: as its module loads, as its factory runs, and in its runs. */
export interface AgentScope {
  /** The prompts of that engine. */
  readonly prompts: Prompts;
  /** Tools of its MCP servers, as the agent's framework knows tools. */
  readonly tools: readonly unknown[];
}

const storage = new AsyncLocalStorage<AgentScope>();

/** Runs `work` so that {@link currentAgentScope} answers `scope` in everything it starts. */
export function withAgentScope<T>(scope: AgentScope, work: () => T): T {
  return storage.run(scope, work);
}

/** The engine this code belongs to, or undefined outside any. Inside a run the run's own scope goes first. */
export function currentAgentScope(): AgentScope | undefined {
  return storage.getStore();
}
