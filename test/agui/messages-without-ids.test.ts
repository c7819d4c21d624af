import { expect, test } from 'vitest';
import { ECHO } from '../support/agents.ts';
import { createTestApp, type TestApp } from '../support/app.ts';

/** Posts messages as a client that knows no ids, and gives the thread's texts afterwards. */
async function talk({ app }: TestApp, runId: string, messages: [role: string, content: string][]): Promise<string[]> {
  const payload = { threadId: 't1', runId, messages: messages.map(([role, content]) => ({ role, content })) };
  expect((await app.inject({ method: 'POST', url: '/agent/run', payload })).body).toContain('RUN_FINISHED');
  const detail = (await app.inject('/agent/sessions/t1')).json() as { messages: { content: string }[] };
  return detail.messages.map(({ content }) => content);
}

test('a transcript without ids that is sent whole doubles nothing', async () => {
  const server = await createTestApp({ files: { 'agent.ts': ECHO }, agent: 'agent.ts' });
  await talk(server, 'r1', [['user', 'one']]);
  const texts = await talk(server, 'r2', [
    ['user', 'one'],
    ['assistant', 'you said: one'],
    ['user', 'two'],
  ]);
  expect(texts).toEqual(['one', 'you said: one', 'two', 'you said: two']);
});

test('a single message without an id is new, also when it says the same again', async () => {
  const server = await createTestApp({ files: { 'agent.ts': ECHO }, agent: 'agent.ts' });
  await talk(server, 'r1', [['user', 'yes']]);
  expect(await talk(server, 'r2', [['user', 'yes']])).toEqual(['yes', 'you said: yes', 'yes', 'you said: yes']);
});

test('a transcript without ids that differs from the thread is taken from where it differs', async () => {
  const server = await createTestApp({ files: { 'agent.ts': ECHO }, agent: 'agent.ts' });
  await talk(server, 'r1', [['user', 'one']]);
  const texts = await talk(server, 'r2', [
    ['user', 'one'],
    ['assistant', 'something else'],
    ['user', 'two'],
  ]);
  expect(texts).toEqual(['one', 'you said: one', 'something else', 'two', 'you said: two']);
});
