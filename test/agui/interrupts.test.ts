import type { Interrupt, ResumeEntry } from '@ag-ui/core';
import { expect, test } from 'vitest';
import { type Client, interruptsOf, type Stage, stage } from '../support/client.ts';
import { IMPORTS, messagesGraph } from '../support/graphs.ts';
import { ofType } from '../support/runs.ts';

/** A node that asks with the payload `payload` and says what it was answered. */
const asking = (payload: string): string =>
  messagesGraph(
    `.addNode('ask', () => ({ messages: [new AIMessage({ id: 'a1', content: 'got ' + JSON.stringify(interrupt(${payload})) })] }))
  .addEdge(START, 'ask').addEdge('ask', END)`,
  );

const resolved = (interrupt: Interrupt | undefined, payload?: unknown): ResumeEntry => ({
  interruptId: interrupt?.id ?? '',
  status: 'resolved',
  ...(payload !== undefined && { payload }),
});

const cancelled = (interrupt: Interrupt | undefined): ResumeEntry => ({
  interruptId: interrupt?.id ?? '',
  status: 'cancelled',
});

const answered = (user: Client): unknown => user.messages.find(({ id }) => id === 'a1')?.content;

/** A client that has not seen the thread's interrupts, so that it does not mind the rules by itself. */
const stranger = (server: Stage, user: Client): Client => server.client({ threadId: user.agent.threadId });

test('a run that stops at a question tells it in both forms, after the snapshots', async () => {
  const { client } = await stage(asking(`{ reason: 'confirmation', message: 'Book 12A?' }`));
  const run = await client().say('hi');
  const [interrupt] = interruptsOf(run);
  expect(run.lines).toEqual([
    'RUN_STARTED',
    'STEP_STARTED ask',
    'STEP_FINISHED ask',
    `CUSTOM on_interrupt ${JSON.stringify(JSON.stringify({ reason: 'confirmation', message: 'Book 12A?' }))}`,
    'STATE_SNAPSHOT',
    'MESSAGES_SNAPSHOT u1',
    'RUN_FINISHED interrupt',
  ]);
  expect(interrupt).toEqual({
    id: expect.stringMatching(/./),
    reason: 'confirmation',
    message: 'Book 12A?',
    metadata: { reason: 'confirmation', message: 'Book 12A?' },
  });
});

test('a client from before 1.0 gets the older form only, unless it asks for both', async () => {
  const { client } = await stage(asking(`{ message: 'Book?' }`));
  const older = await client({ old: true }).say('hi');
  expect(older.lines).toContain(`CUSTOM on_interrupt ${JSON.stringify('{"message":"Book?"}')}`);
  expect(older.events.at(-1)).not.toHaveProperty('outcome');
  const both = await client({ old: true }).say('hi', { forwardedProps: { structuredInterrupts: true } });
  expect(both.lines.some((line) => line.startsWith('CUSTOM on_interrupt'))).toBe(true);
  expect(interruptsOf(both)).toHaveLength(1);
});

test.each([
  ['a string', `'Book?'`, 'Book?', { reason: 'langgraph:interrupt', message: 'Book?' }],
  ['null', `null`, 'null', { reason: 'langgraph:interrupt' }],
  ['a list', `['a', 'b']`, '["a","b"]', { reason: 'langgraph:interrupt' }],
  ['a number', `7`, '7', { reason: 'langgraph:interrupt' }],
  [
    'camelCase keys',
    `{ toolCallId: 'c1', expiresAt: '2999-01-02T00:00:00Z', responseSchema: { type: 'boolean' } }`,
    undefined,
    {
      reason: 'langgraph:interrupt',
      toolCallId: 'c1',
      expiresAt: '2999-01-02T00:00:00Z',
      responseSchema: { type: 'boolean' },
    },
  ],
  [
    'snake_case keys',
    `{ tool_call_id: 'c1', expires_at: '2999-01-02T00:00:00Z', response_schema: { type: 'boolean' } }`,
    undefined,
    {
      reason: 'langgraph:interrupt',
      toolCallId: 'c1',
      expiresAt: '2999-01-02T00:00:00Z',
      responseSchema: { type: 'boolean' },
    },
  ],
  [
    'keys of other types',
    `{ message: 5, reason: null, responseSchema: 'no' }`,
    undefined,
    { reason: 'langgraph:interrupt' },
  ],
])('a payload that is %s', async (_, payload, json, fields) => {
  const { client } = await stage(asking(payload));
  const run = await client().say('hi');
  const custom = ofType(run.events, 'CUSTOM')[0];
  expect(custom?.name).toBe('on_interrupt');
  // Text as the published adapters send it: a string as it is, anything else as its JSON.
  expect(typeof custom?.value).toBe('string');
  if (json !== undefined) expect(custom?.value).toBe(json);
  const [{ id: _id, metadata: _metadata, ...told } = {} as Interrupt] = interruptsOf(run);
  expect(told).toEqual(fields);
});

