import { everythingAgent } from '../support/everything.ts';
import { messagesGraph } from '../support/graphs.ts';

/** Options of a model that takes a while for each piece, so that runs are under way while their readers are cut off. */
const SLOWLY = '{ gate: () => new Promise((resolve) => setTimeout(resolve, 1)) }';

/** Reasons, talks, calls two tools at once, tells of its state, reasons and talks again. */
export const EVERYTHING = everythingAgent({ model: SLOWLY });

/** Says a hundred words. */
export const TALKER = messagesGraph(
  `.addNode('model', async (state) => ({ messages: [await model.invoke(state.messages)] }))
  .addEdge(START, 'model').addEdge('model', END)`,
  `const model = new ScriptedModel([() => [{ id: 'a1' }, ...Array.from({ length: 100 }, (_, at) => 'w' + at + ' ')]], ${SLOWLY});`,
);

/** What {@link TALKER} says. */
export const HUNDRED = Array.from({ length: 100 }, (_, at) => `w${at} `).join('');

/** Says half of its answer, waits at the gate its message names, then says the rest. */
export const HALTING = messagesGraph(
  `.addNode('model', async (state) => ({ messages: [await model(String(state.messages.at(-1).content)).invoke(state.messages)] }))
  .addEdge(START, 'model').addEdge('model', END)`,
  `const model = (gate) => {
  let said = 0;
  return new ScriptedModel([[{ id: 'a1' }, 'Hel', 'lo', '!']], { gate: async (signal) => {
    said += 1;
    if (said !== 3) return;
    await Promise.race([globalThis.testGates.pass(gate), new Promise((_, fail) => signal?.addEventListener('abort', fail))]);
  } });
};`,
);

/** Asks before it answers. */
export const ASKING = messagesGraph(
  `.addNode('ask', () => ({ messages: [new AIMessage({ id: 'a1', content: 'got ' + JSON.stringify(interrupt({ message: 'Book?' })) })] }))
  .addEdge(START, 'ask').addEdge('ask', END)`,
);
