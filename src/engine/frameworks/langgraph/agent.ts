import { type Agent, type Capabilities, RunFailure, type RunOutcome } from '../../agent.ts';
import { buildLangGraphIr } from '../../drawing/langgraph-graph.ts';
import { isRecord } from '../../encode.ts';
import type { Emit, RunAgentInput } from '../../events.ts';
import type { MemoryShare } from '../../memory/index.ts';
import { MemoryUnreachable } from '../../memory/postgres-failure.ts';
import type { RunTrace } from '../../tracing/tracer.ts';
import { noteAnswers } from './answers.ts';
import { createHistory } from './history.ts';
import { emitLegacyInterrupts, type RawInterrupt, toInterrupts } from './interrupts.ts';
import type { MessageClasses } from './messages.ts';
import { breakpointInterrupt, planRun, type RunPlan } from './plan.ts';
import { readThread, rewind, type ThreadReading } from './position.ts';
import { readSchemas } from './schemas.ts';
import type { CompiledGraph } from './shapes.ts';
import { StateView } from './state-view.ts';
import { Translator } from './translator.ts';

/** The parts of the agent's own copies of LangGraph and LangChain that the adapter has to build things with. */
export interface AgentPackages {
  Command: new (fields: { resume: unknown; update?: { messages: object[] } }) => object;
  messages: MessageClasses;
  interrupt: (value: unknown) => unknown;
}

/**
 * Hosts a compiled LangGraph graph.
 *
 * @param options.storeId names where the checkpoints are kept; undefined when the graph has no checkpointer.
 * @param options.memory the server's memory, where the graph uses it.
 * @param options.close gives back what was opened for the graph.
 */
export function createLangGraphAgent(
  name: string,
  graph: CompiledGraph,
  packages: AgentPackages,
  options: { storeId: string | undefined; memory: MemoryShare | undefined; close: () => Promise<void> },
): Agent {
  const schemas = readSchemas(graph);
  const { storeId, memory } = options;
  const streamKeys = [
    ...new Set([...([] as string[]).concat(graph.outputChannels as string | string[]), ...extraKeys(graph)]),
  ];
  const keeps = storeId !== undefined;
  const capabilities: Capabilities = {
    framework: 'LANGGRAPH',
    capabilities: { streaming: true, history: keeps, thread_id: keeps },
    input: { mode: schemas.structuredInput ? 'structured' : 'chat', schema: schemas.structuredInput },
    output: { mode: schemas.structuredOutput ? 'structured' : 'text', schema: schemas.structuredOutput },
    history: keeps ? { canList: true, canGet: true } : null,
  };

  const run: Agent['run'] = async (input, { signal: stop, ...context }, emit) => {
    const lost = new AbortController();
    const signal = memory?.watch === undefined ? stop : AbortSignal.any([stop, lost.signal]);
    const unwatch = memory?.watch?.(input.threadId, (error) => lost.abort(error));
    try {
      const outcome = await runGraph(input, { ...context, signal }, emit);
      lost.signal.throwIfAborted();
      return outcome;
    } catch (error) {
      // Whatever the graph made of it, this is why it stopped.
      throw lost.signal.aborted ? lost.signal.reason : error;
    } finally {
      unwatch?.();
    }
  };

  const runGraph: Agent['run'] = async (input, { userId, signal, thread: position, attach, trace }, emit) => {
    const thread = { configurable: { thread_id: input.threadId } };
    const found = keeps ? await readThread(graph, input.threadId, position) : undefined;
    const state = found?.state;
    const plan = await planRun(graph, schemas, packages.messages, input, state, position.cut);
    const view = new StateView(schemas);
    const values = (state?.values ?? {}) as Record<string, unknown>;
    view.update(plan.kind === 'start' ? { ...values, messages: plan.conversation } : values);
    attach({
      messages: () => view.shownMessages(),
      state: () => view.shownState(),
      undo: async () => (found === undefined ? null : rewind(graph, input.threadId, found)),
    });
    if (plan.kind === 'abandon') {
      await graph.updateState(state?.config ?? thread, null, '__end__');
      view.emitFinal(emit);
      return { interrupts: [], pendingToolCallIds: [], usage: [] };
    }
    if (plan.kind === 'ask-again') {
      emitLegacyInterrupts(plan.raw, emit);
      view.emitFinal(emit);
      return { interrupts: plan.interrupts, pendingToolCallIds: [], usage: [] };
    }
    const includeRaw = isRecord(input.forwardedProps) && input.forwardedProps.includeRaw === true;
    const translator =
      trace === undefined ? new Translator(emit, includeRaw) : await tracingTranslator(emit, includeRaw, trace);
    translator.know(view.messages);
    if (plan.kind === 'start') for (const repair of plan.repairs) translator.tellRepair(repair);
    const takeBack = plan.kind === 'resume' && state !== undefined ? await noteAnswers(graph, state) : undefined;
    const stream = await graph.stream(graphInput(plan, packages), {
      configurable: {
        ...thread.configurable,
        ...checkpoint(plan, found),
        user_id: userId ?? 'standalone',
      },
      // biome-ignore lint/suspicious/noExplicitAny: the handler fits by shape; its class is of no copy of LangChain
      callbacks: [translator as any],
      streamMode: ['values', 'custom'],
      outputKeys: streamKeys,
      signal,
    });
    const raw = await follow(stream, translator, view, emit).catch(async (error: unknown) => {
      await takeBack?.();
      throw error;
    });
    const pending = raw?.length === 0 && keeps ? [breakpointInterrupt(await graph.getState(thread))] : (raw ?? []);
    emitLegacyInterrupts(pending, emit);
    view.emitFinal(emit);
    return outcome(input, view, translator, pending, schemas.structuredOutput !== null);
  };

  return {
    framework: 'LANGGRAPH',
    name,
    capabilities,
    history: storeId === undefined ? undefined : createHistory(graph, schemas, storeId, memory),
    run: (input, context, emit) => run(input, context, emit).catch(explain),
    async graph() {
      return buildLangGraphIr(name, await graph.getGraphAsync());
    },
    async mermaid() {
      return (await graph.getGraphAsync()).drawMermaid();
    },
    close: options.close,
  };
}

