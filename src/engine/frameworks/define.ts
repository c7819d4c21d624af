import type { z } from 'zod';
import type { Agent } from '../agent.ts';
import type { Prompts } from '../agent-context.ts';
import type { AgentModule } from '../load-module.ts';
import type { CheckpointerConfig, MemoryPool } from '../memory/index.ts';
import type { StorePool } from '../stores/index.ts';

/** What a framework gets to build an agent with. */
export interface FrameworkPorts {
  readonly memory: MemoryPool;
  /** Memory of an agent whose configuration names none; undefined where it then keeps nothing. */
  readonly defaultCheckpointer: CheckpointerConfig | undefined;
  readonly stores: StorePool;
  readonly prompts: Prompts;
  /** Loads `path:export`; see `load-module.ts`. */
  loadModule(definition: string, isAgent: (value: unknown) => boolean): Promise<AgentModule>;
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
