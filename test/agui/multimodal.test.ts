import type { Message } from '@ag-ui/core';
import { expect, test } from 'vitest';
import { postRun, snapshotOf, stage } from '../support/client.ts';
import { messagesGraph } from '../support/graphs.ts';

/** Says as JSON what the model was given. */
const SHOWING = messagesGraph(
  `.addNode('model', async (state) => ({ messages: [await model.invoke(state.messages)] })).addEdge(START, 'model').addEdge('model', END)`,
  `const model = new ScriptedModel([(messages) => [JSON.stringify(messages.at(-1).content)]]);`,
);

const text = { type: 'text', text: 'Which seat is this?' };

test.each([
  [
    'an image in data',
    { type: 'image', source: { type: 'data', value: 'AAAA', mimeType: 'image/png' } },
    { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
  ],
  [
    'an image at a URL',
    { type: 'image', source: { type: 'url', value: 'https://example.org/seat.png' } },
    { type: 'image_url', image_url: { url: 'https://example.org/seat.png' } },
  ],
  [
    'audio',
    { type: 'audio', source: { type: 'data', value: 'BBBB', mimeType: 'audio/wav' } },
    { type: 'audio', source_type: 'base64', mime_type: 'audio/wav', data: 'BBBB' },
  ],
  [
    'a document in data',
    { type: 'document', source: { type: 'data', value: 'CCCC', mimeType: 'application/pdf' } },
    { type: 'file', source_type: 'base64', mime_type: 'application/pdf', data: 'CCCC' },
  ],
  [
    'a document at a URL',
    { type: 'document', source: { type: 'url', value: 'https://example.org/a.pdf', mimeType: 'application/pdf' } },
    { type: 'file', source_type: 'url', mime_type: 'application/pdf', url: 'https://example.org/a.pdf' },
  ],
  [
    'a document by id',
    { type: 'document', source: { type: 'file', value: 'file-1' } },
    { type: 'file', source_type: 'id', id: 'file-1' },
  ],
  [
    'an image by id',
    { type: 'image', source: { type: 'file', value: 'file-1' } },
    { type: 'image', source_type: 'id', id: 'file-1' },
  ],
  ['video', { type: 'video', source: { type: 'data', value: 'DDDD', mimeType: 'video/mp4' } }, undefined],
])('%s reaches the model as a content block and comes back as it was', async (_, part, block) => {
  const user = (await stage(SHOWING)).client();
  const content = [text, part] as Extract<Message, { role: 'user' }>['content'];
  const run = await user.send({ id: 'u1', role: 'user', content });
  if (block !== undefined) expect(JSON.parse(String(user.messages.at(-1)?.content))).toEqual([text, block]);
  expect(snapshotOf(run)[0]).toEqual({
    id: 'u1',
    role: 'user',
    content,
  });
  await user.say('and now?');
  expect(user.messages).toHaveLength(4);
  expect(user.messages[0]?.content).toEqual(content);
});

test.each([
  [
    { mimeType: 'image/png', data: 'AAAA' },
    { type: 'image', source: { type: 'data', value: 'AAAA', mimeType: 'image/png' } },
  ],
  [{ mimeType: 'image/png', url: 'https://x.org/a.png' }, undefined],
  [
    { mime_type: 'audio/wav', data: 'BBBB' },
    { type: 'audio', source: { type: 'data', value: 'BBBB', mimeType: 'audio/wav' } },
  ],
  [
    { mimeType: 'application/pdf', data: 'CCCC', filename: 'a.pdf' },
    { type: 'document', source: { type: 'data', value: 'CCCC', mimeType: 'application/pdf' } },
  ],
  [
    { mimeType: 'application/pdf', id: 'file-1' },
    { type: 'document', source: { type: 'file', value: 'file-1', mimeType: 'application/pdf' } },
  ],
])('the older binary part is accepted: %j', async (binary, part) => {
  const { base } = await stage(SHOWING);
  const content = [text, { type: 'binary', ...binary }];
  const run = await postRun(base, {
    threadId: 'th-1',
    runId: 'r1',
    messages: [{ id: 'u1', role: 'user', content }],
  });
  expect(run.lines.at(-1)).toBe('RUN_FINISHED success');
  const [first] = snapshotOf(run);
  if (part !== undefined) expect(first?.content).toMatchObject([text, part]);
});

test('a picture the agent shows in its own message does not break the snapshot', async () => {
  const source = messagesGraph(
    `.addNode('node', () => ({ messages: [new AIMessage({ id: 'a1', content: [{ type: 'text', text: 'Here:' }, { type: 'image_url', image_url: { url: 'https://x.org/a.png' } }] })] }))
    .addEdge(START, 'node').addEdge('node', END)`,
  );
  const user = (await stage(source)).client();
  await user.say('hi');
  expect(user.messages.at(-1)).toEqual({ id: 'a1', role: 'assistant', content: 'Here:' });
});

test('text parts only are text again in the snapshot', async () => {
  const user = (await stage(SHOWING)).client();
  await user.send({ id: 'u1', role: 'user', content: [text as { type: 'text'; text: string }] });
  expect(user.messages[0]).toEqual({ id: 'u1', role: 'user', content: 'Which seat is this?' });
});

test.each([
  [
    'an image at a URL with its type',
    { type: 'image', source: { type: 'url', value: 'https://x.org/a.png', mimeType: 'image/png' } },
  ],
  ['video', { type: 'video', source: { type: 'url', value: 'https://x.org/a.mp4', mimeType: 'video/mp4' } }],
  ['a part with an id and metadata', { type: 'text', text: 'Hm', id: 'p1', metadata: { from: 'clipboard' } }],
  [
    'a document with metadata',
    {
      type: 'document',
      source: { type: 'data', value: 'CCCC', mimeType: 'application/pdf' },
      metadata: { filename: 'a.pdf' },
    },
  ],
])('a transcript with %s sent again is no edit', async (_, part) => {
  const source = messagesGraph(
    `.addNode('ask', () => ({ messages: [new AIMessage(String(interrupt('Which one?')))] })).addEdge(START, 'ask').addEdge('ask', END)`,
  );
  const { client } = await stage(source);
  const content = [text, part] as Extract<Message, { role: 'user' }>['content'];
  await client({ threadId: 'th-1' }).send({ id: 'u1', role: 'user', content });
  const { lines } = await client({ threadId: 'th-1' }).send({ id: 'u1', role: 'user', content });
  expect(lines.at(-1)).toBe('RUN_FINISHED interrupt');
});
