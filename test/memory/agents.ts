import { IMPORTS } from '../support/graphs.ts';

/** Counts its turns in a key of its own, and in a subgraph says what it heard, or asks first. */
export const ASKS = `${IMPORTS}
const State = Annotation.Root({ ...MessagesAnnotation.spec, turns: Annotation({ reducer: (a, b) => a + b, default: () => 0 }) });
const inner = new StateGraph(MessagesAnnotation)
  .addNode('think', () => ({ messages: [] }))
  .addNode('ask', (state) => {
    const said = state.messages.at(-1).content;
    return { messages: [new AIMessage(said === 'ask' ? 'told ' + interrupt({ message: 'Which?' }) : 'heard ' + said)] };
  })
  .addEdge(START, 'think').addEdge('think', 'ask').addEdge('ask', END).compile();
export const graph = new StateGraph(State)
  .addNode('count', () => ({ turns: 1 }))
  .addNode('inner', inner)
  .addEdge(START, 'count').addEdge('count', 'inner').addEdge('inner', END);
`;
