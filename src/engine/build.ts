import type { Agent } from './agent.ts';
import { createPrompts } from './agent-context.ts';
import type { EngineConfig } from './config.ts';
import { createAgent } from './frameworks/index.ts';
import { createInputGuardrails, type InputGuardrails } from './guardrails/index.ts';
import { loadAgentModule } from './load-module.ts';
import type { CheckpointerConfig, MemoryPool } from './memory/index.ts';
import type { StorePool } from './stores/index.ts';

/** A built agent with the configuration it was built from. */
export interface Engine {
  readonly config: EngineConfig;
  readonly agent: Agent;
  /** Checks what users send; undefined when nothing is checked. */
  readonly inputGuardrails: InputGuardrails | undefined;
  /** Gives back everything the engine holds. Called once, when no run uses it. */
  close(): Promise<void>;
}

/** What engines are built with; shared by all engines of one server and by nothing else. */
export interface EnginePorts {
  /** Folder that relative agent paths count from. */
  readonly root: string;
  readonly memory: MemoryPool;
  /** Long-term stores. */
  readonly stores: StorePool;
  /** Memory of an agent whose configuration names none. */
  readonly defaultCheckpointer: CheckpointerConfig | undefined;
}

/**
 * Builds an engine that is ready to run.
 *
 * @throws BuildProblem and whatever the agent's own code throws; what was opened on the way is closed again.
 */
export async function buildEngine(config: EngineConfig, ports: EnginePorts): Promise<Engine> {
  const inputGuardrails = await createInputGuardrails(config.guardrails?.input ?? []);
  const agent = await createAgent(config.agent, {
    memory: ports.memory,
    stores: ports.stores,
    defaultCheckpointer: ports.defaultCheckpointer,
    prompts: createPrompts(config.prompts),
    loadModule: (definition, isAgent) => loadAgentModule(definition, ports.root, isAgent),
  });
  return { config, agent, inputGuardrails, close: () => agent.close() };
}
