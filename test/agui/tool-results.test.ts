import type { Message } from '@ag-ui/core';
import { expect, test } from 'vitest';
import { stage } from '../support/client.ts';
import { messagesGraph, toolLoop } from '../support/graphs.ts';
import { ofType } from '../support/runs.ts';

const MODEL = `new ScriptedModel([[{ id: 'a1' }, call(0, 'c1', 'look', '{"q":"x"}')], [{ id: 'a2', content: 'Done.' }]])`;

const look = (body: string): string =>
  `[tool(${body}, { name: 'look', description: 'looks', schema: z.object({ q: z.string() }) })]`;

function toolMessage(messages: Message[]): Message | undefined {
  return messages.find(({ role }) => role === 'tool');
}

test('the loop of a model and its tools, event by event', async () => {
  const user = (await stage(toolLoop(MODEL, look(`async ({ q }) => 'found ' + q`)))).client();
  const { lines } = await user.say('hi');
  expect(lines).toEqual([
    'RUN_STARTED',
    'STEP_STARTED model',
    'TOOL_CALL_START c1 look in a1',
    'TOOL_CALL_ARGS c1 {"q":"x"}',
    'TOOL_CALL_END c1',
    'STEP_FINISHED model',
    'STEP_STARTED tools',
    'TOOL_CALL_RESULT c1 #1 "found x"',
    'STEP_FINISHED tools',
    'STEP_STARTED model',
    'TEXT_MESSAGE_START a2',
    'TEXT_MESSAGE_CONTENT a2 "Done."',
    'TEXT_MESSAGE_END a2',
    'STEP_FINISHED model',
    'STATE_SNAPSHOT',
    'MESSAGES_SNAPSHOT u1 a1 #1 a2',
    'RUN_FINISHED success',
  ]);
  expect(user.messages).toEqual([
    { id: 'u1', role: 'user', content: 'hi' },
    {
      id: 'a1',
      role: 'assistant',
      toolCalls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{"q":"x"}' } }],
    },
    { id: expect.any(String), role: 'tool', toolCallId: 'c1', content: 'found x' },
    { id: 'a2', role: 'assistant', content: 'Done.' },
  ]);
});

