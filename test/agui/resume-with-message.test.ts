import { expect, test } from 'vitest';
import { createTestApp } from '../support/app.ts';
import { ofType, runEvents, runInput, textOf } from '../support/runs.ts';

const AGENT = `
import { END, interrupt, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { AIMessage } from '@langchain/core/messages';
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('ask', () => ({ messages: [new AIMessage('answer: ' + JSON.stringify(interrupt('sure?')))] }))
  .addNode('count', (state) => ({ messages: [new AIMessage('heard: ' + state.messages.filter((m) => m.getType() === 'human').map((m) => m.content).join(','))] }))
  .addEdge(START, 'ask').addEdge('ask', 'count').addEdge('count', END);
`;

test('a message that comes with an answer joins the conversation', async () => {
  const { app } = await createTestApp({ files: { 'agent.ts': AGENT }, agent: 'agent.ts' });
  const first = runInput('one');
  const asked = await runEvents(app, first);
  const outcome = ofType(asked, 'RUN_FINISHED')[0]?.outcome as { interrupts: { id: string }[] } | undefined;
  const second = runInput('two', {
    threadId: first.threadId,
    resume: [{ interruptId: outcome?.interrupts[0]?.id ?? '', status: 'resolved', payload: false }],
  });
  expect(textOf(await runEvents(app, second))).toBe('answer: falseheard: one,two');
});

test('a graph of the functional API is refused with the way out', async () => {
  const code = `
import { entrypoint } from '@langchain/langgraph';
export const graph = entrypoint('flow', async (input) => input);
`;
  const { app } = await createTestApp({ files: { 'agent.ts': code }, agent: 'agent.ts:graph' });
  expect((await app.inject('/health')).json()).toMatchObject({
    reason: expect.stringContaining('export a StateGraph'),
  });
});
