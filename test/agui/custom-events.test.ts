import { expect, test } from 'vitest';
import { stage } from '../support/client.ts';
import { messagesGraph } from '../support/graphs.ts';
import { ofType } from '../support/runs.ts';

/** The events between the start and the end of a node that runs \`code\`. */
async function nodeLines(code: string, before = ''): Promise<string[]> {
  const source = messagesGraph(
    `.addNode('node', async (state, config) => { ${code}; return {}; }).addEdge(START, 'node').addEdge('node', END)`,
    before,
  );
  const { lines } = await (await stage(source)).client().say('hi');
  expect(lines.at(-1)).toBe('RUN_FINISHED success');
  return lines.slice(lines.indexOf('STEP_STARTED node') + 1, lines.indexOf('STEP_FINISHED node'));
}

test.each([
  ['an object', `{ done: 3, of: 7 }`, '{"done":3,"of":7}'],
  ['text', `'half way'`, '"half way"'],
  ['a list', `[1, 2]`, '[1,2]'],
  ['null', `null`, 'null'],
  ['nothing', `undefined`, 'null'],
  ['false', `false`, 'false'],
])('dispatchCustomEvent becomes CUSTOM with the same name and value: %s', async (_, value, json) => {
  expect(await nodeLines(`await dispatchCustomEvent('progress', ${value})`)).toEqual([`CUSTOM progress ${json}`]);
  expect(await nodeLines(`await dispatchCustomEvent('progress', ${value}, config)`)).toEqual([
    `CUSTOM progress ${json}`,
  ]);
});

test('what the node writes to its stream becomes CUSTOM, in order', async () => {
  const source = messagesGraph(
    `.addNode('node', (state, config) => {
      config.writer({ name: 'progress', value: 3 }); config.writer({ done: 4 }); config.writer('five'); return {};
    }).addEdge(START, 'node').addEdge('node', END)`,
  );
  const { lines } = await (await stage(source)).client().say('hi');
  expect(lines.filter((line) => line.startsWith('CUSTOM'))).toEqual([
    'CUSTOM progress 3',
    'CUSTOM custom {"done":4}',
    'CUSTOM custom "five"',
  ]);
});

test('a value that JSON cannot hold ends the run with ENCODING_ERROR', async () => {
  const source = messagesGraph(
    `.addNode('node', async () => { await dispatchCustomEvent('progress', 10n); return {}; }).addEdge(START, 'node').addEdge('node', END)`,
  );
  const { lines } = await (await stage(source)).client().say('hi');
  expect(lines.at(-1)).toBe('RUN_ERROR ENCODING_ERROR');
});

test('manually_emit_message becomes a message', async () => {
  const event = `await dispatchCustomEvent('manually_emit_message', { message_id: 'm1', message: 'Hold on.', role: 'assistant' })`;
  expect(await nodeLines(event)).toEqual([
    'TEXT_MESSAGE_START m1',
    'TEXT_MESSAGE_CONTENT m1 "Hold on."',
    'TEXT_MESSAGE_END m1',
  ]);
});

test('manually_emit_tool_call becomes a call', async () => {
  const event = `await dispatchCustomEvent('manually_emit_tool_call', { id: 'c1', name: 'look', args: { q: 'x' } })`;
  expect(await nodeLines(event)).toEqual([
    'TOOL_CALL_START c1 look',
    'TOOL_CALL_ARGS c1 {"q":"x"}',
    'TOOL_CALL_END c1',
  ]);
});

test('manually_emit_state becomes a snapshot', async () => {
  const source = messagesGraph(
    `.addNode('node', async () => { await dispatchCustomEvent('manually_emit_state', { title: 'Draft' }); return {}; }).addEdge(START, 'node').addEdge('node', END)`,
  );
  const { events } = await (await stage(source)).client().say('hi');
  expect(ofType(events, 'STATE_SNAPSHOT')[0]?.snapshot).toEqual({ title: 'Draft' });
});

test('exit is passed on as the end marker', async () => {
  expect(await nodeLines(`await dispatchCustomEvent('exit', {})`)).toEqual([expect.stringMatching(/^CUSTOM exit/i)]);
});

test('events are told from inside tools too', async () => {
  const before = `const tools = [tool(async ({ q }, config) => { await dispatchCustomEvent('looking', q); return 'found'; }, { name: 'look', description: 'looks', schema: z.object({ q: z.string() }) })];`;
  expect(await nodeLines(`await tools[0].invoke({ q: 'x' }, config)`, before)).toContain('CUSTOM looking "x"');
});

test('emitCustom works in nodes', async () => {
  const before = `import { emitCustom } from 'agent-engine-server/agent';`;
  expect(await nodeLines(`emitCustom('progress', { done: 1 })`, before)).toEqual(['CUSTOM progress {"done":1}']);
});

test('a custom event sent while a model is streamed does not tear its message', async () => {
  const lines = await nodeLines(
    `await model.invoke('x')`,
    `const model = new ScriptedModel([[{ id: 'a1', content: 'Hel' }, 'lo']], { gate: () => dispatchCustomEvent('tick', 1) });`,
  );
  expect(lines.filter((line) => line.startsWith('TEXT'))).toEqual([
    'TEXT_MESSAGE_START a1',
    'TEXT_MESSAGE_CONTENT a1 "Hel"',
    'TEXT_MESSAGE_CONTENT a1 "lo"',
    'TEXT_MESSAGE_END a1',
  ]);
});
