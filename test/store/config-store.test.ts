import { describe, expect, test } from 'vitest';
import { type ConfigRow, createConfigStore } from '../../src/store/config-store.ts';
import { DIALECTS } from './dialects.ts';

const row = (id: string, slug: string | null, more: Partial<ConfigRow> = {}): ConfigRow => ({
  resource: 'guardrails',
  id,
  slug,
  data: '{}',
  origin: 'database',
  createdAt: 1,
  updatedAt: 1,
  ...more,
});
const revision = (number: number) => ({
  number,
  createdAt: number,
  actor: 'anonymous',
  resource: 'guardrails',
  action: 'update',
  config: `[${number}]`,
});

/** What the audit log says of a write. */
const audit = {
  at: 1,
  actor: 'admin',
  action: 'guardrails.update',
  outcome: 'ok' as const,
  address: '192.0.2.1',
  requestId: 'r',
  detail: null,
};

describe.each(DIALECTS)('the configuration store on %s', (_, open) => {
  test('keeps rows, oldest first, and replaces those it is given again', async () => {
    const store = createConfigStore(await open());
    expect([await store.rows(), await store.newest()]).toEqual([[], 0]);
    const [old, young] = [row('a', 'one'), row('b', 'two', { createdAt: 2 })];
    await store.write({ put: [young, old], remove: [], revision: revision(1), audit });
    expect(await store.rows()).toEqual([old, young]);
    const changed = { ...old, data: '{"x":1}', updatedAt: 3 };
    await store.write({ put: [changed], remove: [{ resource: 'guardrails', id: 'b' }], revision: revision(2), audit });
    expect(await store.rows()).toEqual([changed]);
    expect(await store.newest()).toBe(2);
  });

  test('a slug is free for the record that takes it in the write that gives it back', async () => {
    const store = createConfigStore(await open());
    await store.write({ put: [row('a', 'one')], remove: [], revision: revision(1), audit });
    const next = row('b', 'one');
    await store.write({ put: [next], remove: [{ resource: 'guardrails', id: 'a' }], revision: revision(2), audit });
    expect(await store.rows()).toEqual([next]);
  });

  test('the same slug in another resource is another slug', async () => {
    const store = createConfigStore(await open());
    const put = [row('a', 'one'), row('a', 'one', { resource: 'integrations' })];
    await store.write({ put, remove: [], revision: revision(1), audit });
    expect(await store.rows()).toHaveLength(2);
  });

  test.each([
    ['its revision is taken', { put: [row('b', 'two')], remove: [], revision: revision(1), audit }],
    ['a slug is taken', { put: [row('b', 'two'), row('c', 'one')], remove: [], revision: revision(2), audit }],
  ])('a write of which %s writes nothing at all', async (_name, change) => {
    const store = createConfigStore(await open());
    await store.write({ put: [row('a', 'one')], remove: [], revision: revision(1), audit });
    await expect(store.write(change)).rejects.toThrow();
    expect(await store.rows()).toEqual([row('a', 'one')]);
    expect(await store.newest()).toBe(1);
  });

  test('pages through revisions from the newest, without what they hold', async () => {
    const store = createConfigStore(await open());
    for (let number = 1; number <= 5; number += 1)
      await store.write({ put: [], remove: [], revision: revision(number), audit });
    expect((await store.revisions(2, undefined)).map(({ number }) => number)).toEqual([5, 4]);
    expect((await store.revisions(9, 4)).map(({ number }) => number)).toEqual([3, 2, 1]);
    expect(await store.revisions(1, undefined)).toEqual([expect.not.objectContaining({ config: expect.anything() })]);
    expect(await store.revision(3)).toEqual(revision(3));
    expect(await store.revision(6)).toBeUndefined();
  });

  test('remembers one outcome of a reload', async () => {
    const store = createConfigStore(await open());
    expect(await store.runtime()).toBeUndefined();
    for (const at of [1, 2]) await store.setRuntime({ status: 'reloaded', message: 'live', error: null, at });
    expect(await store.runtime()).toMatchObject({ status: 'reloaded', message: 'live', error: null, at: 2 });
  });
});
