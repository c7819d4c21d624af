/**
 * The starter agent: a model that may call tools, until it has an answer. `config.yaml` names this file; edit it
 * and reload the server to see the change.
 *
 *     START -> agent -> tools -> agent -> ... -> END
 *
 * @module
 */
import { AIMessage } from '@langchain/core/messages';
import type { StructuredToolInterface } from '@langchain/core/tools';
import { END, type LangGraphRunnableConfig, Send, START, StateGraph } from '@langchain/langgraph';
import { ToolNode } from '@langchain/langgraph/prebuilt';
import type { AgentContext } from 'agent-engine-server/agent';
import { clientTools, currentUser } from 'agent-engine-server/agent';
import { modelInput } from './conversation.ts';
import { createModelSource } from './model.ts';
import { StarterState } from './state.ts';
import { createTools } from './tools.ts';

/** Builds the graph. The server calls this at every (re)load and compiles the result with its checkpointer. */
export function graph(context: AgentContext) {
  const model = createModelSource(context.settings);
  // Tools the server provides, as LangChain tools.
  const tools = [...createTools(), ...(context.tools as StructuredToolInterface[])];
  const serverTools = new Set(tools.map((tool) => tool.name));

  /** The tools the UI offers for this run, less those that would hide one of ours. */
  const uiTools = () => clientTools().filter((tool) => !serverTools.has(tool.name));

  async function agent(state: StarterState, config: LangGraphRunnableConfig) {
    const chat = await model();
    const definitions = uiTools().map(({ name, description, parameters }) => ({
      type: 'function',
      function: { name, description, parameters: parameters ?? { type: 'object', properties: {} } },
    }));
    const bound = chat.bindTools?.([...tools, ...definitions]) ?? chat;
    // Somebody may have stored other instructions than the built-in ones; `config.yaml` shows how.
    const instructions = context.getPrompt('starter')?.format({ user: currentUser(), tools: [...serverTools] });
    return { messages: [await bound.invoke(modelInput(state.messages, instructions), config)] };
  }

  /** A run may bring nothing to answer, only a change of the shared state. */
  function whenAsked(state: StarterState) {
    return AIMessage.isInstance(state.messages.at(-1)) ? END : 'agent';
  }

  /** Splits what the model asked for: calls for us to run, and calls that the UI runs after this run has ended. */
  function lastCalls(state: StarterState) {
    const calls = state.messages.findLast(AIMessage.isInstance)?.tool_calls ?? [];
    const ui = new Set(uiTools().map((tool) => tool.name));
    return { ours: calls.filter((call) => !ui.has(call.name)), theirs: calls.filter((call) => ui.has(call.name)) };
  }

  /**
   * One task for each call: they run in parallel, and a question to the user holds up only its own. The tool node
   * takes the call from `lg_tool_call`; the rest of what is sent is the state the tool sees.
   */
  function callTools(state: StarterState) {
    const { ours } = lastCalls(state);
    return ours.length === 0 ? END : ours.map((call) => new Send('tools', { notes: state.notes, lg_tool_call: call }));
  }

  /** With a call open that the UI must answer the run ends; the next run brings the answer. */
  function afterTools(state: StarterState) {
    return lastCalls(state).theirs.length > 0 ? END : 'agent';
  }

  return new StateGraph(StarterState)
    .addNode('agent', agent)
    .addNode('tools', new ToolNode(tools))
    .addConditionalEdges(START, whenAsked, ['agent', END])
    .addConditionalEdges('agent', callTools, ['tools', END])
    .addConditionalEdges('tools', afterTools, ['agent', END]);
}
