import { expect, test } from 'vitest';
import type { CheckpointerConfig } from '../../src/engine/memory/index.ts';
import { endOf, textsOf } from '../runs/support.ts';
import { ECHO } from '../support/agents.ts';
import { createTestApp, tempFolder } from '../support/app.ts';
import { interruptsOf, stage } from '../support/client.ts';
import { LASTING, MEMORIES } from '../support/memories.ts';
import { runEvents, runInput } from '../support/runs.ts';
import { ASKS } from './agents.ts';

const as = (user: string) => ({ 'x-service-user-id': user });

async function serve(checkpointer: CheckpointerConfig, source = ASKS) {
  return stage(source, { defaultCheckpointer: checkpointer });
}

test.each(MEMORIES)('a conversation, an edit and a regeneration (%s)', async (_, memory) => {
  const { base, client } = await serve(await memory());
  const ana = client({ threadId: 'th' });
  await ana.say('one');
  await ana.say('two');
  const third = await ana.say('three');
  expect(third.events.findLast(({ type }) => type === 'STATE_SNAPSHOT')?.snapshot).toMatchObject({ turns: 3 });
  expect(await textsOf(base, 'th')).toEqual(['one', 'heard one', 'two', 'heard two', 'three', 'heard three']);
  // Back to the second message, with other words.
  const [, , second] = ana.messages;
  const before = ana.messages.slice(0, 2);
  ana.agent.setMessages([...before, { ...second, content: 'zwei' } as (typeof ana.messages)[number]]);
  const edited = await ana.run();
  expect(endOf(edited.events)).toBe('success');
  expect(edited.events.findLast(({ type }) => type === 'STATE_SNAPSHOT')?.snapshot).toMatchObject({ turns: 2 });
  expect(await textsOf(base, 'th')).toEqual(['one', 'heard one', 'zwei', 'heard zwei']);
  ana.agent.setMessages(ana.messages.slice(0, 3));
  expect(endOf((await ana.run()).events)).toBe('success');
  expect(await textsOf(base, 'th')).toEqual(['one', 'heard one', 'zwei', 'heard zwei']);
});

test.each(MEMORIES)('a question inside a subgraph and its answer (%s)', async (_, memory) => {
  const { base, client } = await serve(await memory());
  const ana = client({ threadId: 'th' });
  await ana.say('hello');
  const asked = interruptsOf(await ana.say('ask'));
  expect(asked).toHaveLength(1);
  const told = await ana.run({ resume: [{ interruptId: asked[0]?.id ?? '', status: 'resolved', payload: 'this' }] });
  expect(endOf(told.events)).toBe('success');
  expect(await textsOf(base, 'th')).toEqual(['hello', 'heard hello', 'ask', 'told this']);
});

test.each(MEMORIES)('sessions are listed and read by their owner alone (%s)', async (_, memory) => {
  const { app } = await serve(await memory(), ECHO);
  await runEvents(app, runInput('mine', { threadId: 'anas' }), as('ana'));
  await runEvents(app, runInput('his', { threadId: 'bobs' }), as('bob'));
  const list = async (user: string) =>
    (await app.inject({ url: '/agent/sessions', headers: as(user) })).json<{ id: string; preview: string }[]>();
  expect(await list('ana')).toMatchObject([{ id: 'anas', preview: 'mine' }]);
  expect(await list('bob')).toMatchObject([{ id: 'bobs', preview: 'his' }]);
  expect((await app.inject({ url: '/agent/sessions/anas', headers: as('bob') })).statusCode).toBe(404);
  const read = await app.inject({ url: '/agent/sessions/anas', headers: as('ana') });
  expect(read.json()).toMatchObject({ userId: 'ana', messages: [{ content: 'mine' }, { content: 'you said: mine' }] });
});

test.each(MEMORIES)('many threads at once do not meet (%s)', async (_, memory) => {
  const { app, base } = await serve(await memory(), ECHO);
  const ids = Array.from({ length: 40 }, (_one, index) => `th-${index}`);
  for (const round of ['first', 'second']) {
    const ends = await Promise.all(
      ids.map((threadId) => runEvents(app, runInput(`${round} ${threadId}`, { threadId }))),
    );
    expect(new Set(ends.map(endOf))).toEqual(new Set(['success']));
  }
  const texts = await Promise.all(ids.map((id) => textsOf(base, id)));
  expect(texts).toEqual(
    ids.map((id) => [`first ${id}`, `you said: first ${id}`, `second ${id}`, `you said: second ${id}`]),
  );
});

test.each(LASTING)('a conversation and its open question survive a restart (%s)', async (_, memory) => {
  const checkpointer = await memory();
  const root = tempFolder();
  const first = await stage(ASKS, { root, defaultCheckpointer: checkpointer });
  const ana = first.client({ threadId: 'th' });
  await ana.say('hello');
  const [asked] = interruptsOf(await ana.say('ask'));
  await first.app.close();

  const second = await createTestApp({ root, agent: 'agent.ts', defaultCheckpointer: checkpointer });
  const base = await second.listen();
  expect(await textsOf(base, 'th')).toEqual(['hello', 'heard hello', 'ask']);
  const resume = [{ interruptId: asked?.id ?? '', status: 'resolved' as const, payload: 'that' }];
  expect(endOf(await runEvents(second.app, runInput('', { threadId: 'th', messages: [], resume })))).toBe('success');
  expect(await textsOf(base, 'th')).toEqual(['hello', 'heard hello', 'ask', 'told that']);
});
