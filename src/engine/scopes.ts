import { AsyncLocalStorage } from 'node:async_hooks';
import type { AgentScope } from './agent-scope.ts';
import type { RunScope } from './run-scope.ts';

/** What agent code can ask about where it is. */
interface Scopes {
  readonly run?: RunScope;
  readonly agent?: AgentScope;
}

/**
 * One for all: on Node 20 every promise that is made pays for each storage there is, and a run makes thousands. What is in
 * it belongs to the code that was started with it, so two servers in one process never meet.
 */
const storage = new AsyncLocalStorage<Scopes>();

/** Runs `work` so that everything it starts finds these scopes, besides those it was in. */
export function withScopes<T>(scopes: Scopes, work: () => T): T {
  return storage.run({ ...storage.getStore(), ...scopes }, work);
}

/** Runs `work` so that everything it starts finds these scopes and no others. */
export function withOnlyScopes<T>(scopes: Scopes, work: () => T): T {
  return storage.run(scopes, work);
}

/** The scopes this code is in. */
export function currentScopes(): Scopes | undefined {
  return storage.getStore();
}
