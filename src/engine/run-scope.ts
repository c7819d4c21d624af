import type { Emit, RunAgentInput } from './events.ts';
import type { Prompts } from './prompts/prompt.ts';
import { currentScopes, withScopes } from './scopes.ts';

/** A version of a prompt that a run has used. */
export interface PromptUse {
  promptId: string;
  version: number;
}

/** What agent code can ask about the run it is part of (see `src/agent.ts`). */
export interface RunScope {
  readonly input: RunAgentInput;
  readonly userId: string | null;
  readonly emit: Emit;
  /** The prompts the run began with. */
  readonly prompts: Prompts;
  /** Filled by `getPrompt` and by rendering; each version once. */
  readonly promptsUsed: PromptUse[];
}

/** Runs `work` so that {@link currentRunScope} answers `scope` in everything it starts. */
export function withRunScope<T>(scope: RunScope, work: () => T): T {
  return withScopes({ run: scope }, work);
}

/** The run this code is part of, or undefined outside any. */
export function currentRunScope(): RunScope | undefined {
  return currentScopes()?.run;
}
