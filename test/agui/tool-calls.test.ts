import { expect, test } from 'vitest';
import { type Stage, stage } from '../support/client.ts';
import { messagesGraph, oneModel } from '../support/graphs.ts';
import { ofType } from '../support/runs.ts';

/** The lines between the start and the end of the step `model`. */
async function modelLines(source: string): Promise<string[]> {
  const { lines } = await (await stage(source)).client().say('hi');
  return lines.slice(lines.indexOf('STEP_STARTED model') + 1, lines.indexOf('STEP_FINISHED model'));
}

const script = (chunks: string): string => oneModel(`new ScriptedModel([[{ id: 'a1' }, ${chunks}]])`);

/** The client's tool calls after one run: id, name and arguments. */
async function heldCalls({ client }: Stage): Promise<unknown[]> {
  const user = client();
  await user.say('hi');
  return user.messages.flatMap((message) =>
    message.role === 'assistant'
      ? (message.toolCalls ?? []).map((call) => [call.id, call.function.name, JSON.parse(call.function.arguments)])
      : [],
  );
}

test('a call is told while its arguments come in, id and name being given once', async () => {
  const source = script(
    `call(0, 'c1', 'timetable', ''), call(0, undefined, undefined, '{"to":'), call(0, undefined, undefined, '"Lyon"}')`,
  );
  expect(await modelLines(source)).toEqual([
    'TOOL_CALL_START c1 timetable in a1',
    'TOOL_CALL_ARGS c1 {"to":',
    'TOOL_CALL_ARGS c1 "Lyon"}',
    'TOOL_CALL_END c1',
  ]);
  expect(await heldCalls(await stage(source))).toEqual([['c1', 'timetable', { to: 'Lyon' }]]);
});

test('text is closed before the call that follows it', async () => {
  expect(await modelLines(script(`'Let me look.', call(0, 'c1', 'look', '{}')`))).toEqual([
    'TEXT_MESSAGE_START a1',
    'TEXT_MESSAGE_CONTENT a1 "Let me look."',
    'TEXT_MESSAGE_END a1',
    'TOOL_CALL_START c1 look in a1',
    'TOOL_CALL_ARGS c1 {}',
    'TOOL_CALL_END c1',
  ]);
});

test('a call is closed before the text that follows it', async () => {
  expect(await modelLines(script(`call(0, 'c1', 'look', '{}'), 'Looking.'`))).toEqual([
    'TOOL_CALL_START c1 look in a1',
    'TOOL_CALL_ARGS c1 {}',
    'TOOL_CALL_END c1',
    'TEXT_MESSAGE_START a1',
    'TEXT_MESSAGE_CONTENT a1 "Looking."',
    'TEXT_MESSAGE_END a1',
  ]);
});

test('the same chunk may hold the end of the text and the start of a call', async () => {
  const chunk = `{ content: 'look.', ...call(0, 'c1', 'look', '{}') }`;
  expect(await modelLines(script(`'Let me ', ${chunk}`))).toEqual([
    'TEXT_MESSAGE_START a1',
    'TEXT_MESSAGE_CONTENT a1 "Let me "',
    'TEXT_MESSAGE_CONTENT a1 "look."',
    'TEXT_MESSAGE_END a1',
    'TOOL_CALL_START c1 look in a1',
    'TOOL_CALL_ARGS c1 {}',
    'TOOL_CALL_END c1',
  ]);
});

test('parallel calls are kept apart by their index when their arguments come interleaved', async () => {
  const source = script(`
    call(0, 'c1', 'first', ''), call(1, 'c2', 'second', ''),
    call(0, undefined, undefined, '{"a":'), call(1, undefined, undefined, '{"b":'),
    call(0, undefined, undefined, '1}'), call(1, undefined, undefined, '2}')`);
  const server = await stage(source);
  expect(await heldCalls(server)).toEqual([
    ['c1', 'first', { a: 1 }],
    ['c2', 'second', { b: 2 }],
  ]);
  const { events } = await server.client().say('again');
  const args = (id: string) =>
    ofType(events, 'TOOL_CALL_ARGS')
      .filter(({ toolCallId }) => toolCallId === id)
      .map(({ delta }) => delta)
      .join('');
  expect([args('c1'), args('c2')]).toEqual(['{"a":1}', '{"b":2}']);
  expect(ofType(events, 'TOOL_CALL_START').map(({ toolCallId }) => toolCallId)).toEqual(['c1', 'c2']);
});

