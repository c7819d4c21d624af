import { expect, test } from 'vitest';
import { endOf, textsOf } from '../runs/support.ts';
import { ECHO } from '../support/agents.ts';
import { createTestApp } from '../support/app.ts';
import { stage } from '../support/client.ts';
import { createGate, gatedAgent, until } from '../support/gates.ts';
import { MEMORIES } from '../support/memories.ts';
import { runEvents, runInput } from '../support/runs.ts';
import { openRun } from '../support/streams.ts';
import { ASKS } from './agents.ts';

const as = (user: string) => ({ 'x-service-user-id': user });

test.each(MEMORIES)('a session is deleted everywhere, with its open question (%s)', async (_, memory) => {
  const { app, base } = await stage(ASKS, { defaultCheckpointer: await memory() });
  const del = (id: string, headers = {}) => app.inject({ method: 'DELETE', url: `/agent/sessions/${id}`, headers });
  const asked = runInput('ask', { threadId: 'th', runId: 'run' });
  await runEvents(app, asked, as('ana'));
  await runEvents(app, runInput('hello', { threadId: 'other' }), as('ana'));
  expect((await del('th', as('bob'))).statusCode).toBe(404);
  expect((await del('th')).statusCode).toBe(404);
  expect((await del('nobody-has-this', as('ana'))).json()).toEqual({ detail: 'Not Found' });
  const gone = await del('th', as('ana'));
  expect([gone.statusCode, gone.json()]).toEqual([200, { deleted: true }]);
  for (const url of ['/agent/sessions/th', '/agent/threads/th/runs', '/agent/runs/run', '/agent/runs/run/events']) {
    expect((await app.inject({ url, headers: as('ana') })).statusCode, url).toBe(404);
  }
  expect((await del('th', as('ana'))).statusCode).toBe(404);
  const listed = await app.inject({ url: '/agent/sessions', headers: as('ana') });
  expect(listed.json()).toMatchObject([{ id: 'other' }]);
  const { memory: size } = (await app.inject('/admin/api/v1/storage')).json();
  expect(size.threads).toBe(1);
  // The id is free, for the same run too, and nothing of before shows.
  const again = await runEvents(app, { ...asked, messages: [{ id: 'u9', role: 'user', content: 'hi' }] }, as('bob'));
  expect(endOf(again)).toBe('success');
  const read = await fetch(`${base}/agent/sessions/th`, { headers: as('bob') });
  expect(JSON.stringify(await read.json())).not.toContain('ask');
});

test.each(MEMORIES)(
  'a session with a run under way is not deleted; one that was cancelled is (%s)',
  async (_, memory) => {
    const gate = createGate();
    const { app, base } = await stage(gatedAgent('v1'), { defaultCheckpointer: await memory() });
    const del = () => app.inject({ method: 'DELETE', url: '/agent/sessions/th' });
    const input = runInput(gate.name, { threadId: 'th' });
    const running = await openRun(base, input);
    await until(() => gate.arrived === 1);
    const refused = await del();
    expect([refused.statusCode, refused.json().detail]).toEqual([409, expect.stringMatching(/under way/)]);
    expect((await app.inject({ method: 'POST', url: `/agent/runs/${input.runId}/cancel` })).statusCode).toBe(200);
    await running.all();
    expect((await del()).statusCode).toBe(200);
    gate.open();
    await runEvents(app, runInput('anew', { threadId: 'th' }));
    expect(await textsOf(base, 'th')).toEqual(['anew', 'v1: anew']);
  },
);

test('runs that come while a session is deleted begin a new one', async () => {
  const { app, base } = await stage(ECHO, { defaultCheckpointer: { type: 'sqlite', db_url: 'sqlite:///chat.db' } });
  for (let turn = 0; turn < 10; turn += 1) await runEvents(app, runInput('x'.repeat(10_000), { threadId: 'th' }));
  const deleted = app.inject({ method: 'DELETE', url: '/agent/sessions/th' });
  const run = runEvents(app, runInput('fresh', { threadId: 'th' }));
  const [{ statusCode }, events] = await Promise.all([deleted, run]);
  expect(endOf(events)).toBe('success');
  const texts = await textsOf(base, 'th');
  // Whichever was first: the run is whole, and so is its owner's right to it.
  expect(texts.slice(-2)).toEqual(['fresh', 'you said: fresh']);
  expect(texts).toHaveLength(statusCode === 200 ? 2 : 22);
});

test('an agent that keeps nothing has nothing to delete, and says so', async () => {
  const { app } = await createTestApp({
    files: { 'agent.ts': ECHO },
    agent: 'agent.ts',
    defaultCheckpointer: undefined,
  });
  expect((await app.inject({ method: 'DELETE', url: '/agent/sessions/th' })).statusCode).toBe(501);
  expect((await app.inject('/admin/api/v1/storage')).json().memory).toBeNull();
});
