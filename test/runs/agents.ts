import { messagesGraph } from '../support/graphs.ts';

/** Names of the gates an agent waits at: before a piece of what its model says, by its number, or in its tool. */
export type Stops = Record<number, string> & { tool?: string };

const thinking = (text: string): string => `{ content: [{ index: 0, type: 'thinking', thinking: '${text}' }] }`;
const text = (words: string): string => `{ content: [{ index: 1, type: 'text', text: '${words}' }] }`;

/** Options of a scripted model that waits before the pieces `stops` names, counted over all its answers. */
export function stopping(stops: Stops): string {
  return `(() => {
  let piece = 0;
  const stops = ${JSON.stringify(stops)};
  return { gate: () => globalThis.testGates.pass(stops[piece++] ?? '') };
})()`;
}

/** Where `everything` may be stopped, in the first run of its server. */
export const PIECE = {
  reasoning: 2,
  text: 4,
  firstCall: 6,
  bothCalls: 8,
  secondReasoning: 12,
  secondText: 14,
} as const;

/** Reasons, talks, calls two tools at once, writes to its state, reasons and talks again. */
export function everything(stops: Stops = {}): string {
  return messagesGraph(
    '',
    `
const tools = [
  tool(async ({ to }) => {
    await globalThis.testGates.pass(${JSON.stringify(stops.tool ?? '')});
    return 'trains to ' + to;
  }, { name: 'trains', description: 'trains', schema: z.object({ to: z.string() }) }),
  tool(async ({ on }) => {
    // Behind the other, unless that is held up: clients keep results in the order they came.
    await new Promise((resolve) => setImmediate(resolve));
    return 'weather on ' + on;
  }, { name: 'weather', description: 'weather', schema: z.object({ on: z.string() }) }),
];
const ask = (turn) => [{ id: 'ask' + turn }, ${thinking('Compare ')}, ${thinking('fares – é.')}, ${text('Let me ')}, ${text('look.')},
  call(0, 'to' + turn, 'trains', ''), call(0, undefined, undefined, '{"to":'), call(1, 'on' + turn, 'weather', '{"on"'),
  call(0, undefined, undefined, '"Lyon"}'), call(1, undefined, undefined, ':"Monday"}')];
const answer = (turn) => [{ id: 'answer' + turn }, ${thinking('Two ')}, ${thinking('facts.')}, ${text('Take ')}, ${text('the ')}, ${text('14:02.')}];
const model = new ScriptedModel([(messages) => {
  const turn = messages.filter((one) => one.getType() === 'human').length;
  return messages.at(-1).getType() === 'tool' ? answer(turn) : ask(turn);
}], ${stopping(stops)});
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
}

/** Writes `begun: …`, waits at the gate `hold`, or else at the one the user names, then writes `done: …`. */
export function twoSteps(hold?: string): string {
  return messagesGraph(
    `.addNode('begin', (state) => ({ messages: [new AIMessage('begun: ' + said(state))] }))
  .addNode('finish', async (state) => {
    await globalThis.testGates.pass(${hold === undefined ? 'said(state)' : `'${hold}'`});
    return { messages: [new AIMessage('done: ' + said(state))] };
  })
  .addEdge(START, 'begin').addEdge('begin', 'finish').addEdge('finish', END)`,
    `const said = (state) => state.messages.findLast((one) => one.getType() === 'human')?.content;`,
  );
}

/** Asks before it acts; once answered it passes the gate `act`, which counts how often it did. */
export function asksFirst(act: string): string {
  return messagesGraph(
    `.addNode('ask', () => ({ messages: [new AIMessage({ id: 'a1', content: 'answer: ' + JSON.stringify(interrupt({ message: 'Book?' })) })] }))
  .addNode('act', async () => {
    await globalThis.testGates.pass('${act}');
    return { messages: [new AIMessage({ id: 'a2', content: 'booked' })] };
  })
  .addEdge(START, 'ask').addEdge('ask', 'act').addEdge('act', END)`,
  );
}