test('the results of parallel calls each find their call', async () => {
  const model = `new ScriptedModel([
    [{ id: 'a1' }, call(0, 'c1', 'look', '{"q":"x"}'), call(1, 'c2', 'look', '{"q":"y"}')], [{ id: 'a2', content: 'Done.' }],
  ])`;
  const user = (await stage(toolLoop(model, look(`async ({ q }) => 'found ' + q`)))).client();
  const { events } = await user.say('hi');
  const results = ofType(events, 'TOOL_CALL_RESULT').map(({ toolCallId, content }) => [toolCallId, content]);
  expect(results.sort()).toEqual([
    ['c1', 'found x'],
    ['c2', 'found y'],
  ]);
  expect(user.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool', 'assistant']);
});

test.each([
  ['an object', `async () => ({ departs: '14:02' })`, '{"departs":"14:02"}'],
  ['a number', `async () => 7`, '7'],
  ['a list', `async () => [1, 2]`, '[1,2]'],
  ['nothing', `async () => undefined`, ''],
  [
    'a tool message',
    `async (_, config) => new ToolMessage({ id: 't1', tool_call_id: config.toolCall.id, content: 'mine' })`,
    'mine',
  ],
  [
    'a command with messages',
    `async (_, config) => new Command({ update: { messages: [new ToolMessage({ tool_call_id: config.toolCall.id, content: 'by command' })] } })`,
    'by command',
  ],
])('a tool that gives %s has a result', async (_, body, content) => {
  const user = (await stage(toolLoop(MODEL, look(body)))).client();
  const { events } = await user.say('hi');
  const results = ofType(events, 'TOOL_CALL_RESULT');
  expect(results).toHaveLength(1);
  expect(results[0]).toMatchObject({ toolCallId: 'c1', role: 'tool' });
  const held = toolMessage(user.messages);
  expect(results[0]?.messageId).toBe(held?.id);
  expect(results[0]?.content).toBe(held?.content);
  if (content !== '') expect(held?.content).toBe(content);
});

test('a tool that fails has the message the tool node makes of it', async () => {
  const user = (await stage(toolLoop(MODEL, look(`async () => { throw new Error('no luck'); }`)))).client();
  const { events, lines } = await user.say('hi');
  expect(lines.filter((line) => /TOOL_CALL_RESULT|RUN_/.test(line))).toEqual([
    'RUN_STARTED',
    expect.stringMatching(/^TOOL_CALL_RESULT c1 #\d "Error: no luck/),
    'RUN_FINISHED success',
  ]);
  expect(toolMessage(user.messages)).toMatchObject({ error: expect.stringContaining('no luck') });
  expect(ofType(events, 'TOOL_CALL_RESULT')[0]?.messageId).toBe(toolMessage(user.messages)?.id);
});

test('a tool called with arguments that do not fit has the message the tool node makes of it', async () => {
  const model = MODEL.replace('"q":"x"', '"q":1');
  const user = (await stage(toolLoop(model, look(`async () => 'found'`)))).client();
  const { lines } = await user.say('hi');
  expect(lines.filter((line) => line.startsWith('TOOL_CALL_RESULT'))).toHaveLength(1);
  expect(lines.at(-1)).toBe('RUN_FINISHED success');
});

test('a call of a tool that does not exist has the message the tool node makes of it', async () => {
  const model = MODEL.replace(`'look'`, `'nosuch'`);
  const user = (await stage(toolLoop(model, look(`async () => 'found'`)))).client();
  const { lines } = await user.say('hi');
  expect(lines.filter((line) => line.startsWith('TOOL_CALL_RESULT'))).toHaveLength(1);
  expect(lines.at(-1)).toBe('RUN_FINISHED success');
});

test.each([
  ['BigInt', `async () => ({ big: 12345678901234567890n })`],
  ['a cycle', `async () => { const loop = { name: 'loop' }; loop.self = loop; return loop; }`],
  ['a getter that throws', `async () => ({ get bad() { throw new Error('no'); } })`],
  ['a function', `async () => () => 1`],
])('a result that holds %s does not break the run', async (_, body) => {
  const user = (await stage(toolLoop(MODEL, look(body)))).client();
  const { events, lines } = await user.say('hi');
  expect(ofType(events, 'TOOL_CALL_RESULT')).toHaveLength(1);
  expect(lines.at(-1)).toBe('RUN_FINISHED success');
});

test.each([
  ['BigInt', `async () => ({ big: 12345678901234567890n })`, '{"big":12345678901234567890}'],
  [
    'a cycle',
    `async () => { const loop = { name: 'loop' }; loop.self = loop; return loop; }`,
    '{"name":"loop","self":"[Circular]"}',
  ],
])('a raw result that holds %s is told as text', async (_, body, content) => {
  const source = direct(`await tools[0].invoke({ q: 'x' });`, look(body));
  const { events } = await (await stage(source)).client().say('hi');
  expect(ofType(events, 'TOOL_CALL_RESULT')[0]?.content).toBe(content);
});

/** One node that runs \`code\`, given a list of tools. */
function direct(code: string, tools: string): string {
  return messagesGraph(
    `.addNode('node', async (state, config) => { ${code} return { messages: [new AIMessage({ id: 'a1', content: 'Done.' })] }; })
  .addEdge(START, 'node').addEdge('node', END)`,
    `const tools = ${tools};`,
  );
}

test('a tool the node calls directly is told as a call with its result', async () => {
  const source = direct(`await tools[0].invoke({ q: 'x' });`, look(`async ({ q }) => ({ found: q })`));
  const { lines } = await (await stage(source)).client().say('hi');
  expect(lines).toEqual([
    'RUN_STARTED',
    'STEP_STARTED node',
    'TOOL_CALL_START #1 look',
    'TOOL_CALL_ARGS #1 {"q":"x"}',
    'TOOL_CALL_END #1',
    'TOOL_CALL_RESULT #1 #2 "{\\"found\\":\\"x\\"}"',
    'TEXT_MESSAGE_START a1',
    'TEXT_MESSAGE_CONTENT a1 "Done."',
    'TEXT_MESSAGE_END a1',
    'STEP_FINISHED node',
    'STATE_SNAPSHOT',
    'MESSAGES_SNAPSHOT u1 a1',
    'RUN_FINISHED success',
  ]);
});

test('a tool called with a call nobody streamed is told with that id', async () => {
  const invoke = `await tools[0].invoke({ type: 'tool_call', id: 'c9', name: 'look', args: { q: 'x' } });`;
  const { lines } = await (await stage(direct(invoke, look(`async () => 'found'`)))).client().say('hi');
  expect(lines.slice(2, 6)).toEqual([
    'TOOL_CALL_START c9 look',
    'TOOL_CALL_ARGS c9 {"q":"x"}',
    'TOOL_CALL_END c9',
    'TOOL_CALL_RESULT c9 #1 "found"',
  ]);
});

test('a list of tool messages is told as a result each', async () => {
  const source = direct(
    `await tools[0].invoke({ q: 'x' });`,
    look(`async () => [
      new ToolMessage({ id: 't1', tool_call_id: 'c1', name: 'look', content: 'one' }),
      new ToolMessage({ id: 't2', tool_call_id: 'c2', name: 'look', content: 'two' }),
    ]`),
  );
  const { lines } = await (await stage(source)).client().say('hi');
  expect(lines.filter((line) => line.startsWith('TOOL_CALL_RESULT'))).toEqual([
    'TOOL_CALL_RESULT c1 t1 "one"',
    'TOOL_CALL_RESULT c2 t2 "two"',
  ]);
});

test('a command of a tool called directly is told as its tool message', async () => {
  const source = direct(
    `return await tools[0].invoke({ q: 'x' });`,
    look(
      `async () => new Command({ update: { messages: [new ToolMessage({ id: 't1', tool_call_id: 'c1', content: 'one' })] } })`,
    ),
  );
  const { lines } = await (await stage(source)).client().say('hi');
  expect(lines.filter((line) => line.startsWith('TOOL_CALL_RESULT'))).toEqual(['TOOL_CALL_RESULT c1 t1 "one"']);
});

test('a result is told when its tool ends, not when the slowest of its fellows does', async () => {
  const model = `new ScriptedModel([
    [{ id: 'a1' }, call(0, 'c1', 'look', '{"q":"x"}'), call(1, 'c2', 'look', '{"q":"y"}')], [{ id: 'a2', content: 'Done.' }],
  ])`;
  const body = look(`async ({ q }) => {
    if (q === 'x') return setTimeout(release, 20), 'first';
    await held;
    await dispatchCustomEvent('late', q);
    return 'second';
  }`);
  const before = `let release; const held = new Promise((resolve) => { release = resolve; });`;
  const { lines } = await (await stage(toolLoop(model, body, before))).client().say('hi');
  expect(lines.filter((line) => /RESULT|CUSTOM/.test(line))).toEqual([
    'TOOL_CALL_RESULT c1 #1 "first"',
    'CUSTOM late "y"',
    'TOOL_CALL_RESULT c2 #2 "second"',
  ]);
});

test('a tool that fails where the node catches it does not break the run', async () => {
  const invoke = `try { await tools[0].invoke({ q: 'x' }); } catch {}`;
  const { lines } = await (await stage(direct(invoke, look(`async () => { throw new Error('no'); }`))))
    .client()
    .say('hi');
  expect(lines.at(-1)).toBe('RUN_FINISHED success');
});

const HAND_WRITTEN = (result: string): string =>
  messagesGraph(
    `.addNode('model', async (state) => ({ messages: [await model.invoke(state.messages)] }))
  .addNode('tools', (state) => ({ messages: state.messages.at(-1).tool_calls.map((made) => (${result})) }))
  .addEdge(START, 'model')
  .addConditionalEdges('model', (state) => (state.messages.at(-1).tool_calls?.length > 0 ? 'tools' : END))
  .addEdge('tools', 'model')`,
    `const model = ${MODEL};`,
  );

test.each([
  ['tool messages', `new ToolMessage({ tool_call_id: made.id, name: made.name, content: 'by hand' })`],
  ['tool messages with ids', `new ToolMessage({ id: 't1', tool_call_id: made.id, content: 'by hand' })`],
  ['dictionaries', `{ role: 'tool', tool_call_id: made.id, content: 'by hand' }`],
])('a hand-written tool node that returns %s is heard', async (_, result) => {
  const user = (await stage(HAND_WRITTEN(result))).client();
  const { events, lines } = await user.say('hi');
  expect(ofType(events, 'TOOL_CALL_START')).toHaveLength(1);
  const results = ofType(events, 'TOOL_CALL_RESULT');
  expect(results).toHaveLength(1);
  expect(results[0]).toMatchObject({ toolCallId: 'c1', content: 'by hand', messageId: toolMessage(user.messages)?.id });
  expect(lines.indexOf('TOOL_CALL_END c1')).toBeLessThan(
    lines.findIndex((line) => line.startsWith('TOOL_CALL_RESULT')),
  );
  expect(user.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
});

test('a result in parts reaches the client as parts', async () => {
  const body = `async (_, config) => new ToolMessage({ tool_call_id: config.toolCall.id, content: [
    { type: 'text', text: 'a seat' }, { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
  ] })`;
  const user = (await stage(toolLoop(MODEL, look(body)))).client();
  const { events } = await user.say('hi');
  const parts = [
    { type: 'text', text: 'a seat' },
    { type: 'image', source: { type: 'data', value: 'AAAA', mimeType: 'image/png' } },
  ];
  expect(ofType(events, 'TOOL_CALL_RESULT')[0]?.content).toEqual(parts);
  expect(toolMessage(user.messages)?.content).toEqual(parts);
});

test('a result in parts of text only is told as text', async () => {
  const body = `async (_, config) => new ToolMessage({ tool_call_id: config.toolCall.id, content: [{ type: 'text', text: 'a seat' }] })`;
  const { events } = await (await stage(toolLoop(MODEL, look(body)))).client().say('hi');
  expect(ofType(events, 'TOOL_CALL_RESULT')[0]?.content).toBe('a seat');
});

test('the text a tool streams with a model of its own is shown, and the call keeps its result', async () => {
  const before = `const inner = new ScriptedModel([[{ id: 'i1', content: 'thinking aloud' }]]);`;
  const body = look(`async ({ q }) => (await inner.invoke(q)).content`);
  const user = (await stage(toolLoop(MODEL, body, before))).client();
  const { lines } = await user.say('hi');
  expect(lines).toContain('TEXT_MESSAGE_CONTENT i1 "thinking aloud"');
  expect(lines).toContain('TOOL_CALL_RESULT c1 #1 "thinking aloud"');
  expect(user.messages.map(({ id }) => id)).toEqual(['u1', 'a1', expect.any(String), 'a2']);
});

test('the results of an earlier run are not told again', async () => {
  const user = (
    await stage(toolLoop(MODEL.replace(']])', `], [{ id: 'a3', content: 'Again.' }]])`), look(`async () => 'found'`)))
  ).client();
  await user.say('hi');
  const { lines } = await user.say('and now?');
  expect(lines.filter((line) => line.startsWith('TOOL_CALL'))).toEqual([]);
  expect(user.messages.map(({ role }) => role)).toEqual([
    'user',
    'assistant',
    'tool',
    'assistant',
    'user',
    'assistant',
  ]);
});