test('the id of an interrupt is the same when it is told again', async () => {
  const server = await stage(asking(`'Book?'`));
  const user = server.client();
  const first = interruptsOf(await user.say('hi'));
  const again = await stranger(server, user).run();
  expect(interruptsOf(again)).toEqual(first);
  expect(again.lines).toEqual([
    'RUN_STARTED',
    expect.stringMatching(/^CUSTOM on_interrupt/),
    'STATE_SNAPSHOT',
    'MESSAGES_SNAPSHOT u1',
    'RUN_FINISHED interrupt',
  ]);
});

test('the transcript sent again asks again', async () => {
  const server = await stage(asking(`'Book?'`));
  const user = server.client();
  const first = interruptsOf(await user.say('hi'));
  user.agent.pendingInterrupts = [];
  expect(interruptsOf(await user.run())).toEqual(first);
});

test('a new message while a question is open is INTERRUPT_PENDING, and the question stays', async () => {
  const server = await stage(asking(`'Book?'`));
  const user = server.client();
  const [interrupt] = interruptsOf(await user.say('hi'));
  const refused = await stranger(server, user).send({ id: 'u9', role: 'user', content: 'something else' });
  expect(refused.lines).toEqual(['RUN_STARTED', 'RUN_ERROR INTERRUPT_PENDING']);
  await user.run({ resume: [resolved(interrupt, 'yes')] });
  expect(answered(user)).toBe('got "yes"');
});

test.each([
  ['an object', { approved: true, editedArgs: { seat: '12A' } }],
  ['text', 'yes'],
  ['empty text', ''],
  ['zero', 0],
  ['false', false],
  ['true', true],
  ['a list', [1, 2]],
  ['an empty list', []],
  ['an empty object', {}],
])('resume: the node receives the payload: %s', async (_, payload) => {
  const user = (await stage(asking(`'Book?'`))).client();
  const [interrupt] = interruptsOf(await user.say('hi'));
  const { lines } = await user.run({ resume: [resolved(interrupt, payload)] });
  expect(answered(user)).toBe(`got ${JSON.stringify(payload)}`);
  expect(lines).toEqual([
    'RUN_STARTED',
    'STEP_STARTED ask',
    'TEXT_MESSAGE_START a1',
    expect.stringMatching(/^TEXT_MESSAGE_CONTENT a1/),
    'TEXT_MESSAGE_END a1',
    'STEP_FINISHED ask',
    'STATE_SNAPSHOT',
    'MESSAGES_SNAPSHOT u1 a1',
    'RUN_FINISHED success',
  ]);
});

test('resume: no payload, and a payload of null, are null', async () => {
  const server = await stage(asking(`'Book?'`));
  const user = server.client();
  const [interrupt] = interruptsOf(await user.say('hi'));
  await user.run({ resume: [resolved(interrupt)] });
  expect(answered(user)).toBe('got null');
  const other = server.client();
  const [second] = interruptsOf(await other.say('hi'));
  const entry = { ...resolved(second), payload: null };
  const response = await fetch(`${server.base}/agent/run`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ threadId: other.agent.threadId, runId: 'r2', messages: [], resume: [entry] }),
  });
  expect(await response.text()).toContain('got null');
});

