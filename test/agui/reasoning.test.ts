import type { Message } from '@ag-ui/core';
import { expect, test } from 'vitest';
import { stage } from '../support/client.ts';
import { oneModel } from '../support/graphs.ts';
import { ofType } from '../support/runs.ts';

const part = (fields: string): string => `{ content: [{ index: 0, ${fields} }] }`;

const SHAPES: [name: string, chunks: string, reasoning: string, sealed: string | undefined][] = [
  [
    'thinking parts with a signature',
    `${part(`type: 'thinking', thinking: 'Compare '`)}, ${part(`type: 'thinking', thinking: 'fares.'`)}, ${part(`type: 'thinking', thinking: '', signature: 'sig1'`)}`,
    'Compare fares.',
    'sig1',
  ],
  [
    'thinking parts whose signature comes without text',
    `${part(`type: 'thinking', thinking: 'Compare fares.'`)}, ${part(`type: 'thinking', signature: 'sig1'`)}`,
    'Compare fares.',
    'sig1',
  ],
  ['redacted thinking', part(`type: 'redacted_thinking', data: 'sealed1'`), '', 'sealed1'],
  [
    'reasoning parts',
    `${part(`type: 'reasoning', reasoning: 'Compare '`)}, ${part(`type: 'reasoning', reasoning: 'fares.'`)}`,
    'Compare fares.',
    undefined,
  ],
  [
    'the separate field reasoning_content',
    `{ additional_kwargs: { reasoning_content: 'Compare ' } }, { additional_kwargs: { reasoning_content: 'fares.' } }`,
    'Compare fares.',
    undefined,
  ],
  [
    'a summary in a reasoning part',
    part(`type: 'reasoning', summary: [{ type: 'summary_text', text: 'Compare fares.', index: 0 }]`),
    'Compare fares.',
    undefined,
  ],
  [
    'a summary in additional_kwargs',
    `{ additional_kwargs: { reasoning: { id: 'rs_1', type: 'reasoning', summary: [{ type: 'summary_text', text: 'Compare fares.', index: 0 }] } } }`,
    'Compare fares.',
    undefined,
  ],
  [
    'a summary with sealed content',
    `{ additional_kwargs: { reasoning: { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Compare fares.', index: 0 }], encrypted_content: 'sealed1' } } }`,
    'Compare fares.',
    'sealed1',
  ],
  [
    'a string in additional_kwargs',
    `{ additional_kwargs: { reasoning: 'Compare fares.' } }`,
    'Compare fares.',
    undefined,
  ],
  [
    'reasoning_content parts',
    part(`type: 'reasoning_content', reasoningText: { text: 'Compare fares.', signature: 'sig1' }`),
    'Compare fares.',
    'sig1',
  ],
];

test.each(SHAPES)(
  '%s: streamed before the text, and in the snapshot before its message',
  async (_, chunks, text, sealed) => {
    const answer = chunks.includes('content: [')
      ? part(`type: 'text', text: 'Take the 14:02.'`).replace('index: 0', 'index: 1')
      : `'Take the 14:02.'`;
    const user = (await stage(oneModel(`new ScriptedModel([[{ id: 'a1' }, ${chunks}, ${answer}]])`))).client();
    const { events, lines } = await user.say('hi');
    const folded = lines.slice(2, lines.indexOf('STEP_FINISHED model')).filter((line) => !line.includes('_CONTENT'));
    expect(folded).toEqual([
      'REASONING_START a1-reasoning',
      'REASONING_MESSAGE_START a1-reasoning',
      ...(sealed === undefined ? [] : [`REASONING_ENCRYPTED_VALUE message a1-reasoning ${sealed}`]),
      'REASONING_MESSAGE_END a1-reasoning',
      'REASONING_END a1-reasoning',
      'TEXT_MESSAGE_START a1',
      'TEXT_MESSAGE_END a1',
    ]);
    const told = ofType(events, 'REASONING_MESSAGE_CONTENT')
      .map(({ delta }) => delta)
      .join('');
    expect(told).toBe(text);
    const held = {
      id: 'a1-reasoning',
      role: 'reasoning',
      content: text,
      ...(sealed !== undefined && { encryptedValue: sealed }),
    };
    const conversation = [
      { id: 'u1', role: 'user', content: 'hi' },
      held,
      { id: 'a1', role: 'assistant', content: 'Take the 14:02.' },
    ];
    expect(ofType(events, 'MESSAGES_SNAPSHOT')[0]?.messages).toEqual(conversation);
    expect(user.messages).toEqual(conversation);
  },
);

