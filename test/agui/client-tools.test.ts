import type { Message, Tool } from '@ag-ui/core';
import { expect, test } from 'vitest';
import { stage } from '../support/client.ts';
import { IMPORTS, messagesGraph } from '../support/graphs.ts';
import { ofType } from '../support/runs.ts';

const CONFIRM: Tool = { name: 'confirm', description: 'asks the user', parameters: { type: 'object', properties: {} } };

/** Calls the client's tool `confirm`, and says what it was told once the result is there. */
const AGENT = messagesGraph(
  `.addNode('model', async (state) => ({ messages: [await model.invoke(state.messages)] })).addEdge(START, 'model').addEdge('model', END)`,
  `const model = new ScriptedModel([
    [{ id: 'a1' }, call(0, 'c1', 'confirm', '{"text":"Book?"}')],
    (messages) => [{ id: 'a2', content: 'You said ' + messages.map((m) => m.getType() + ':' + JSON.stringify(m.content)).at(-1) }],
  ]);`,
);

test('a call of a client tool has no result; the run finishes and names it as pending', async () => {
  const { client } = await stage(AGENT);
  const user = client();
  const { events, lines } = await user.say('book it', { tools: [CONFIRM] });
  expect(lines).toEqual([
    'RUN_STARTED',
    'STEP_STARTED model',
    'TOOL_CALL_START c1 confirm in a1',
    'TOOL_CALL_ARGS c1 {"text":"Book?"}',
    'TOOL_CALL_END c1',
    'STEP_FINISHED model',
    'STATE_SNAPSHOT',
    'MESSAGES_SNAPSHOT u1 a1',
    'RUN_FINISHED success',
  ]);
  expect(events.at(-1)?.outcome).toEqual({ type: 'success', pendingToolCallIds: ['c1'] });
});

test('the next run brings the result as a tool message, and the agent goes on', async () => {
  const { client } = await stage(AGENT);
  const user = client();
  await user.say('book it', { tools: [CONFIRM] });
  const answer: Message = { id: 't1', role: 'tool', toolCallId: 'c1', content: 'yes' };
  const { events, lines } = await user.send(answer, { tools: [CONFIRM] });
  expect(lines).toEqual([
    'RUN_STARTED',
    'STEP_STARTED model',
    'TEXT_MESSAGE_START a2',
    'TEXT_MESSAGE_CONTENT a2 "You said tool:\\"yes\\""',
    'TEXT_MESSAGE_END a2',
    'STEP_FINISHED model',
    'STATE_SNAPSHOT',
    'MESSAGES_SNAPSHOT u1 a1 t1 a2',
    'RUN_FINISHED success',
  ]);
  expect(events.at(-1)?.outcome).toEqual({ type: 'success' });
  expect(user.messages.map(({ id }) => id)).toEqual(['u1', 'a1', 't1', 'a2']);
});

test('the tool message alone is enough on a thread the server knows', async () => {
  const { client } = await stage(AGENT);
  await client({ threadId: 'th-1' }).say('book it', { tools: [CONFIRM] });
  const { lines } = await client({ threadId: 'th-1' }).send({
    id: 't1',
    role: 'tool',
    toolCallId: 'c1',
    content: 'yes',
  });
  expect(lines.at(-2)).toBe('MESSAGES_SNAPSHOT u1 a1 t1 a2');
});

test('a result that is an error reaches the model as one', async () => {
  const source = AGENT.replace(`m.getType() + ':' + JSON.stringify(m.content)`, `m.status`);
  const user = (await stage(source)).client();
  await user.say('book it', { tools: [CONFIRM] });
  await user.send({ id: 't1', role: 'tool', toolCallId: 'c1', content: 'no', error: 'no' });
  expect(user.messages.at(-1)?.content).toBe('You said error');
  expect(user.messages.at(-2)).toMatchObject({ role: 'tool', error: 'no' });
});

test('a call of a tool the client did not offer is not named as pending', async () => {
  const { events } = await (await stage(AGENT)).client().say('book it');
  expect(events.at(-1)?.outcome).toEqual({ type: 'success' });
});