test('resume: a cancelled entry reaches the node as the sentinel', async () => {
  const user = (await stage(asking(`'Book?'`))).client();
  const [interrupt] = interruptsOf(await user.say('hi'));
  await user.run({ resume: [cancelled(interrupt)] });
  expect(answered(user)).toBe(`got ${JSON.stringify({ __agui_cancelled__: true, interrupt_id: interrupt?.id })}`);
});

test.each([
  ['text', 'yes', '"yes"'],
  ['text that is JSON', '{"approved":true}', '{"approved":true}'],
  ['text that is JSON false', 'false', 'false'],
  ['an object', { approved: false }, '{"approved":false}'],
  ['false', false, 'false'],
  ['zero', 0, '0'],
  ['empty text', '', '""'],
])('resume in the older form: %s', async (_, resume, told) => {
  const user = (await stage(asking(`'Book?'`))).client({ old: true });
  await user.say('hi');
  const { lines } = await user.run({ forwardedProps: { command: { resume } } });
  expect(lines.at(-1)).toBe('RUN_FINISHED success');
  expect(answered(user)).toBe(`got ${told}`);
});

test('resume entries win over the older form', async () => {
  const user = (await stage(asking(`'Book?'`))).client();
  const [interrupt] = interruptsOf(await user.say('hi'));
  await user.run({ resume: [resolved(interrupt, 'new')], forwardedProps: { command: { resume: 'old' } } });
  expect(answered(user)).toBe('got "new"');
});

test('a resume that brings the transcript along does not double the conversation', async () => {
  const user = (await stage(asking(`'Book?'`))).client();
  const [interrupt] = interruptsOf(await user.say('hi'));
  await user.run({ resume: [resolved(interrupt, 'yes')] });
  expect(user.messages.map(({ id }) => id)).toEqual(['u1', 'a1']);
});

const TWO_PARALLEL = `${IMPORTS}
const State = Annotation.Root({ ...MessagesAnnotation.spec });
export const graph = new StateGraph(State)
  .addNode('left', () => ({ messages: [new AIMessage({ id: 'l', content: 'left ' + JSON.stringify(interrupt('left?')) })] }))
  .addNode('right', () => ({ messages: [new AIMessage({ id: 'r', content: 'right ' + JSON.stringify(interrupt('right?')) })] }))
  .addEdge(START, 'left').addEdge(START, 'right').addEdge('left', END).addEdge('right', END);
`;

test('interrupts of parallel nodes are all told, and answered together', async () => {
  const user = (await stage(TWO_PARALLEL)).client();
  const run = await user.say('hi');
  const interrupts = interruptsOf(run);
  expect(interrupts.map(({ message }) => message).sort()).toEqual(['left?', 'right?']);
  expect(new Set(interrupts.map(({ id }) => id)).size).toBe(2);
  expect(ofType(run.events, 'CUSTOM')).toHaveLength(2);
  const [left, right] = interrupts.sort((one, two) => String(one.message).localeCompare(String(two.message)));
  await user.run({ resume: [resolved(right, 2), cancelled(left)] });
  expect(
    user.messages
      .slice(1)
      .map(({ content }) => content)
      .sort(),
  ).toEqual([`left ${JSON.stringify({ __agui_cancelled__: true, interrupt_id: left?.id })}`, 'right 2']);
});

test('a resume that leaves an interrupt out is refused, and nothing is lost', async () => {
  const server = await stage(TWO_PARALLEL);
  const user = server.client();
  const [first, second] = interruptsOf(await user.say('hi'));
  const partial = await stranger(server, user).run({ resume: [resolved(first, 1)] });
  expect(partial.lines).toEqual(['RUN_STARTED', 'RUN_ERROR INTERRUPT_PENDING']);
  const whole = await user.run({ resume: [resolved(first, 1), resolved(second, 2)] });
  expect(whole.lines.at(-1)).toBe('RUN_FINISHED success');
});

