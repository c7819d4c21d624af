import type { z } from 'zod';
import type { Agent } from '../agent.ts';
import type { AgentModule, ImportPackage } from '../load-module.ts';
import type { McpShare } from '../mcp/pool.ts';
import type { CheckpointerConfig, MemoryPool } from '../memory/index.ts';
import type { PromptLibrary } from '../prompts/prompts.ts';
import type { StorePool } from '../stores/index.ts';

/** What a framework gets to build an agent with. */
export interface FrameworkPorts {
  readonly memory: MemoryPool;
  /** Memory of an agent whose configuration names none; undefined where it then keeps nothing. */
  readonly defaultCheckpointer: CheckpointerConfig | undefined;
  readonly stores: StorePool;
  readonly prompts: PromptLibrary;
  /** The engine's tool servers. */
  readonly mcp: McpShare;
  /** Loads `path:export`; see `load-module.ts`. `prepare` is done before any of the module's code runs. */
  loadModule(
    definition: string,
    isAgent: (value: unknown) => boolean,
    prepare?: (importPackage: ImportPackage) => Promise<void>,
  ): Promise<AgentModule>;
}

/** A framework: its `agent.config` and how an agent of it is made. */
export interface FrameworkKind<Type extends string, Config extends z.ZodObject> {
  readonly type: Type;
  readonly config: Config;
  /** @throws BuildProblem, or whatever the agent's own code throws; what it opened is closed again. */
  create(config: z.infer<Config>, ports: FrameworkPorts): Promise<Agent>;
}

/** Types a framework. */
export function defineFramework<Type extends string, Config extends z.ZodObject>(
  kind: FrameworkKind<Type, Config>,
): FrameworkKind<Type, Config> {
  return kind;
}
