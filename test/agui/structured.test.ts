import { expect, test } from 'vitest';
import { interruptsOf, stage } from '../support/client.ts';
import { IMPORTS } from '../support/graphs.ts';
import { ofType } from '../support/runs.ts';

const ROUTE = `${IMPORTS}
const Input = z.object({ from: z.string(), to: z.string(), seats: z.number().int().default(1) });
const Output = z.object({ price: z.number(), note: z.string() });
const State = z.object({ ...Input.shape, ...Output.partial().shape, secret: z.string().optional() });
export const graph = new StateGraph({ state: State, input: Input, output: Output })
  .addNode('quote', (state) => ({ price: 7 * state.seats, note: state.from + '-' + state.to, secret: 's3cret' }))
  .addEdge(START, 'quote').addEdge('quote', END);
`;

test('the last message is the input, the result is the output', async () => {
  const user = (await stage(ROUTE)).client();
  const { events, lines } = await user.say('{"from":"Lyon","to":"Nice","seats":2}');
  expect(lines).toEqual([
    'RUN_STARTED',
    'STEP_STARTED quote',
    'STEP_FINISHED quote',
    ...lines.slice(3, -1),
    'RUN_FINISHED success',
  ]);
  expect(events.at(-1)).toMatchObject({ result: { price: 14, note: 'Lyon-Nice' }, outcome: { type: 'success' } });
  expect(events.at(-1)?.result).not.toHaveProperty('secret');
  expect(ofType(events, 'STATE_SNAPSHOT').at(-1)?.snapshot).toEqual({ price: 14, note: 'Lyon-Nice' });
  expect(ofType(events, 'TEXT_MESSAGE_START')).toEqual([]);
});

test('a default of the schema is filled in', async () => {
  const { events } = await (await stage(ROUTE)).client().say('{"from":"Lyon","to":"Nice"}');
  expect(events.at(-1)?.result).toMatchObject({ price: 7 });
});

test.each([
  ['no JSON', 'from Lyon to Nice'],
  ['JSON that is no object', '[1]'],
  ['a member missing', '{"from":"Lyon"}'],
  ['a member of another type', '{"from":"Lyon","to":7}'],
])('input that does not fit is VALIDATION_ERROR: %s', async (_, text) => {
  const { lines } = await (await stage(ROUTE)).client().say(text);
  expect(lines).toEqual(['RUN_STARTED', 'RUN_ERROR VALIDATION_ERROR']);
});

test('no message at all is VALIDATION_ERROR', async () => {
  const { lines } = await (await stage(ROUTE)).client().run();
  expect(lines).toEqual(['RUN_STARTED', 'RUN_ERROR VALIDATION_ERROR']);
});

test('the input may come in text parts', async () => {
  const user = (await stage(ROUTE)).client();
  const text = '{"from":"Lyon","to":"Nice"}';
  const { lines } = await user.send({ id: 'u1', role: 'user', content: [{ type: 'text', text }] });
  expect(lines.at(-1)).toBe('RUN_FINISHED success');
});

test('a structured agent can be run again on the same thread', async () => {
  const user = (await stage(ROUTE)).client();
  await user.say('{"from":"Lyon","to":"Nice"}');
  const { events } = await user.say('{"from":"Nice","to":"Lyon","seats":3}');
  expect(events.at(-1)?.result).toMatchObject({ price: 21, note: 'Nice-Lyon' });
});

test('a structured agent may ask, and be answered', async () => {
  const source = ROUTE.replace(`price: 7 * state.seats`, `price: interrupt({ message: 'How much?' })`);
  const user = (await stage(source)).client();
  const first = await user.say('{"from":"Lyon","to":"Nice"}');
  const interrupts = interruptsOf(first);
  const second = await user.run({ resume: [{ interruptId: interrupts[0]?.id ?? '', status: 'resolved', payload: 5 }] });
  expect(second.events.at(-1)?.result).toMatchObject({ price: 5 });
});

test('an agent with messages and optional extras still chats', async () => {
  const source = `${IMPORTS}
const State = Annotation.Root({ ...MessagesAnnotation.spec, mood: Annotation() });
export const graph = new StateGraph(State)
  .addNode('node', (state) => ({ messages: [new AIMessage('mood ' + state.mood)] })).addEdge(START, 'node').addEdge('node', END);
`;
  const { app, client } = await stage(source);
  const user = client();
  user.agent.setState({ mood: 'fine' });
  const { events } = await user.say('hi');
  expect(user.messages.at(-1)?.content).toBe('mood fine');
  expect(events.at(-1)).not.toHaveProperty('result');
  const { input } = (await app.inject('/agent/capabilities')).json() as { input: { mode: string } };
  expect(input.mode).toBe('chat');
});

test.each([
  ['zod with defaults', `z.object({ messages, mood: z.string().default('fine') })`],
  ['zod with optional members', `z.object({ messages, mood: z.string().optional() })`],
  ['zod 3 with defaults', `MessagesZodState.extend({ mood: z3.string().default('fine') })`],
  ['a schema of langgraph', `new StateSchema({ messages: MessagesValue, mood: z.string().default('fine') })`],
  ['an annotation', `Annotation.Root({ ...MessagesAnnotation.spec, mood: Annotation() })`],
])('a state of messages and extras that need not be given chats: %s', async (_, state) => {
  const source = `${IMPORTS}
import { MessagesValue, MessagesZodMeta, MessagesZodState, StateSchema } from '@langchain/langgraph';
import { registry } from '@langchain/langgraph/zod';
import { z as z3 } from 'zod/v3';
const messages = z.array(z.custom()).register(registry, MessagesZodMeta);
export const graph = new StateGraph(${state})
  .addNode('node', (state) => ({ messages: [new AIMessage('mood ' + (state.mood ?? 'fine'))] })).addEdge(START, 'node').addEdge('node', END);
`;
  const { app, client } = await stage(source);
  const user = client();
  const { lines } = await user.say('hi');
  expect(lines.at(-1)).toBe('RUN_FINISHED success');
  expect(user.messages.at(-1)?.content).toBe('mood fine');
  const { input } = (await app.inject('/agent/capabilities')).json() as { input: { mode: string } };
  expect(input.mode).toBe('chat');
});

test('the advertised schema does not demand what has a default', async () => {
  const { app } = await stage(ROUTE);
  const { input } = (await app.inject('/agent/capabilities')).json() as { input: { schema: { required: string[] } } };
  expect(input.schema.required).toEqual(['from', 'to']);
});