test('an answer in the older form to several interrupts must name them', async () => {
  const server = await stage(TWO_PARALLEL);
  const user = server.client({ old: true });
  const first = await user.say('hi', { forwardedProps: { structuredInterrupts: true } });
  const interrupts = interruptsOf(first);
  user.agent.pendingInterrupts = [];
  const refused = await user.run({ forwardedProps: { command: { resume: 'yes' } } });
  expect(refused.lines.at(-1)).toBe('RUN_ERROR INTERRUPT_PENDING');
  const resume = Object.fromEntries(interrupts.map(({ id, message }) => [id, message]));
  await user.run({ forwardedProps: { command: { resume } } });
  expect(
    user.messages
      .slice(1)
      .map(({ content }) => content)
      .sort(),
  ).toEqual(['left "left?"', 'right "right?"']);
});

test('an id that is not open is INTERRUPT_UNKNOWN', async () => {
  const server = await stage(asking(`'Book?'`));
  const user = server.client();
  const [interrupt] = interruptsOf(await user.say('hi'));
  const unknown = await stranger(server, user).run({
    resume: [resolved(interrupt, 'yes'), { interruptId: 'nosuch', status: 'resolved', payload: 1 }],
  });
  expect(unknown.lines).toEqual(['RUN_STARTED', 'RUN_ERROR INTERRUPT_UNKNOWN']);
});

test.each([
  ['resume', { resume: [{ interruptId: 'nosuch', status: 'resolved' as const }] }],
  ['the older form', { forwardedProps: { command: { resume: 'yes' } } }],
])('a resume with nothing open is INTERRUPT_UNKNOWN: %s', async (_, parameters) => {
  const { lines } = await (await stage(asking(`'Book?'`))).client().run(parameters);
  expect(lines).toEqual(['RUN_STARTED', 'RUN_ERROR INTERRUPT_UNKNOWN']);
});

test('an expired interrupt can only be cancelled', async () => {
  const server = await stage(asking(`{ message: 'Book?', expiresAt: '2001-01-01T00:00:00Z' }`));
  const user = server.client();
  const [interrupt] = interruptsOf(await user.say('hi'));
  const late = await stranger(server, user).run({ resume: [resolved(interrupt, 'yes')] });
  expect(late.lines).toEqual(['RUN_STARTED', 'RUN_ERROR INTERRUPT_EXPIRED']);
  await user.run({ resume: [cancelled(interrupt)] });
  expect(answered(user)).toContain('__agui_cancelled__');
});

test('a payload must fit the response schema', async () => {
  const schema = `{ type: 'object', properties: { approved: { type: 'boolean' } }, required: ['approved'] }`;
  const server = await stage(asking(`{ message: 'Book?', responseSchema: ${schema} }`));
  const user = server.client();
  const [interrupt] = interruptsOf(await user.say('hi'));
  for (const payload of [{ approved: 'yes' }, {}, 'yes', undefined]) {
    const { lines } = await stranger(server, user).run({ resume: [resolved(interrupt, payload)] });
    expect(lines).toEqual(['RUN_STARTED', 'RUN_ERROR VALIDATION_ERROR']);
  }
  await user.run({ resume: [resolved(interrupt, { approved: true })] });
  expect(answered(user)).toBe('got {"approved":true}');
});

test('a schema the author got wrong does not lock the thread', async () => {
  const user = (await stage(asking(`{ responseSchema: { type: 'nonsense' } }`))).client();
  const [interrupt] = interruptsOf(await user.say('hi'));
  const { lines } = await user.run({ resume: [resolved(interrupt, 1)] });
  expect(lines.at(-1)).toBe('RUN_FINISHED success');
});

