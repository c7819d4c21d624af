import { describe, expect, test } from 'vitest';
import { createRunStore } from '../../src/store/run-store.ts';
import { createThreadStore } from '../../src/store/thread-store.ts';
import { DIALECTS } from './dialects.ts';

const run = (id: string, threadId: string, more: object = {}) => ({
  id,
  threadId,
  userId: '',
  status: 'running' as const,
  digest: 'd',
  createdAt: 1,
  startedAt: 1,
  generation: 1,
  ...more,
});
const thread = (id: string) => ({ id, userId: '', storeId: 's', title: 'hi', now: 1 });

describe.each(DIALECTS)('the run store on %s', (_, open) => {
  test('a run is added once', async () => {
    const store = createRunStore(await open());
    expect(await store.add(run('r', 't'))).toBe(true);
    expect(await store.add(run('r', 't'))).toBe(false);
    expect(await store.add(run('r', 'u'))).toBe(true);
    await store.remove('r', 't');
    expect(await store.add(run('r', 't'))).toBe(true);
  });

  test('tells how a run ended', async () => {
    const store = createRunStore(await open());
    await store.add(run('r', 't', { status: 'queued', startedAt: null, generation: null }));
    await store.begin({ id: 'r', threadId: 't', startedAt: 5, generation: 2 });
    await store.end({ id: 'r', threadId: 't', status: 'failed', errorCode: 'FRAMEWORK_ERROR', now: 9 });
    const ended = { status: 'failed', errorCode: 'FRAMEWORK_ERROR', startedAt: 5, finishedAt: 9, generation: 2 };
    expect(await store.find('r', '', undefined)).toMatchObject(ended);
    expect(await store.find('r', 'somebody else', undefined)).toBeUndefined();
    expect(await store.find('r', '', 'another thread')).toBeUndefined();
  });

  test('closes what a stopped server left open and marks the threads that had begun', async () => {
    const database = await open();
    const [store, threads] = [createRunStore(database), createThreadStore(database)];
    for (const id of ['begun', 'waiting', 'over']) await threads.claim(thread(id));
    await store.add(run('r', 'begun'));
    await store.add(run('r', 'waiting', { status: 'queued', startedAt: null }));
    await store.add(run('r', 'over'));
    await store.end({ id: 'r', threadId: 'over', status: 'finished', errorCode: null, now: 2 });
    expect(await store.closeOpen('RUN_LOST', 7)).toBe(2);
    expect(await store.closeOpen('RUN_LOST', 8)).toBe(0);
    const cuts = await Promise.all(['begun', 'waiting', 'over'].map((id) => threads.find(id, '')));
    expect(cuts.map((found) => found?.cut)).toEqual([true, false, false]);
    expect(await store.find('r', '', 'begun')).toMatchObject({ status: 'interrupted', finishedAt: 7 });
  });

  test('forgets old runs and keeps open ones', async () => {
    const store = createRunStore(await open());
    await store.add(run('old', 't'));
    await store.end({ id: 'old', threadId: 't', status: 'finished', errorCode: null, now: 10 });
    await store.add(run('open', 't', { createdAt: 2 }));
    await store.prune(11);
    expect((await store.list('t', 10)).map(({ id }) => id)).toEqual(['open']);
  });
});
