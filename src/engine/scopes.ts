import { AsyncLocalStorage } from 'node:async_hooks';
import type { Emit, RunAgentInput } from './events.ts';
import type { Prompts } from './prompts/prompt.ts';

/** What agent code can ask about the engine it belongs to: as its module loads, as its factory runs, and in its runs. */
export interface AgentScope {
  /** The prompts of that engine. */
  readonly prompts: Prompts;
  /** Tools of its MCP servers, as the agent's framework knows tools. */
  readonly tools: readonly unknown[];
}

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
