/** One stored prompt, as agent code receives it. */
export interface Prompt {
  promptId: string;
  version: number;
  content: string;
  tags: string[];
}

/** The prompts of the running configuration. */
export interface Prompts {
  /** The prompt `promptId`: its highest version unless `select` names a version or a tag; undefined when there is none. */
  get(promptId: string, select?: { version?: number; tag?: string }): Prompt | undefined;
}

/** What a factory exported by an agent module receives. */
export interface AgentContext {
  /** The agent's name in the configuration. */
  readonly name: string;
  /** `agent.config.settings` of the configuration, for the agent's own use. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** Tools of the configured MCP servers. */
  readonly tools: readonly unknown[];
  readonly prompts: Prompts;
  /** The engine's checkpointer, for a factory that compiles its graph itself; undefined when the agent keeps nothing. */
  readonly checkpointer: unknown;
  /** The configured long-term store, a `BaseStore`; undefined when `agent.config.store` names none. */
  readonly store: unknown;
}

/** Looks prompts up in a fixed list. */
export function createPrompts(list: readonly Prompt[]): Prompts {
  return {
    get(promptId, select = {}) {
      return list
        .filter((prompt) => prompt.promptId === promptId)
        .filter((prompt) => select.version === undefined || prompt.version === select.version)
        .filter((prompt) => select.tag === undefined || prompt.tags.includes(select.tag))
        .reduce<Prompt | undefined>(
          (best, prompt) => (best && best.version >= prompt.version ? best : prompt),
          undefined,
        );
    },
  };
}