test('several calls in one chunk are all told', async () => {
  const chunk = `{ tool_call_chunks: [
    { type: 'tool_call_chunk', index: 0, id: 'c1', name: 'first', args: '{}' },
    { type: 'tool_call_chunk', index: 1, id: 'c2', name: 'second', args: '{}' },
  ] }`;
  expect(await heldCalls(await stage(script(chunk)))).toEqual([
    ['c1', 'first', {}],
    ['c2', 'second', {}],
  ]);
});

test('a new id under an index in use is a new call', async () => {
  const source = script(`call(0, 'c1', 'first', '{"a":1}'), call(0, 'c2', 'second', '{"b":2}')`);
  const { events } = await (await stage(source)).client().say('hi');
  const told = ofType(events, 'TOOL_CALL_START').map(({ toolCallId, toolCallName }) => [toolCallId, toolCallName]);
  expect(told).toEqual([
    ['c1', 'first'],
    ['c2', 'second'],
  ]);
  expect(ofType(events, 'TOOL_CALL_ARGS').map(({ toolCallId, delta }) => [toolCallId, delta])).toEqual([
    ['c1', '{"a":1}'],
    ['c2', '{"b":2}'],
  ]);
});

test('calls without an index are told apart by their id', async () => {
  const source = script(`call(undefined, 'c1', 'first', '{"a":1}'), call(undefined, 'c2', 'second', '{"b":2}')`);
  const { events } = await (await stage(source)).client().say('hi');
  expect(ofType(events, 'TOOL_CALL_START').map(({ toolCallId }) => toolCallId)).toEqual(['c1', 'c2']);
});

test('a call whose name comes after its id is told once both are known', async () => {
  const source = script(
    `call(0, 'c1', undefined, ''), call(0, undefined, 'look', '{"a"'), call(0, undefined, undefined, ':1}')`,
  );
  expect(await modelLines(source)).toEqual([
    'TOOL_CALL_START c1 look in a1',
    'TOOL_CALL_ARGS c1 {"a"',
    'TOOL_CALL_ARGS c1 :1}',
    'TOOL_CALL_END c1',
  ]);
});

test('a call whose id comes at the end is told with all its arguments', async () => {
  const source = script(
    `call(0, undefined, 'look', '{"a"'), call(0, undefined, undefined, ':1}'), call(0, 'c1', undefined, '')`,
  );
  const lines = await modelLines(source);
  expect(lines.filter((line) => !line.startsWith('TOOL_CALL_ARGS'))).toEqual([
    'TOOL_CALL_START c1 look in a1',
    'TOOL_CALL_END c1',
  ]);
  expect(await heldCalls(await stage(source))).toEqual([['c1', 'look', { a: 1 }]]);
});

test('calls that are only in the final message are told at the end', async () => {
  const message = `{ content: 'Hm.', tool_calls: [
    { type: 'tool_call', id: 'c1', name: 'first', args: { a: 1 } }, { type: 'tool_call', id: 'c2', name: 'second', args: {} },
  ] }`;
  const source = oneModel(`new QuietModel([{ tokens: ['Hm.'], message: ${message} }])`);
  expect(await modelLines(source)).toEqual([
    'TEXT_MESSAGE_START #1',
    'TEXT_MESSAGE_CONTENT #1 "Hm."',
    'TEXT_MESSAGE_END #1',
    'TOOL_CALL_START c1 first in #1',
    'TOOL_CALL_ARGS c1 {"a":1}',
    'TOOL_CALL_START c2 second in #1',
    'TOOL_CALL_ARGS c2 {}',
    'TOOL_CALL_END c1',
    'TOOL_CALL_END c2',
  ]);
});