/** The checkpoint the graph starts from, where that is not the newest. */
function checkpoint(plan: RunPlan, found: ThreadReading | undefined): { checkpoint_id?: string } {
  const id = (plan.kind === 'start' ? plan.checkpointId : undefined) ?? found?.rewoundTo;
  return id === undefined ? {} : { checkpoint_id: id };
}

/** Keys shown to the client although the graph's output schema leaves them out. */
function extraKeys(graph: CompiledGraph): string[] {
  return ['messages', 'tools'].filter((key) => key in (graph.channels as object));
}

function graphInput(plan: Exclude<RunPlan, { kind: 'ask-again' | 'abandon' }>, packages: AgentPackages) {
  if (plan.kind === 'start') return plan.input;
  // After a breakpoint LangGraph goes on with no input; a question is answered with a command.
  if (plan.kind === 'continue') return null;
  const { value, messages } = plan;
  return new packages.Command({ resume: value, ...(messages.length > 0 && { update: { messages } }) });
}

/**
 * Reads the graph's own stream, which carries states and custom data; all else comes by the callbacks.
 *
 * @returns the interrupts the graph stopped at; empty for a breakpoint, undefined when it ran to its end.
 */
async function follow(
  stream: AsyncIterable<unknown>,
  translator: Translator,
  view: StateView,
  emit: Emit,
): Promise<RawInterrupt[] | undefined> {
  let interrupts: RawInterrupt[] | undefined;
  let first = true;
  for await (const item of stream) {
    const [mode, chunk] = item as [string, unknown];
    if (mode === 'custom') {
      const named = isRecord(chunk) && typeof chunk.name === 'string' && 'value' in chunk;
      translator.custom(named ? String(chunk.name) : 'custom', named ? chunk.value : chunk);
    } else if (isRecord(chunk) && Array.isArray(chunk.__interrupt__)) {
      interrupts = [...(interrupts ?? []), ...(chunk.__interrupt__ as RawInterrupt[])];
    } else {
      view.update(isRecord(chunk) ? chunk : Array.isArray(chunk) ? { messages: chunk } : {});
      // The first state is what the run starts from: the client sent it or has it already.
      if (first) translator.know(view.messages);
      else translator.tell(view.messages);
      first = false;
      if (!translator.predicting && !translator.streaming) view.emitIfChanged(emit);
    }
  }
  return interrupts && [...new Map(interrupts.map((entry) => [entry.id, entry])).values()];
}

function outcome(
  input: RunAgentInput,
  view: StateView,
  translator: Translator,
  pending: RawInterrupt[],
  structured: boolean,
): RunOutcome {
  const clientTools = new Set(input.tools.map((tool) => tool.name));
  const messages = view.messages as { tool_calls?: { id?: string; name: string }[]; tool_call_id?: string }[];
  const answered = new Set(messages.map((message) => message.tool_call_id));
  const asked = messages.findLast((message) => message.tool_calls !== undefined)?.tool_calls ?? [];
  const unanswered = asked.filter((call) => clientTools.has(call.name) && !answered.has(call.id));
  return {
    interrupts: toInterrupts(pending),
    pendingToolCallIds: unanswered.map((call) => call.id ?? ''),
    usage: translator.usage,
    ...(structured && { result: view.values }),
  };
}

/** A translator that records the run, too. Loaded when somebody listens: every start waits for what is loaded. */
async function tracingTranslator(emit: Emit, includeRaw: boolean, trace: RunTrace): Promise<Translator> {
  const [{ GraphSpans }, { TracingTranslator }] = await Promise.all([
    import('./graph-spans.ts'),
    import('./tracing-translator.ts'),
  ]);
  return new TracingTranslator(emit, includeRaw, new GraphSpans(trace));
}

/** Puts errors that a client can act on into words; everything else stays as it is. */
function explain(error: unknown): never {
  const unreachable = unreachableIn(error);
  if (unreachable !== undefined) {
    throw new RunFailure('FRAMEWORK_ERROR', "The agent's memory cannot be reached. Try again in a moment.", {
      cause: unreachable,
    });
  }
  const name = error instanceof Error ? error.name : '';
  if (name === 'GraphRecursionError') {
    throw new RunFailure('FRAMEWORK_ERROR', 'The agent took more steps than it is allowed and was stopped.', {
      cause: error,
    });
  }
  throw error;
}

/** The failure of the memory behind an error, which LangGraph or the agent may have wrapped. */
function unreachableIn(error: unknown): MemoryUnreachable | undefined {
  let inner: unknown = error;
  for (let depth = 0; depth < 5 && inner instanceof Error; depth += 1) {
    if (inner instanceof MemoryUnreachable) return inner;
    inner = inner instanceof AggregateError ? inner.errors[0] : inner.cause;
  }
  return undefined;
}
