import { AsyncLocalStorage } from 'node:async_hooks';
import type { Prompts } from './prompts/prompt.ts';

/** What agent code can ask while it is put together: as its module loads and as its factory runs. */
export interface BuildScope {
  /** The prompts of the engine that is being built. */
  readonly prompts: Prompts;
  /** The tools of its MCP servers. */
  readonly tools: readonly unknown[];
}

const storage = new AsyncLocalStorage<BuildScope>();

/** Runs `work` so that {@link currentBuildScope} answers `scope` in everything it starts. */
export function withBuildScope<T>(scope: BuildScope, work: () => T): T {
  return storage.run(scope, work);
}

/** The engine this code is being built into, or undefined. Inside a run the run's own scope goes first. */
export function currentBuildScope(): BuildScope | undefined {
  return storage.getStore();
}