test.each([
  [
    'in parts',
    `{ id: 'a1', content: [{ type: 'thinking', thinking: 'Compare.', signature: 'sig1' }, { type: 'text', text: 'Go.' }] }`,
  ],
  ['in additional_kwargs', `{ id: 'a1', content: 'Go.', additional_kwargs: { reasoning_content: 'Compare.' } }`],
])('the reasoning of a model that cannot stream is told, %s', async (_, message) => {
  const { lines } = await (await stage(oneModel(`new SilentModel([${message}])`))).client().say('hi');
  expect(lines).toContain('REASONING_MESSAGE_CONTENT a1-reasoning "Compare."');
  expect(lines.indexOf('REASONING_END a1-reasoning')).toBeLessThan(lines.indexOf('TEXT_MESSAGE_START a1'));
  expect(lines.at(-2)).toBe('MESSAGES_SNAPSHOT u1 a1-reasoning a1');
});

test('reasoning is closed before the call that follows it', async () => {
  const model = `new ScriptedModel([[{ id: 'a1' }, ${part(`type: 'thinking', thinking: 'Look it up.'`)}, call(0, 'c1', 'look', '{}')]])`;
  const { lines } = await (await stage(oneModel(model))).client().say('hi');
  expect(lines.slice(2, 10)).toEqual([
    'REASONING_START a1-reasoning',
    'REASONING_MESSAGE_START a1-reasoning',
    'REASONING_MESSAGE_CONTENT a1-reasoning "Look it up."',
    'REASONING_MESSAGE_END a1-reasoning',
    'REASONING_END a1-reasoning',
    'TOOL_CALL_START c1 look in a1',
    'TOOL_CALL_ARGS c1 {}',
    'TOOL_CALL_END c1',
  ]);
});

test('reasoning that never turns into text is closed at the end of the model', async () => {
  const model = `new ScriptedModel([[{ id: 'a1' }, ${part(`type: 'thinking', thinking: 'Hm.'`)}]])`;
  const { lines } = await (await stage(oneModel(model))).client().say('hi');
  expect(lines.slice(4, 8)).toEqual([
    'REASONING_MESSAGE_CONTENT a1-reasoning "Hm."',
    'REASONING_MESSAGE_END a1-reasoning',
    'REASONING_END a1-reasoning',
    'STEP_FINISHED model',
  ]);
});

test('reasoning that goes on after text is streamed, and the snapshot holds all of it', async () => {
  const model = `new ScriptedModel([[{ id: 'a1' }, { content: [{ index: 0, type: 'thinking', thinking: 'One.' }] },
    { content: [{ index: 1, type: 'text', text: 'Text.' }] }, { content: [{ index: 2, type: 'thinking', thinking: 'Two.' }] }]])`;
  const user = (await stage(oneModel(model))).client();
  const { events } = await user.say('hi');
  expect(ofType(events, 'REASONING_MESSAGE_CONTENT').map(({ delta }) => delta)).toEqual(['One.', 'Two.']);
  expect(user.messages[1]).toMatchObject({ role: 'reasoning', content: 'One.Two.' });
});

test('reasoning the client sends back is dropped and told again from the state', async () => {
  const model = `new ScriptedModel([[{ id: 'a1' }, ${part(`type: 'thinking', thinking: 'Hm.'`)}, { content: [{ index: 1, type: 'text', text: 'One.' }] }],
    (messages) => [{ id: 'a2', content: 'Saw ' + messages.length }]])`;
  const user = (await stage(oneModel(model))).client();
  await user.say('hi');
  const { input, lines } = await user.say('again');
  expect((input.messages as Message[]).map(({ role }) => role)).toEqual(['user', 'reasoning', 'assistant', 'user']);
  expect(lines).toContain('TEXT_MESSAGE_CONTENT a2 "Saw 3"');
  expect(user.messages.map(({ id }) => id)).toEqual(['u1', 'a1-reasoning', 'a1', 'u2', 'a2']);
});

test('emit-messages false keeps reasoning quiet too', async () => {
  const model = `new ScriptedModel([[{ id: 'a1' }, ${part(`type: 'thinking', thinking: 'Hm.'`)}]])`;
  const { lines } = await (await stage(oneModel(model, `{ metadata: { 'emit-messages': false } }`))).client().say('hi');
  expect(lines.filter((line) => line.startsWith('REASONING'))).toEqual([]);
});
