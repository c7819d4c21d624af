import type { StructuredToolInterface } from '@langchain/core/tools';
import { z } from 'zod';
import type { Agent } from '../../agent.ts';
import { createAgentContext } from '../../agent-context.ts';
import { buildWithAgentScope, withAgentScope } from '../../agent-scope.ts';
import { BuildProblem } from '../../build-problem.ts';
import type { AgentModule, ImportPackage } from '../../load-module.ts';
import type { McpShare } from '../../mcp/pool.ts';
import { CheckpointerConfig, type MemoryShare } from '../../memory/index.ts';
import type { PromptTemplates } from '../../prompts/prompt.ts';
import { StoreConfig, type StoreShare } from '../../stores/index.ts';
import { defineFramework } from '../define.ts';
import { type AgentPackages, createLangGraphAgent } from './agent.ts';
import type { GraphPort } from './mcp-tools.ts';
import type { MessageClasses } from './messages.ts';
import { createPromptTemplates, type TemplateClasses } from './prompt-templates.ts';
import { type CompiledGraph, isAgentWrapper, isCompiledGraph, isGraphBuilder } from './shapes.ts';

/** `agent.config` of a graph agent (runtime contract, section 20). */
export const LangGraphConfig = z.object({
  name: z.string().min(1),
  graph_definition: z.string().min(1),
  checkpointer: CheckpointerConfig.nullable().default(null),
  store: StoreConfig.nullable().default(null),
  observability: z.null('is deprecated; use the top-level observability list').default(null),
  settings: z.record(z.string(), z.unknown()).default({}),
});

/** LangGraph.js: compiled graphs, `createAgent`'s results, uncompiled graphs, and functions that return one of these. */
export const langGraph = defineFramework({
  type: 'LANGGRAPH',
  config: LangGraphConfig,
  async create(config, ports) {
    const wanted = config.checkpointer ?? ports.defaultCheckpointer;
    const memory = wanted === undefined ? undefined : await ports.memory.acquire(wanted);
    let store: StoreShare | undefined;
    const close = async (): Promise<void> => {
      await Promise.all([memory?.release(), store?.release()]);
    };
    try {
      store = config.store === null ? undefined : await ports.stores.acquire(config.store);
      const ownGraph: GraphPort = {};
      const tools = await toolsOf(ports.mcp, ownGraph);
      const { prompts } = ports;
      const scope = { prompts, tools };
      const { name, settings } = config;
      const kept = { checkpointer: memory?.checkpointer, store: store?.store };
      const own = { name, settings, tools: [...tools], prompts, ...kept };
      const { module, made } = await buildWithAgentScope(scope, async () => {
        const module = await ports.loadModule(config.graph_definition, isGraph, async (importPackage) => {
          if (prompts.size > 0) prompts.convertWith(await promptTemplates(importPackage));
        });
        const isMade = isGraph(module.value) || typeof module.value !== 'function';
        return { module, made: isMade ? module.value : await module.call(createAgentContext(own)) };
      });
      const graph = attempt(() => compile(made, memory, store, config), config.graph_definition);
      const keepsOurs = memory !== undefined && (graph.checkpointer as unknown) === memory.checkpointer;
      const keepsOwn = !keepsOurs && typeof graph.checkpointer === 'object';
      const storeId = keepsOurs ? memory.id : keepsOwn ? `graph:${config.graph_definition}` : undefined;
      const packages = await ownPackages(module);
      ownGraph.interrupt = packages.interrupt;
      const options = { storeId, memory: keepsOurs ? memory : undefined, close };
      const agent = attempt(() => createLangGraphAgent(name, graph, packages, options), config.graph_definition);
      const run: Agent['run'] = async (input, caller, emit) => {
        const outcome = await withAgentScope(scope, () => agent.run(input, caller, emit));
        if (outcome.interrupts.length === 0) ports.mcp.calls.forget(input.threadId);
        return outcome;
      };
      return { ...agent, run };
    } catch (error) {
      await close();
      throw error;
    }
  },
});

/** Tools of the configured servers. How they are made is loaded with the first: many agents have none. */
async function toolsOf(share: McpShare, graph: GraphPort): Promise<StructuredToolInterface[]> {
  if (share.tools.length === 0) return [];
  const { createMcpTools } = await import('./mcp-tools.ts');
  return createMcpTools(share, graph);
}

function isGraph(value: unknown): boolean {
  return isCompiledGraph(value) || isAgentWrapper(value) || isGraphBuilder(value);
}

/** The compiled graph with its checkpointer (the configured one, else the graph's own, else the default) and store. */
function compile(
  made: unknown,
  memory: MemoryShare | undefined,
  store: StoreShare | undefined,
  config: z.infer<typeof LangGraphConfig>,
): CompiledGraph {
  if (isGraphBuilder(made) && !isCompiledGraph(made)) {
    return made.compile({
      ...(memory !== undefined && { checkpointer: memory.checkpointer }),
      ...(store !== undefined && { store: store.store }),
      name: config.name,
    });
  }
  const graph = isAgentWrapper(made) ? made.graph : made;
  if (!isCompiledGraph(graph)) {
    throw new BuildProblem(
      `Agent ${config.graph_definition} is not a LangGraph graph: export a graph, or a function that returns one.`,
    );
  }
  // Graphs of the functional API have no state schema by which a conversation could be put in.
  if (!('builder' in graph)) {
    throw new BuildProblem(
      `Agent ${config.graph_definition} is built with entrypoint(), which cannot be hosted: export a StateGraph.`,
    );
  }
  const hasOwn = graph.checkpointer !== undefined;
  // Set, not recompiled: what the author compiled in (interrupts, store, name) stays. The module was evaluated for
  // this engine alone, so no other engine sees the change.
  if (memory !== undefined && (config.checkpointer !== null || !hasOwn)) graph.checkpointer = memory.checkpointer;
  if (store !== undefined) graph.store = store.store;
  return graph;
}

/** Puts what goes wrong inside the author's graph into words that name its file. */
function attempt<T>(work: () => T, definition: string): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof BuildProblem) throw error;
    const kind = error instanceof Error ? error.name : 'unknown error';
    throw new BuildProblem(`Agent ${definition} cannot be compiled: ${kind}. The server's log has the details.`, {
      cause: error,
    });
  }
}

/** Makes templates of prompts, of the agent's own copy of LangChain. Its module may ask for them as it loads. */
async function promptTemplates(importPackage: ImportPackage): Promise<PromptTemplates> {
  const [prompts, messages] = await Promise.all([
    importPackage('@langchain/core/prompts'),
    importPackage('@langchain/core/messages'),
  ]);
  return createPromptTemplates(prompts as unknown as TemplateClasses, messages as unknown as MessageClasses);
}

/** The packages as the agent's folder has them, so that what is built for its graph is of its own copy. */
async function ownPackages(module: AgentModule): Promise<AgentPackages> {
  const langgraph = await module.importPackage('@langchain/langgraph');
  const messages = await module.importPackage('@langchain/core/messages');
  return {
    Command: langgraph.Command as AgentPackages['Command'],
    interrupt: langgraph.interrupt as AgentPackages['interrupt'],
    messages: messages as unknown as MessageClasses,
  };
}
