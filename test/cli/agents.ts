/** Sources of agents that only a server in a process of its own can show. Each is a whole module. */

/** Says one word, waits at the gate whose address the user wrote, then says another. */
export const GATED = `
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { ScriptedModel } from './scripted.ts';
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('model', async (state) => {
    const asked = state.messages.at(-1).content;
    if (!asked.startsWith('http')) {
      const heard = state.messages.filter((message) => message.type === 'human').length;
      return { messages: [await new ScriptedModel([['heard ' + heard]]).invoke(state.messages)] };
    }
    let words = 0;
    const model = new ScriptedModel([['before', ' after']], { gate: async () => {
      words += 1;
      if (words === 2) await fetch(asked);
    } });
    return { messages: [await model.invoke(state.messages)] };
  })
  .addEdge(START, 'model')
  .addEdge('model', END);
`;

/** Forgets to await a promise that is rejected, and answers all the same. */
export const CARELESS = `
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { AIMessage } from '@langchain/core/messages';
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('agent', () => {
    void Promise.reject(new Error('forgotten'));
    return { messages: [new AIMessage('answered')] };
  })
  .addEdge(START, 'agent')
  .addEdge('agent', END);
`;

/** Answers, and throws when nobody is there any more to catch it. */
export const EXPLOSIVE = `
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { AIMessage } from '@langchain/core/messages';
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('agent', () => {
    setImmediate(() => { throw new Error('too late to catch'); });
    return { messages: [new AIMessage('answered')] };
  })
  .addEdge(START, 'agent')
  .addEdge('agent', END);
`;

/** Configuration of an agent that keeps its conversations in a file. */
export const SQLITE_CONFIG = `
agent:
  type: LANGGRAPH
  config:
    name: keeper
    graph_definition: "./agent.ts:graph"
    checkpointer: { type: sqlite, db_url: "sqlite:///./data/chat.db" }
`;