test('the same resume twice runs the node once', async () => {
  const server = await stage(asking(`'Book?'`));
  const user = server.client();
  const [interrupt] = interruptsOf(await user.say('hi'));
  const resume = [resolved(interrupt, 'yes')];
  await user.run({ resume });
  const again = await stranger(server, user).run({ resume });
  expect(again.lines.filter((line) => line.startsWith('STEP_'))).toEqual([]);
  expect(again.lines.at(-1)).toMatch(/^RUN_ERROR INTERRUPT_UNKNOWN|^RUN_FINISHED success/);
  const session = await fetch(`${server.base}/agent/sessions/${user.agent.threadId}`);
  expect(((await session.json()) as { messages: { id: string }[] }).messages.map(({ id }) => id)).toEqual(['u1', 'a1']);
});

test('an entry given twice is answered once', async () => {
  const user = (await stage(asking(`'Book?'`))).client();
  const [interrupt] = interruptsOf(await user.say('hi'));
  const { lines } = await user.run({ resume: [resolved(interrupt, 'yes'), resolved(interrupt, 'yes')] });
  expect(lines.at(-1)).toBe('RUN_FINISHED success');
  expect(answered(user)).toBe('got "yes"');
});

test('two questions in one node are asked one after the other', async () => {
  const source = messagesGraph(`.addNode('ask', () => {
    const one = interrupt('one?');
    const two = interrupt('two?');
    return { messages: [new AIMessage({ id: 'a1', content: JSON.stringify([one, two]) })] };
  }).addEdge(START, 'ask').addEdge('ask', END)`);
  const user = (await stage(source)).client();
  const [one] = interruptsOf(await user.say('hi'));
  expect(one?.message).toBe('one?');
  const [two] = interruptsOf(await user.run({ resume: [resolved(one, false)] }));
  expect(two?.message).toBe('two?');
  await user.run({ resume: [resolved(two, null)] });
  expect(answered(user)).toBe('[false,null]');
});

test('two questions in one node that answer the older form', async () => {
  const source = messagesGraph(`.addNode('ask', () => {
    const one = interrupt('one?');
    const two = interrupt('two?');
    return { messages: [new AIMessage({ id: 'a1', content: JSON.stringify([one, two]) })] };
  }).addEdge(START, 'ask').addEdge('ask', END)`);
  const user = (await stage(source)).client({ old: true });
  await user.say('hi');
  await user.run({ forwardedProps: { command: { resume: 'first' } } });
  await user.run({ forwardedProps: { command: { resume: 'second' } } });
  expect(answered(user)).toBe('["first","second"]');
});

test('a question inside a subgraph is told and answered', async () => {
  const source = `${IMPORTS}
const child = new StateGraph(MessagesAnnotation)
  .addNode('inner', () => ({ messages: [new AIMessage({ id: 'a1', content: 'got ' + JSON.stringify(interrupt('Book?')) })] }))
  .addEdge(START, 'inner').addEdge('inner', END).compile();
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('outer', child).addEdge(START, 'outer').addEdge('outer', END);
`;
  const user = (await stage(source)).client();
  const interrupts = interruptsOf(await user.say('hi'));
  expect(interrupts).toHaveLength(1);
  const { lines } = await user.run({ resume: [resolved(interrupts[0], true)] });
  expect(lines.at(-1)).toBe('RUN_FINISHED success');
  expect(answered(user)).toBe('got true');
});

const TOOL_ASKS = messagesGraph(
  `.addNode('model', async (state) => ({ messages: [await model.invoke(state.messages)] }))
  .addNode('tools', new ToolNode(tools))
  .addEdge(START, 'model')
  .addConditionalEdges('model', (state) => (state.messages.at(-1).tool_calls?.length > 0 ? 'tools' : END))
  .addEdge('tools', 'model')`,
  `const tools = [tool(async ({ to }, config) => 'paid: ' + JSON.stringify(interrupt({ reason: 'tool_call', message: 'Pay?', toolCallId: config.toolCall.id })),
    { name: 'pay', description: 'pays', schema: z.object({ to: z.string() }) })];
  const model = new ScriptedModel([[{ id: 'a1' }, call(0, 'c9', 'pay', '{"to":"Ana"}')], [{ id: 'a2', content: 'Paid.' }]]);`,
);

