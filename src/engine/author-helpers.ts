import type { StructuredToolInterface } from '@langchain/core/tools';
import { currentAgentScope } from './agent-scope.ts';
import { EventType } from './events.ts';
import { currentRunScope, type RunScope } from './run-scope.ts';

/** A tool the client offers for this run; the client executes it, not the agent. */
export interface ClientTool {
  name: string;
  description: string;
  /** JSON Schema of the arguments. */
  parameters?: unknown;
}

function scope(): RunScope {
  const current = currentRunScope();
  if (current === undefined) throw new Error('This helper only works inside a run of the agent.');
  return current;
}

/** Id of the user who runs the agent; `standalone` for an anonymous caller and outside a run. */
export function currentUser(): string {
  return currentRunScope()?.userId ?? 'standalone';
}

/** Id of the conversation thread of this run. @throws Error outside a run. */
export function currentThread(): string {
  return scope().input.threadId;
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

/** Sends the client a CUSTOM event. @throws Error outside a run. */
export function emitCustom(name: string, value: unknown): void {
  scope().emit({ type: EventType.CUSTOM, name, value });
}

/**
 * Shows the client new values of top-level state keys before the agent's own state holds them (STATE_DELTA).
 * The next state snapshot replaces what was shown. @throws Error outside a run.
 */
export function emitState(patch: Record<string, unknown>): void {
  const delta = Object.entries(patch).map(([key, value]) => ({
    op: 'add' as const,
    path: `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`,
    value,
  }));
  if (delta.length > 0) scope().emit({ type: EventType.STATE_DELTA, delta });
}
