import { messagesGraph } from '../support/graphs.ts';

const thinking = (text: string): string => `{ content: [{ index: 0, type: 'thinking', thinking: '${text}' }] }`;
const text = (words: string): string => `{ content: [{ index: 1, type: 'text', text: '${words}' }] }`;

/** A model that takes a while for each piece, so that runs are under way while their readers are cut off. */
const slow = (answers: string): string =>
  `new ScriptedModel(${answers}, { gate: () => new Promise((resolve) => setTimeout(resolve, 1)) })`;

/** Reasons, talks, calls two tools at once, tells of its state, reasons and talks again. */
export const EVERYTHING = messagesGraph(
  '',
  `
const tools = [
  tool(async ({ to }) => 'trains to ' + to, { name: 'trains', description: 'trains', schema: z.object({ to: z.string() }) }),
  tool(async ({ on }) => 'weather on ' + on, { name: 'weather', description: 'weather', schema: z.object({ on: z.string() }) }),
];
const ask = (turn) => [{ id: 'ask' + turn }, ${thinking('Compare ')}, ${thinking('fares – é.')}, ${text('Let me ')}, ${text('look.')},
  call(0, 'to' + turn, 'trains', ''), call(0, undefined, undefined, '{"to":'), call(1, 'on' + turn, 'weather', '{"on"'),
  call(0, undefined, undefined, '"Lyon"}'), call(1, undefined, undefined, ':"Monday"}')];
const answer = (turn) => [{ id: 'answer' + turn }, ${thinking('Two ')}, ${thinking('facts.')}, ${text('Take ')}, ${text('the ')}, ${text('14:02.')}];
const model = ${slow(`[(messages) => {
  const turn = messages.filter((one) => one.getType() === 'human').length;
  return messages.at(-1).getType() === 'tool' ? answer(turn) : ask(turn);
}]`)};
const Everything = Annotation.Root({ ...MessagesAnnotation.spec, found: Annotation });
`,
).replace(
  /export const graph[\s\S]*/,
  `export const graph = new StateGraph(Everything)
  .addNode('model', async (state) => ({ messages: [await model.invoke(state.messages)] }))
  .addNode('tools', new ToolNode(tools))
  .addNode('note', (state) => ({ found: { tools: state.messages.filter((one) => one.getType() === 'tool').length } }))
  .addEdge(START, 'model')
  .addConditionalEdges('model', (state) => (state.messages.at(-1).tool_calls?.length > 0 ? 'tools' : END))
  .addEdge('tools', 'note')
  .addEdge('note', 'model');
`,
);

/** Says a hundred words. */
export const TALKER = messagesGraph(
  `.addNode('model', async (state) => ({ messages: [await model.invoke(state.messages)] }))
  .addEdge(START, 'model').addEdge('model', END)`,
  `const model = ${slow(`[() => [{ id: 'a1' }, ...Array.from({ length: 100 }, (_, at) => 'w' + at + ' ')]]`)};`,
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
