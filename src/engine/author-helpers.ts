import type { StructuredToolInterface } from '@langchain/core/tools';
import { currentAgentScope } from './agent-scope.ts';
import { EventType } from './events.ts';
import type { Prompt, PromptSelection } from './prompts/prompt.ts';
import { currentRunScope, type RunScope } from './run-scope.ts';

export { PromptError } from './prompts/prompts.ts';

/** A tool the client offers for this run; the client executes it, not the agent. */
export interface ClientTool {
  name: string;
  description: string;
  /** JSON Schema of the arguments. */
  parameters?: unknown;
}

/** The run this code is part of. @throws Error outside a run, naming the helper. */
function runOf(helper: string): RunScope {
  const current = currentRunScope();
  if (current === undefined) {
    throw new Error(`${helper}() works inside a run of the agent only: call it in a node or tool, not as it is built.`);
  }
  return current;
}

/**
 * The prompt `promptId` of the configuration: its highest version unless `select` names a version or a tag; undefined
 * when there is none. A run goes on with the prompts it began with.
 *
 * @throws Error outside a run, except while the agent's module loads and in its factory.
 */
export function getPrompt(promptId: string, select?: PromptSelection): Prompt | undefined {
  const scope = currentRunScope() ?? currentAgentScope();
  if (scope === undefined) {
    throw new Error('getPrompt() works inside a run of the agent, while its module loads and in its factory only.');
  }
  return scope.prompts.get(promptId, select);
}

/** Id of the user who runs the agent; `standalone` for an anonymous caller and outside a run. */
export function currentUser(): string {
  return currentRunScope()?.userId ?? 'standalone';
}

/** Id of the conversation thread of this run. @throws Error outside a run. */
export function currentThread(): string {
  return runOf('currentThread').input.threadId;
}

/**
 * Tools of the configured MCP servers, as LangChain tools: the same that factories get as `context.tools`. Works while
 * the agent's module loads, in its factory, and in its runs.
 *
 * @throws Error anywhere else.
 */
export async function getTools(): Promise<StructuredToolInterface[]> {
  const agent = currentAgentScope();
  if (agent === undefined) throw new Error('getTools() only works while the agent is loaded, and inside its runs.');
  return [...agent.tools] as StructuredToolInterface[];
}

/** Client-side tools the caller sent with this run; empty outside a run. */
export function clientTools(): ClientTool[] {
  return currentRunScope()?.input.tools ?? [];
}

/** What the caller said of its surroundings (`context` of the run input); empty outside a run. */
export function clientContext(): { description: string; value: string }[] {
  return currentRunScope()?.input.context ?? [];
}

/**
 * Sends the client a CUSTOM event. Does nothing once the run has ended.
 *
 * @param value anything that JSON can hold; undefined becomes null.
 * @throws Error outside a run; TypeError when the name is none.
 */
export function emitCustom(name: string, value?: unknown): void {
  const { emit } = runOf('emitCustom');
  if (typeof name !== 'string' || name === '') throw new TypeError('emitCustom(name, value) needs a name.');
  emit({ type: EventType.CUSTOM, name, value: value ?? null });
}

/**
 * Shows the client new values of top-level state keys before the agent's own state holds them (STATE_DELTA).
 * The next state snapshot replaces what was shown. Does nothing once the run has ended.
 *
 * @param patch the new values by key; those that are undefined are left out.
 * @throws Error outside a run; TypeError when the patch is no object.
 */
export function emitState(patch: Readonly<Record<string, unknown>>): void {
  const { emit } = runOf('emitState');
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) {
    throw new TypeError('emitState(patch) needs an object: the new values by state key.');
  }
  const delta = Object.entries(patch)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ({
      op: 'add' as const,
      path: `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`,
      value,
    }));
  if (delta.length > 0) emit({ type: EventType.STATE_DELTA, delta });
}
