import { messagesGraph } from './graphs.ts';

const thinking = (text: string): string => `{ content: [{ index: 0, type: 'thinking', thinking: '${text}' }] }`;
const text = (words: string): string => `{ content: [{ index: 1, type: 'text', text: '${words}' }] }`;

/**
 * The source of an agent that reasons, talks, calls two tools at once, writes to its state, reasons and talks again.
 *
 * @param code.model source of its scripted model's options.
 * @param code.trains what the first tool does before it answers, as source; `weather` likewise for the second.
 */
export function everythingAgent(code: { model: string; trains?: string; weather?: string }): string {
  return messagesGraph(
    '',
    `
const tools = [
  tool(async ({ to }) => {
    ${code.trains ?? ''}
    return 'trains to ' + to;
  }, { name: 'trains', description: 'trains', schema: z.object({ to: z.string() }) }),
  tool(async ({ on }) => {
    ${code.weather ?? ''}
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
}], ${code.model});
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
