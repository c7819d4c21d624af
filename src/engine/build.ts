import type { Agent } from './agent.ts';
import { type BuildScope, withBuildScope } from './build-scope.ts';
import type { EngineConfig } from './config.ts';
import { createAgent } from './frameworks/index.ts';
import { createInputGuardrails, type InputGuardrails } from './guardrails/index.ts';
import { type AgentModule, loadAgentModule } from './load-module.ts';
import type { CheckpointerConfig, MemoryPool } from './memory/index.ts';
import { createPrompts, type PromptLibrary } from './prompts/prompts.ts';

/** A built agent with the configuration it was built from. */
export interface Engine {
  readonly config: EngineConfig;
  readonly agent: Agent;
  readonly prompts: PromptLibrary;
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
  const prompts = createPrompts(config.prompts);
  const scope: BuildScope = { prompts, tools: [] };
  const agent = await createAgent(config.agent, {
    memory: ports.memory,
    defaultCheckpointer: ports.defaultCheckpointer,
    prompts,
    loadModule: (definition, isAgent, prepare) =>
      inScope(scope, () => loadAgentModule(definition, ports.root, isAgent, prepare)),
  });
  return { config, agent, prompts, inputGuardrails, close: () => agent.close() };
}

/** Loads a module so that its code, and later its factory, can ask what it is built into. */
async function inScope(scope: BuildScope, load: () => Promise<AgentModule>): Promise<AgentModule> {
  const module = await withBuildScope(scope, load);
  return { ...module, call: (argument) => withBuildScope(scope, () => module.call(argument)) };
}
