import type { StructuredToolInterface } from '@langchain/core/tools';
import * as helpers from './author-helpers.ts';
import type { Prompts } from './prompts/prompt.ts';

/** The helpers of `agent-engine-server/agent` that a factory is given too, for code that would rather not import them. */
type Helpers = Pick<
  typeof helpers,
  | 'getPrompt'
  | 'getTools'
  | 'currentUser'
  | 'currentThread'
  | 'clientTools'
  | 'clientContext'
  | 'emitCustom'
  | 'emitState'
>;

/** What a factory exported by an agent module receives. Its helpers may be kept and called in runs. */
export interface AgentContext extends Helpers {
  /** The agent's name in the configuration. */
  readonly name: string;
  /** `agent.config.settings` of the configuration, for the agent's own use. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** Tools of the configured MCP servers, ready for a model and a tool node. */
  readonly tools: StructuredToolInterface[];
  /** The prompts of this configuration, wherever they are asked for. */
  readonly prompts: Prompts;
  /** The engine's checkpointer, for a factory that compiles its graph itself; undefined when the agent keeps nothing. */
  readonly checkpointer: unknown;
  /** The configured long-term store, a `BaseStore`; undefined when `agent.config.store` names none. */
  readonly store: unknown;
}

/** Adds the helpers to what a factory receives. */
export function createAgentContext(own: Omit<AgentContext, keyof Helpers>): AgentContext {
  const { currentUser, currentThread, clientTools, clientContext, emitCustom, emitState } = helpers;
  return {
    ...own,
    getPrompt: (promptId, select) => own.prompts.get(promptId, select),
    getTools: async () => [...own.tools],
    currentUser,
    currentThread,
    clientTools,
    clientContext,
    emitCustom,
    emitState,
  };
}