test('a question inside a tool is bound to its call, which is not told again after the answer', async () => {
  const user = (await stage(TOOL_ASKS)).client();
  const first = await user.say('pay Ana');
  const [interrupt] = interruptsOf(first);
  expect(interrupt).toMatchObject({ reason: 'tool_call', toolCallId: 'c9' });
  expect(first.lines).toContain('TOOL_CALL_START c9 pay in a1');
  expect(ofType(first.events, 'TOOL_CALL_RESULT')).toEqual([]);
  const second = await user.run({ resume: [resolved(interrupt, { approved: true })] });
  expect(second.lines).toEqual([
    'RUN_STARTED',
    'STEP_STARTED tools',
    expect.stringMatching(/^TOOL_CALL_RESULT c9 #1 /),
    'STEP_FINISHED tools',
    'STEP_STARTED model',
    'TEXT_MESSAGE_START a2',
    'TEXT_MESSAGE_CONTENT a2 "Paid."',
    'TEXT_MESSAGE_END a2',
    'STEP_FINISHED model',
    'STATE_SNAPSHOT',
    'MESSAGES_SNAPSHOT u1 a1 #1 a2',
    'RUN_FINISHED success',
  ]);
  expect(user.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
});

test('of two parallel calls one of which asks, each has one result in the end', async () => {
  const source = TOOL_ASKS.replace(
    `call(0, 'c9', 'pay', '{"to":"Ana"}')`,
    `call(0, 'c8', 'look', '{}'), call(1, 'c9', 'pay', '{"to":"Ana"}')`,
  ).replace(
    'const tools = [',
    `const tools = [tool(async () => 'found', { name: 'look', description: 'looks', schema: z.object({}) }), `,
  );
  const user = (await stage(source)).client();
  const first = await user.say('pay Ana');
  const [interrupt] = interruptsOf(first);
  const second = await user.run({ resume: [resolved(interrupt, true)] });
  expect([...first.lines, ...second.lines].filter((line) => line.startsWith('TOOL_CALL_START'))).toHaveLength(2);
  expect(user.messages.map((message) => (message.role === 'tool' ? message.toolCallId : message.role))).toEqual([
    'user',
    'assistant',
    'c8',
    'c9',
    'assistant',
  ]);
});

test('text a node streams before it asks is not told twice when it runs again', async () => {
  const source = messagesGraph(
    `.addNode('ask', async (state) => {
      const answer = await model.invoke(state.messages);
      return { messages: [answer, new AIMessage({ id: 'a1', content: 'got ' + JSON.stringify(interrupt('Book?')) })] };
    }).addEdge(START, 'ask').addEdge('ask', END)`,
    `const model = new ScriptedModel([[{ id: 'm1', content: 'Thinking.' }]]);`,
  );
  const user = (await stage(source)).client();
  const [interrupt] = interruptsOf(await user.say('hi'));
  await user.run({ resume: [resolved(interrupt, true)] });
  expect(user.messages.map(({ id, content }) => [id, content])).toEqual([
    ['u1', 'hi'],
    ['m1', 'Thinking.'],
    ['a1', 'got true'],
  ]);
});

const BREAKPOINT = (option: string): string => `${IMPORTS}
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('plan', () => ({ messages: [new AIMessage({ id: 'p1', content: 'planned' })] }))
  .addNode('act', () => ({ messages: [new AIMessage({ id: 'a1', content: 'acted' })] }))
  .addEdge(START, 'plan').addEdge('plan', 'act').addEdge('act', END)
  .compile({ checkpointer: new MemorySaver(), ${option} });
`;

test.each([
  ['interruptBefore', `interruptBefore: ['act']`],
  ['interruptAfter', `interruptAfter: ['plan']`],
])('a breakpoint (%s) is an interrupt, and the run goes on after it', async (_, option) => {
  const user = (await stage(BREAKPOINT(option))).client();
  const first = await user.say('hi');
  const [interrupt] = interruptsOf(first);
  expect(interrupt?.reason).toBe('langgraph:breakpoint');
  expect(user.messages.map(({ id }) => id)).toEqual(['u1', 'p1']);
  const second = await user.run({ resume: [resolved(interrupt)] });
  expect(second.lines.filter((line) => line.startsWith('STEP_'))).toEqual(['STEP_STARTED act', 'STEP_FINISHED act']);
  expect(user.messages.map(({ id }) => id)).toEqual(['u1', 'p1', 'a1']);
});

test('a breakpoint goes on in the older form too', async () => {
  const user = (await stage(BREAKPOINT(`interruptBefore: ['act']`))).client({ old: true });
  await user.say('hi');
  const { lines } = await user.run({ forwardedProps: { command: { resume: 'go on' } } });
  expect(lines.at(-1)).toBe('RUN_FINISHED success');
  expect(user.messages.map(({ id }) => id)).toEqual(['u1', 'p1', 'a1']);
});

test('a breakpoint with nothing new is told again under the same id', async () => {
  const server = await stage(BREAKPOINT(`interruptBefore: ['act']`));
  const user = server.client();
  const first = interruptsOf(await user.say('hi'));
  expect(interruptsOf(await stranger(server, user).run()).map(({ id }) => id)).toEqual(first.map(({ id }) => id));
});

test('a new message at a breakpoint is INTERRUPT_PENDING', async () => {
  const server = await stage(BREAKPOINT(`interruptBefore: ['act']`));
  const user = server.client();
  await user.say('hi');
  const { lines } = await stranger(server, user).send({ id: 'u9', role: 'user', content: 'else' });
  expect(lines.at(-1)).toBe('RUN_ERROR INTERRUPT_PENDING');
});

test('an interrupt of an agent without memory cannot be resumed', async () => {
  const server = await stage(asking(`'Book?'`), { defaultCheckpointer: undefined });
  const { lines } = await server.client().say('hi');
  expect(lines[0]).toBe('RUN_STARTED');
  expect(lines.at(-1)).toMatch(/^RUN_/);
});

test('a cancelled breakpoint ends the run before the node, and the thread goes on', async () => {
  const user = (await stage(BREAKPOINT(`interruptBefore: ['act']`))).client();
  const [interrupt] = interruptsOf(await user.say('hi'));
  const { lines } = await user.run({ resume: [cancelled(interrupt)] });
  expect(lines.filter((line) => line.startsWith('STEP_'))).toEqual([]);
  expect(lines.at(-1)).toBe('RUN_FINISHED success');
  expect(user.messages.map(({ id }) => id)).toEqual(['u1', 'p1']);
  const next = await user.say('again');
  expect(interruptsOf(next)[0]?.reason).toBe('langgraph:breakpoint');
});

test('a node that fails after its breakpoint does not lock the thread', async () => {
  const source = BREAKPOINT(`interruptBefore: ['act']`).replace(
    `() => ({ messages: [new AIMessage({ id: 'a1', content: 'acted' })] })`,
    `() => { throw new Error('no'); }`,
  );
  const user = (await stage(source)).client();
  const [interrupt] = interruptsOf(await user.say('hi'));
  const failed = await user.run({ resume: [resolved(interrupt)] });
  expect(failed.lines.at(-1)).toBe('RUN_ERROR FRAMEWORK_ERROR');
  user.agent.pendingInterrupts = [];
  const next = await user.say('try again');
  expect(next.lines.at(-1)).toBe('RUN_FINISHED interrupt');
});

test('a fan-out to one node that asks in each is several interrupts', async () => {
  const source = `${IMPORTS}
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('ask', (state) => ({ messages: [new AIMessage({ id: 'a' + state.n, content: state.n + ':' + interrupt('n' + state.n) })] }))
  .addConditionalEdges(START, () => [1, 2, 3].map((n) => new Send('ask', { n })))
  .addEdge('ask', END);
`;
  const user = (await stage(source)).client();
  const interrupts = interruptsOf(await user.say('hi'));
  expect(new Set(interrupts.map(({ id }) => id)).size).toBe(3);
  const resume = interrupts.map((interrupt) => resolved(interrupt, `yes ${interrupt.message}`));
  const { lines } = await user.run({ resume });
  expect(lines.at(-1)).toBe('RUN_FINISHED success');
  expect(user.messages.map(({ content }) => content)).toEqual(['hi', '1:yes n1', '2:yes n2', '3:yes n3']);
});

test('a question of a graph that a node calls is told once and answered', async () => {
  const source = `${IMPORTS}
const child = new StateGraph(MessagesAnnotation)
  .addNode('inner', () => ({ messages: [new AIMessage({ id: 'i1', content: 'got ' + interrupt('Book?') })] }))
  .addEdge(START, 'inner').addEdge('inner', END).compile();
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('outer', async (state) => {
    const { messages } = await child.invoke({ messages: [] });
    return { messages: [new AIMessage({ id: 'a1', content: messages.at(-1).content })] };
  }).addEdge(START, 'outer').addEdge('outer', END);
`;
  const user = (await stage(source)).client();
  const first = await user.say('hi');
  const interrupts = interruptsOf(first);
  expect(interrupts).toHaveLength(1);
  expect(ofType(first.events, 'CUSTOM')).toHaveLength(1);
  await user.run({ resume: [resolved(interrupts[0], 'yes')] });
  expect(answered(user)).toBe('got yes');
});

test('after an answer the conversation goes on as usual', async () => {
  const source = messagesGraph(
    `.addNode('ask', (state) => ({ messages: [new AIMessage('turn ' + state.messages.length + ' ' + interrupt('?'))] }))
    .addEdge(START, 'ask').addEdge('ask', END)`,
  );
  const server = await stage(source);
  const user = server.client();
  for (const text of ['one', 'two']) {
    const [interrupt] = interruptsOf(await user.say(text));
    await user.run({ resume: [resolved(interrupt, 'ok')] });
  }
  expect(user.messages.map(({ content }) => content)).toEqual(['one', 'turn 1 ok', 'two', 'turn 3 ok']);
});

test('a question that is open does not keep other threads from running', async () => {
  const { client } = await stage(asking(`'Book?'`));
  await client().say('hi');
  expect(interruptsOf(await client().say('hi'))).toHaveLength(1);
});

test('an open question outlives the server when its memory does', async () => {
  const options = { defaultCheckpointer: { type: 'sqlite' as const, db_url: 'sqlite:///checkpoints.db' } };
  const first = await stage(asking(`'Book?'`), options);
  const user = first.client();
  const [interrupt] = interruptsOf(await user.say('hi'));
  await first.app.close();
  const second = await stage(asking(`'Book?'`), { ...options, root: first.root });
  const later = second.client({ threadId: user.agent.threadId });
  await later.run({ resume: [resolved(interrupt, 'yes')] });
  expect(answered(later)).toBe('got "yes"');
});

test('the same answer again, after the node failed on it, lets the node try again', async () => {
  const source = messagesGraph(
    `.addNode('ask', () => {
      const answer = interrupt('Book?');
      tries += 1;
      if (tries === 1) throw new Error('no');
      return { messages: [new AIMessage({ id: 'a1', content: 'got ' + JSON.stringify(answer) })] };
    }).addEdge(START, 'ask').addEdge('ask', END)`,
    'let tries = 0;',
  );
  const user = (await stage(source)).client();
  const [interrupt] = interruptsOf(await user.say('hi'));
  const resume = [resolved(interrupt, 'yes')];
  const failed = await user.run({ resume });
  expect(failed.lines.at(-1)).toBe('RUN_ERROR FRAMEWORK_ERROR');
  // The client still holds the interrupt as open, so this is the only run it will start.
  const { lines } = await user.run({ resume });
  expect(lines.at(-1)).toBe('RUN_FINISHED success');
  expect(answered(user)).toBe('got "yes"');
});
