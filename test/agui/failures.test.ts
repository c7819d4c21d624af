import { expect, test } from 'vitest';
import { stage } from '../support/client.ts';
import { messagesGraph, oneModel, toolLoop } from '../support/graphs.ts';
import { ofType } from '../support/runs.ts';

const SECRET = 's3cret at /home/ana/agent.ts';

test.each([
  [
    'a node that throws',
    messagesGraph(`.addNode('bad', () => { throw new Error('${SECRET}'); }).addEdge(START, 'bad').addEdge('bad', END)`),
  ],
  [
    'a node that throws no error',
    messagesGraph(`.addNode('bad', () => { throw '${SECRET}'; }).addEdge(START, 'bad').addEdge('bad', END)`),
  ],
  [
    'a node that throws nothing at all',
    messagesGraph(`.addNode('bad', () => { throw undefined; }).addEdge(START, 'bad').addEdge('bad', END)`),
  ],
  ['a model that throws at once', oneModel(`new ScriptedModel([[new Error('${SECRET}')]])`)],
  ['a model that cannot stream and throws', oneModel(`new SilentModel([new Error('${SECRET}')])`)],
  [
    'a tool that throws through',
    toolLoop(
      `new ScriptedModel([[call(0, 'c1', 'look', '{}')]])`,
      `[tool(async () => 'x', { name: 'look', description: 'l', schema: z.object({}) })]`,
    ).replace('new ToolNode(tools)', `() => { throw new Error('${SECRET}'); }`),
  ],
])('%s ends the run with FRAMEWORK_ERROR that tells nothing', async (_, source) => {
  const { client, logs } = await stage(source);
  const { events, lines } = await client().say('hi');
  expect(lines[0]).toBe('RUN_STARTED');
  expect(events.at(-1)).toEqual({
    type: 'RUN_ERROR',
    code: 'FRAMEWORK_ERROR',
    message: 'The agent could not complete this run.',
  });
  expect(JSON.stringify(events)).not.toContain('s3cret');
  expect(logs.some(({ msg }) => msg === 'a run failed')).toBe(true);
});

test('a model that throws mid-token keeps what was said', async () => {
  const { client } = await stage(
    oneModel(`new ScriptedModel([[{ id: 'a1', content: 'Hel' }, new Error('${SECRET}')]])`),
  );
  const user = client();
  const { events, lines } = await user.say('hi');
  expect(lines.filter((line) => !/_END|STEP_FINISHED/.test(line))).toEqual([
    'RUN_STARTED',
    'STEP_STARTED model',
    'TEXT_MESSAGE_START a1',
    'TEXT_MESSAGE_CONTENT a1 "Hel"',
    'RUN_ERROR FRAMEWORK_ERROR',
  ]);
  expect(JSON.stringify(events)).not.toContain('s3cret');
  expect(user.messages.at(-1)).toMatchObject({ id: 'a1', content: 'Hel' });
});

test('a model that throws in the middle of a call ends the run', async () => {
  const { client } = await stage(
    oneModel(`new ScriptedModel([[{ id: 'a1' }, call(0, 'c1', 'look', '{"a'), new Error('x')]])`),
  );
  const { lines } = await client().say('hi');
  expect(lines).toContain('TOOL_CALL_START c1 look in a1');
  expect(lines.at(-1)).toBe('RUN_ERROR FRAMEWORK_ERROR');
});

test('the thread can be used again after a failure', async () => {
  const { client } = await stage(oneModel(`new ScriptedModel([[new Error('x')], [{ id: 'a1', content: 'Fine.' }]])`));
  const user = client();
  await user.say('one');
  const { lines } = await user.say('two');
  expect(lines.at(-2)).toBe('MESSAGES_SNAPSHOT u1 u2 a1');
});

test('trying the same message again after a failure answers it', async () => {
  const { client } = await stage(oneModel(`new ScriptedModel([[new Error('x')], [{ id: 'a1', content: 'Fine.' }]])`));
  const user = client();
  await user.say('one');
  const { lines } = await user.run();
  expect(lines.at(-2)).toBe('MESSAGES_SNAPSHOT u1 a1');
});

test('trying again after a failure mid-token answers the message', async () => {
  const { client } = await stage(
    oneModel(`new ScriptedModel([[{ id: 'a1', content: 'Hel' }, new Error('x')], [{ id: 'a2', content: 'Fine.' }]])`),
  );
  const user = client();
  await user.say('one');
  const { lines } = await user.say('two');
  expect(lines.at(-1)).toBe('RUN_FINISHED success');
  expect(lines).toContain('TEXT_MESSAGE_CONTENT a2 "Fine."');
});

test('an agent that goes round for ever is stopped with words of its own', async () => {
  const source = messagesGraph(
    `.addNode('loop', () => ({})).addEdge(START, 'loop').addConditionalEdges('loop', () => 'loop')`,
  );
  const { events } = await (await stage(source)).client().say('hi');
  expect(events.at(-1)).toEqual({
    type: 'RUN_ERROR',
    code: 'FRAMEWORK_ERROR',
    message: 'The agent took more steps than it is allowed and was stopped.',
  });
});

test('RAW is sent only when asked for', async () => {
  const { client } = await stage(oneModel(`new ScriptedModel([['Hello']])`));
  expect(ofType((await client().say('hi')).events, 'RAW')).toEqual([]);
  const { events, lines } = await client().say('hi', { forwardedProps: { includeRaw: true } });
  expect(ofType(events, 'RAW').length).toBeGreaterThan(2);
  expect(lines.filter((line) => line !== 'RAW')).toEqual((await client().say('hi')).lines);
  expect(ofType((await client().say('hi', { forwardedProps: { includeRaw: 'yes' } })).events, 'RAW')).toEqual([]);
});

test('RAW stands what JSON cannot hold', async () => {
  const source = toolLoop(
    `new ScriptedModel([[call(0, 'c1', 'look', '{}')], ['Done.']])`,
    `[tool(async () => { const loop = { big: 1n }; loop.self = loop; return loop; }, { name: 'look', description: 'looks', schema: z.object({}) })]`,
  );
  const { lines } = await (await stage(source)).client().say('hi', { forwardedProps: { includeRaw: true } });
  expect(lines.at(-1)).toBe('RUN_FINISHED success');
});

test('a second run on a busy thread is THREAD_BUSY and leaves the first alone', async () => {
  const source = messagesGraph(
    `.addNode('wait', async () => { await dispatchCustomEvent('waiting', 1); await held; return { messages: [new AIMessage({ id: 'a1', content: 'Done.' })] }; })
     .addNode('free', () => { release(); return {}; })
     .addConditionalEdges(START, (state) => (state.messages.at(-1).content === 'free' ? 'free' : 'wait')).addEdge('wait', END).addEdge('free', END)`,
    `let release; const held = new Promise((resolve) => { release = resolve; });`,
  );
  const { client } = await stage(source);
  const user = client({ threadId: 'th-1' });
  let refused: Promise<string[]> | undefined;
  user.agent.subscribe({
    onCustomEvent: () => {
      refused = client({ threadId: 'th-1' })
        .say('me too')
        .then(async ({ lines }) => {
          await client({ threadId: 'th-2' }).say('free');
          return lines;
        });
    },
  });
  const { lines } = await user.say('hi');
  expect(lines.at(-1)).toBe('RUN_FINISHED success');
  expect(await refused).toEqual(['RUN_STARTED', 'RUN_ERROR THREAD_BUSY']);
});
