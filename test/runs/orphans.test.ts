import type { Message, Tool } from '@ag-ui/core';
import { expect, test } from 'vitest';
import { type Client, stage } from '../support/client.ts';
import { createGate, until } from '../support/gates.ts';
import { messagesGraph, toolLoop } from '../support/graphs.ts';
import { ofType, runInput, textOf } from '../support/runs.ts';
import { openRun } from '../support/streams.ts';
import { cancelRun, endOf, heldAfter } from './support.ts';

const CONFIRM: Tool = { name: 'confirm', description: 'asks the user', parameters: { type: 'object', properties: {} } };

/** What the model is given, each message by its kind and the calls it makes or answers. */
const HEARD = `(messages) => [{ id: 'a' + messages.length, content: messages.map((one) =>
  [one.getType(), ...(one.tool_calls ?? []).map(({ id }) => id), ...(one.tool_call_id ? [one.tool_call_id, one.content] : [])].join(':')).join(' ') }]`;

/** Calls two tools of the client, then tells what it is given. */
const AGENT = messagesGraph(
  `.addNode('model', async (state) => ({ messages: [await model.invoke(state.messages)] })).addEdge(START, 'model').addEdge('model', END)`,
  `let turn = 0;
const model = new ScriptedModel([(messages) => {
  turn += 1;
  return turn === 1 ? [{ id: 'ask' }, call(0, 'c1', 'confirm', '{}'), call(1, 'c2', 'confirm', '{}')] : (${HEARD})(messages);
}]);`,
);

const CUT = 'This call was cut short and has no result.';

const said = (user: Client): unknown => user.messages.findLast(({ role }) => role === 'assistant')?.content;

test('a client that goes on without answering: the calls get results, and the client hears of them', async () => {
  const user = (await stage(AGENT)).client();
  await user.say('book', { tools: [CONFIRM] });
  const { lines, events } = await user.say('never mind', { tools: [CONFIRM] });
  expect(said(user)).toBe(`human ai:c1:c2 tool:c1:${CUT} tool:c2:${CUT} human`);
  expect(lines.slice(0, 3)).toEqual([
    'RUN_STARTED',
    `TOOL_CALL_RESULT c1 unanswered-c1 "${CUT}"`,
    `TOOL_CALL_RESULT c2 unanswered-c2 "${CUT}"`,
  ]);
  expect(endOf(events)).toBe('success');
  const tools = user.messages.filter(({ role }) => role === 'tool');
  expect(tools).toHaveLength(2);
});

test('one of two answered: only the other is made up', async () => {
  const user = (await stage(AGENT)).client();
  await user.say('book', { tools: [CONFIRM] });
  user.agent.addMessage({ id: 't2', role: 'tool', toolCallId: 'c2', content: 'yes' });
  const { events } = await user.say('and now', { tools: [CONFIRM] });
  expect(ofType(events, 'TOOL_CALL_RESULT').map(({ toolCallId }) => toolCallId)).toEqual(['c1']);
  const heard = String(said(user));
  for (const result of ['tool:c2:yes', `tool:c1:${CUT}`]) expect(heard.split(result)).toHaveLength(2);
  // Providers want the results right behind the call.
  expect(heard).toMatch(/^human ai:c1:c2 tool:.* tool:.* human$/);
});

test('an answer that comes late takes the place of ours', async () => {
  const server = await stage(AGENT);
  const user = server.client();
  await user.say('book', { tools: [CONFIRM] });
  await user.say('never mind', { tools: [CONFIRM] });
  const late: Message = { id: 't1', role: 'tool', toolCallId: 'c1', content: 'yes after all' };
  await server.client({ threadId: user.agent.threadId }).send(late, { tools: [CONFIRM] });
  const again = server.client({ threadId: user.agent.threadId });
  await again.send({ id: 'u9', role: 'user', content: 'so?' }, { tools: [CONFIRM] });
  const heard = String(said(again));
  expect(heard).toMatch(new RegExp(`^human ai:c1:c2 tool:c1:yes after all tool:c2:${CUT} human ai`));
  expect(heard.split('tool:')).toHaveLength(3);
});

test('cancelled in the middle of a tool: the next message finds every call answered', async () => {
  const gate = createGate();
  const agent = toolLoop(
    `new ScriptedModel([(messages) => {
      turn += 1;
      return turn === 1 ? [{ id: 'ask' }, call(0, 'c1', 'slow', '{}'), call(1, 'c2', 'fast', '{}')] : (${HEARD})(messages);
    }])`,
    `[tool(async () => { await globalThis.testGates.pass('${gate.name}'); return 'done'; }, { name: 'slow', description: 'slow', schema: z.object({}) }),
      tool(async () => 'quick', { name: 'fast', description: 'fast', schema: z.object({}) })]`,
    'let turn = 0;',
  );
  const { base } = await stage(agent);
  const input = runInput('look', { threadId: 'th' });
  const running = await openRun(base, input);
  await until(() => gate.arrived === 1);
  await cancelRun(base, input.runId);
  expect(endOf(await running.all())).toBe('cancelled');
  gate.open();
  const next = await (await openRun(base, runInput('and now', { threadId: 'th' }))).all();
  expect(endOf(next)).toBe('success');
  expect(textOf(next)).toMatch(/^human ai:c1:c2 tool:c1:.* tool:c2:.* human$/);
  // Across both runs each call has been given exactly one result.
  const told = [...running.events(), ...next].filter(({ type }) => type === 'TOOL_CALL_RESULT');
  const snapshot = next.findLast(({ type }) => type === 'MESSAGES_SNAPSHOT')?.messages as Message[];
  const stored = snapshot.filter((one) => one.role === 'tool');
  expect(stored.map(({ toolCallId }) => toolCallId).toSorted()).toEqual(['c1', 'c2']);
  for (const { toolCallId, content } of stored) {
    expect(told.findLast((event) => event.toolCallId === toolCallId)?.content, toolCallId).toBe(content);
  }
  // What a client that has read both holds is what the thread holds.
  const held = await heldAfter(running.text, input.messages);
  const after = await heldAfter(framesText(next), held.messages);
  expect(after.messages.filter(({ role }) => role === 'tool')).toEqual(stored);
});

function framesText(events: readonly object[]): string {
  return events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
}
