import { currentScopes, type RunScope, withScopes } from './scopes.ts';

export type { PromptUse, RunScope } from './scopes.ts';

/** Runs `work` so that {@link currentRunScope} answers `scope` in everything it starts. */
export function withRunScope<T>(scope: RunScope, work: () => T): T {
  return withScopes({ run: scope }, work);
}

/** The run this code is part of, or undefined outside any. */
export function currentRunScope(): RunScope | undefined {
  return currentScopes()?.run;
}
