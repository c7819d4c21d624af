import { everythingAgent } from '../support/everything.ts';
import { messagesGraph } from '../support/graphs.ts';

/** Names of the gates an agent waits at: before a piece of what its model says, by its number, or in its tool. */
export type Stops = Record<number, string> & { tool?: string };

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
  return everythingAgent({
    model: stopping(stops),
    trains: `await globalThis.testGates.pass(${JSON.stringify(stops.tool ?? '')});`,
    // Behind the other, unless that is held up: clients keep results in the order they came.
    weather: 'await new Promise((resolve) => setImmediate(resolve));',
  });
}

/** Ends in the way the user asks for: `fail`, `wait` at the gate, `ask`, or an answer. */
export function endsAsAsked(gate: string): string {
  return messagesGraph(
    `.addNode('work', async (state) => {
    const said = state.messages.at(-1).content;
    if (said === 'fail') throw new Error('no');
    if (said === 'wait') await globalThis.testGates.pass('${gate}');
    if (said === 'ask') return { messages: [new AIMessage('got ' + interrupt({ message: 'Book?' }))] };
    return { messages: [new AIMessage('answered')] };
  }).addEdge(START, 'work').addEdge('work', END)`,
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
