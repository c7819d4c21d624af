import type { Detection } from './scan-result.ts';

/** What a framework calls the things agents are made with. */
interface Kit {
  framework: Detection['framework'];
  /** Modules these are imported from. */
  modules: RegExp;
  /** Classes whose instances are agents as they are. */
  agents: ReadonlySet<string>;
  /** Classes whose instances have yet to be compiled. */
  builders: ReadonlySet<string>;
  /** Functions that return an agent. */
  functions: ReadonlySet<string>;
}

const KITS: readonly Kit[] = [
  {
    framework: 'LANGGRAPH',
    modules: /^(?:@langchain\/langgraph|langchain)(?:\/|$)/,
    agents: new Set(),
    builders: new Set(['StateGraph', 'MessageGraph']),
    functions: new Set(['createReactAgent', 'createAgent', 'entrypoint']),
  },
  {
    framework: 'ADK',
    modules: /^@google\/adk(?:\/|$)/,
    agents: new Set(['Agent', 'LlmAgent', 'SequentialAgent', 'ParallelAgent', 'LoopAgent', 'Workflow']),
    builders: new Set(),
    functions: new Set(),
  },
];

/** Whether a module may hold an agent at all, to be told without parsing it. */
export function mayHoldAgent(text: string): boolean {
  return text.includes('langchain') || text.includes('@google/adk');
}

/** What `new` makes of a class that was imported: an agent of which framework, and whether it is ready. */
export function constructed(
  module: string,
  name: string,
): { framework: Detection['framework']; ready: boolean } | undefined {
  const kit = KITS.find(({ modules }) => modules.test(module));
  if (kit?.agents.has(name)) return { framework: kit.framework, ready: true };
  return kit?.builders.has(name) ? { framework: kit.framework, ready: false } : undefined;
}

/** What a call of an imported function gives: an agent of which framework. */
export function called(module: string, name: string): Detection['framework'] | undefined {
  const kit = KITS.find(({ modules }) => modules.test(module));
  return kit?.functions.has(name) ? kit.framework : undefined;
}

const PYTHON_IMPORT = /^[ \t]*(?:from|import)[ \t]+(?:langgraph|langchain|google\.adk)\b/m;
const PYTHON_AGENT =
  /\b(?:StateGraph|MessageGraph|create_react_agent|create_agent|(?:Llm|Sequential|Parallel|Loop)?Agent)[ \t]*\(/;

/** Whether a Python file looks as if it made an agent. Nothing depends on it but a hint. */
export function looksLikePythonAgent(text: string): boolean {
  return PYTHON_IMPORT.test(text) && PYTHON_AGENT.test(text);
}