test('of several calls only those of the client are pending', async () => {
  const source = `${IMPORTS}
const tools = [tool(async () => 'found', { name: 'look', description: 'looks', schema: z.object({}) })];
const model = new ScriptedModel([[{ id: 'a1' }, call(0, 'c1', 'look', '{}'), call(1, 'c2', 'confirm', '{}')], [{ id: 'a2', content: 'Done.' }]]);
const own = new Set(['look']);
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('model', async (state) => ({ messages: [await model.invoke(state.messages)] }))
  .addNode('tools', async (state) => {
    const made = state.messages.at(-1).tool_calls.filter(({ name }) => own.has(name));
    return { messages: await Promise.all(made.map((one) => tools[0].invoke({ ...one, type: 'tool_call' }))) };
  })
  .addEdge(START, 'model')
  .addConditionalEdges('model', (state) => (state.messages.at(-1).tool_calls?.some(({ name }) => own.has(name)) ? 'tools' : END))
  .addEdge('tools', END);
`;
  const user = (await stage(source)).client();
  const { events } = await user.say('book it', { tools: [CONFIRM] });
  expect(ofType(events, 'TOOL_CALL_RESULT').map(({ toolCallId }) => toolCallId)).toEqual(['c1']);
  expect(events.at(-1)?.outcome).toEqual({ type: 'success', pendingToolCallIds: ['c2'] });
  const { events: next } = await user.send(
    { id: 't2', role: 'tool', toolCallId: 'c2', content: 'yes' },
    { tools: [CONFIRM] },
  );
  expect(next.at(-1)?.outcome).toEqual({ type: 'success' });
  expect(user.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool', 'assistant']);
});

test('clientTools gives nodes the tools of this run', async () => {
  const source = `import { clientContext, clientTools, currentThread, currentUser } from 'agent-engine-server/agent';
${messagesGraph(
  `.addNode('node', async () => ({ messages: [new AIMessage(JSON.stringify([
      clientTools().map(({ name }) => name), clientContext(), currentThread(), currentUser(), await tools[0].invoke({}),
    ]))] })).addEdge(START, 'node').addEdge('node', END)`,
  `const tools = [tool(async () => currentUser() + '@' + currentThread(), { name: 'who', description: 'who', schema: z.object({}) })];`,
)}`;
  const { client } = await stage(source);
  const context = [{ description: 'locale', value: 'fr-FR' }];
  const user = client({ threadId: 'th-1', headers: { 'X-Service-User-Id': 'ana' } });
  await user.say('hi', { tools: [CONFIRM], context });
  expect(JSON.parse(String(user.messages.at(-1)?.content))).toEqual([['confirm'], context, 'th-1', 'ana', 'ana@th-1']);
  const anonymous = client({ threadId: 'th-2' });
  await anonymous.say('hi');
  expect(JSON.parse(String(anonymous.messages.at(-1)?.content))).toEqual([
    [],
    [],
    'th-2',
    'standalone',
    'standalone@th-2',
  ]);
});

test('the helpers keep two runs at once apart', async () => {
  const source = `import { currentThread, emitCustom } from 'agent-engine-server/agent';
${messagesGraph(
  `.addNode('node', async () => { meet(); await met; emitCustom('me', currentThread()); return {}; }).addEdge(START, 'node').addEdge('node', END)`,
  `let arrived = 0; let open; const met = new Promise((resolve) => { open = resolve; }); const meet = () => { arrived += 1; if (arrived === 2) open(); };`,
)}`;
  const { client } = await stage(source);
  const runs = await Promise.all([client({ threadId: 'one' }).say('hi'), client({ threadId: 'two' }).say('hi')]);
  expect(runs.map(({ events }) => ofType(events, 'CUSTOM').map(({ value }) => value))).toEqual([['one'], ['two']]);
});

test('a helper used outside a run says so', async () => {
  const source = `import { currentUser, clientTools, emitCustom } from 'agent-engine-server/agent';
let said; try { emitCustom('x', 1); } catch (error) { said = error.message; }
${messagesGraph(
  `.addNode('node', () => ({ messages: [new AIMessage([outside, said].join())] })).addEdge(START, 'node').addEdge('node', END)`,
  `const outside = currentUser() + clientTools().length;`,
)}`;
  const user = (await stage(source)).client();
  await user.say('hi');
  expect(user.messages.at(-1)?.content).toBe(
    'standalone0,emitCustom() works inside a run of the agent only: call it in a node or tool, not as it is built.',
  );
});
