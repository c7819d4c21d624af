import type { Agent } from './agent.ts';
import type { EngineConfig } from './config.ts';
import { createAgent } from './frameworks/index.ts';
import { createInputGuardrails, type InputGuardrails } from './guardrails/index.ts';
import { loadAgentModule } from './load-module.ts';
import type { McpPool, McpShare } from './mcp/pool.ts';
import type { CheckpointerConfig, MemoryPool } from './memory/index.ts';
import type { ExporterPool, ExporterShare } from './observability/pool.ts';
import { createPrompts, type PromptLibrary } from './prompts/prompts.ts';
import type { StorePool } from './stores/index.ts';
import { secretsIn } from './tracing/scrub.ts';
import type { SpanSink } from './tracing/span.ts';
import type { Tracer, TracingLimits } from './tracing/tracer.ts';

/** A built agent with the configuration it was built from. */
export interface Engine {
  readonly config: EngineConfig;
  readonly agent: Agent;
  readonly prompts: PromptLibrary;
  /** Checks what users send; undefined when nothing is checked. */
  readonly inputGuardrails: InputGuardrails | undefined;
  /** The tool servers it is connected to. */
  readonly mcp: Pick<McpShare, 'stale' | 'status'>;
  /** Records its runs; undefined when nobody listens. */
  readonly tracer: Tracer | undefined;
  /** Gives back everything the engine holds. Called once, when no run uses it. */
  close(): Promise<void>;
}

/** What engines are built with; shared by all engines of one server and by nothing else. */
export interface EnginePorts {
  /** Folder that relative agent paths count from. */
  readonly root: string;
  readonly memory: MemoryPool;
  readonly mcp: McpPool;
  /** Long-term stores. */
  readonly stores: StorePool;
  /** Memory of an agent whose configuration names none. */
  readonly defaultCheckpointer: CheckpointerConfig | undefined;
  readonly tracing: TracingPorts;
}

/** What runs are traced with, and who listens. */
export interface TracingPorts extends TracingLimits {
  readonly exporters: ExporterPool;
  /** Listeners of every engine, besides the exporters of its configuration. */
  readonly sinks: readonly SpanSink[];
}

/**
 * Builds an engine that is ready to run.
 *
 * @throws BuildProblem and whatever the agent's own code throws; what was opened on the way is closed again.
 */
export async function buildEngine(config: EngineConfig, ports: EnginePorts): Promise<Engine> {
  const inputGuardrails = await createInputGuardrails(config.guardrails?.input ?? []);
  const prompts = createPrompts(config.prompts);
  const { tracing } = ports;
  const mcp = await ports.mcp.acquire(config.mcpServers ?? []);
  let exporters: ExporterShare | undefined;
  const close = async (agent?: Agent): Promise<void> => {
    const ended = await Promise.allSettled([agent?.close(), mcp.release(), exporters?.release()]);
    for (const result of ended) if (result.status === 'rejected') throw result.reason;
  };
  try {
    exporters = await tracing.exporters.acquire(config.observability, config.agent.config.name);
    const tracer = await tracerOf(config, [...exporters.sinks, ...tracing.sinks], tracing);
    const agent = await createAgent(config.agent, {
      memory: ports.memory,
      mcp,
      stores: ports.stores,
      defaultCheckpointer: ports.defaultCheckpointer,
      prompts,
      loadModule: (definition, isAgent, prepare) => loadAgentModule(definition, ports.root, isAgent, prepare),
    });
    return { config, agent, prompts, inputGuardrails, mcp, tracer, close: () => close(agent) };
  } catch (error) {
    await close().catch(() => undefined);
    throw error;
  }
}

/** What records the runs of an engine. Loaded when there is somebody to listen. */
async function tracerOf(
  config: EngineConfig,
  sinks: readonly SpanSink[],
  { maxValueBytes, secrets }: TracingLimits,
): Promise<Tracer | undefined> {
  if (sinks.length === 0) return undefined;
  const { createTracer } = await import('./tracing/tracer.ts');
  return createTracer(config.agent.config.name, sinks, { maxValueBytes, secrets: [...secrets, ...secretsIn(config)] });
}