test('the calls of a model that cannot stream are told', async () => {
  const message = `{ id: 'a1', content: '', tool_calls: [{ type: 'tool_call', id: 'c1', name: 'look', args: { a: 1 } }] }`;
  expect(await modelLines(oneModel(`new SilentModel([${message}])`))).toEqual([
    'TOOL_CALL_START c1 look in a1',
    'TOOL_CALL_ARGS c1 {"a":1}',
    'TOOL_CALL_END c1',
  ]);
});

test('the calls in a message a node makes are told', async () => {
  const node = `() => ({ messages: [new AIMessage({ id: 'a1', content: 'Hm.', tool_calls: [{ id: 'c1', name: 'look', args: {} }] })] })`;
  const source = messagesGraph(`.addNode('model', ${node}).addEdge(START, 'model').addEdge('model', END)`);
  expect(await modelLines(source)).toEqual([
    'TEXT_MESSAGE_START a1',
    'TEXT_MESSAGE_CONTENT a1 "Hm."',
    'TEXT_MESSAGE_END a1',
    'TOOL_CALL_START c1 look in a1',
    'TOOL_CALL_ARGS c1 {}',
    'TOOL_CALL_END c1',
  ]);
});

test('a call whose arguments are no JSON reaches the client, and comes back to the agent', async () => {
  const server = await stage(
    oneModel(`new ScriptedModel([[{ id: 'a1' }, call(0, 'c1', 'look', '{"a": oops')], ['Sorry.']])`),
  );
  const user = server.client();
  const { events, lines } = await user.say('hi');
  expect(lines).toContain('TOOL_CALL_START c1 look in a1');
  expect(ofType(events, 'TOOL_CALL_ARGS')[0]?.delta).toBe('{"a": oops');
  await user.say('go on');
  expect(user.messages.at(-1)?.content).toBe('Sorry.');
});

test('emit-tool-calls false hides calls and their results until the snapshot', async () => {
  const source = messagesGraph(
    `.addNode('model', async (state, config) => ({ messages: [await model.invoke(state.messages, { metadata: { 'emit-tool-calls': false } })] }))
  .addNode('tools', new ToolNode(tools))
  .addEdge(START, 'model')
  .addConditionalEdges('model', (state) => (state.messages.at(-1).tool_calls?.length > 0 ? 'tools' : END))
  .addEdge('tools', 'model')`,
    `const tools = [tool(async () => 'found', { name: 'look', description: 'looks', schema: z.object({}) })];
const model = new ScriptedModel([[{ id: 'a1' }, call(0, 'c1', 'look', '{}')], [{ id: 'a2', content: 'Found.' }]]);`,
  );
  const { events, lines } = await (await stage(source)).client().say('hi');
  expect(lines.filter((line) => line.startsWith('TOOL_CALL'))).toEqual([]);
  expect(lines.at(-2)).toBe('MESSAGES_SNAPSHOT u1 a1 #1 a2');
  expect(ofType(events, 'TEXT_MESSAGE_CONTENT')).toHaveLength(1);
  const [snapshot] = ofType(events, 'MESSAGES_SNAPSHOT');
  expect(snapshot?.messages).toMatchObject([
    { id: 'u1' },
    { id: 'a1' },
    { role: 'tool', content: 'found' },
    { id: 'a2' },
  ]);
});

test('emit-messages false hides the text and shows the calls', async () => {
  const source = oneModel(
    `new ScriptedModel([[{ id: 'a1', content: 'Hm.' }, call(0, 'c1', 'look', '{}')]])`,
    `{ metadata: { 'emit-messages': false } }`,
  );
  expect(await modelLines(source)).toEqual([
    'TOOL_CALL_START c1 look in a1',
    'TOOL_CALL_ARGS c1 {}',
    'TOOL_CALL_END c1',
  ]);
});
