import { type AgentScope, currentScopes, withOnlyScopes, withScopes } from './scopes.ts';

export type { AgentScope } from './scopes.ts';

/** Builds an agent so that {@link currentAgentScope} answers `scope`, and nothing a run that may have led to it. */
export function buildWithAgentScope<T>(scope: AgentScope, work: () => T): T {
  return withOnlyScopes({ agent: scope }, work);
}

/** Runs `work` so that {@link currentAgentScope} answers `scope` in everything it starts. */
export function withAgentScope<T>(scope: AgentScope, work: () => T): T {
  return withScopes({ agent: scope }, work);
}

/** The engine this code belongs to, or undefined outside any. Inside a run the run's own scope goes first. */
export function currentAgentScope(): AgentScope | undefined {
  return currentScopes()?.agent;
}
