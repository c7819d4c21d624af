import { describe, expect, test } from 'vitest';
import { createStorePool, type StoreConfig } from '../../src/engine/stores/index.ts';
import { adminOf } from '../admin/support.ts';
import { endOf, textsOf } from '../runs/support.ts';
import { createTestApp, tempFolder } from '../support/app.ts';
import { GRAPH_FILES, IMPORTS } from '../support/graphs.ts';
import { LASTING, MEMORIES } from '../support/memories.ts';
import { PASSWORD } from '../support/postgres-cluster.ts';
import { runEvents, runInput } from '../support/runs.ts';

/** Remembers what each user says across threads, and tells it when asked. */
const REMEMBERS = `${IMPORTS}
import { currentUser } from 'agent-engine-server/agent';
const nodes = new StateGraph(MessagesAnnotation)
  .addNode('work', async (state, { store }) => {
    const said = state.messages.at(-1).content;
    const place = ['notes', currentUser()];
    if (said !== 'tell') await store.put(place, said, { text: said });
    const kept = await store.search(place);
    return { messages: [new AIMessage(kept.map(({ key }) => key).toSorted().join('+'))] };
  }).addEdge(START, 'work').addEdge('work', END);
export const graph = nodes;
export const compiled = nodes.compile();
export const made = ({ store, checkpointer }) => nodes.compile({ store, checkpointer });
`;

const as = (user: string) => ({ 'x-service-user-id': user });

/** A configuration file whose agent has a store. */
const config = (store: object, definition = 'agent.ts:graph', checkpointer: object = { type: 'memory' }): string =>
  JSON.stringify({
    agent: { type: 'LANGGRAPH', config: { name: 'keeper', graph_definition: definition, checkpointer, store } },
  });

describe.each(MEMORIES)('a store of kind %s', (_, make) => {
  const open = async () => createStorePool(tempFolder()).acquire((await make()) as StoreConfig);

  test('keeps, replaces and forgets items', async () => {
    const { store, release } = await open();
    const before = Date.now();
    await store.put(['users', 'ana'], 'tea', { likes: true, how: { sugar: 0, 'with\u0000': 'ünï' } });
    const item = await store.get(['users', 'ana'], 'tea');
    expect(item).toMatchObject({
      namespace: ['users', 'ana'],
      key: 'tea',
      value: { likes: true, how: { sugar: 0, 'with\u0000': 'ünï' } },
    });
    expect(item?.createdAt).toEqual(item?.updatedAt);
    expect(item?.createdAt.getTime()).toBeGreaterThanOrEqual(before);
    await store.put(['users', 'ana'], 'tea', { likes: false });
    const replaced = await store.get(['users', 'ana'], 'tea');
    expect([replaced?.value, replaced?.createdAt]).toEqual([{ likes: false }, item?.createdAt]);
    await store.delete(['users', 'ana'], 'tea');
    await store.delete(['users', 'ana'], 'tea');
    expect(await store.get(['users', 'ana'], 'tea')).toBeNull();
    await release();
  });

  test('finds what is under a namespace and nothing of its neighbours', async () => {
    const { store, release } = await open();
    for (const user of ['1', '10', '1_', '1%', '1:x', 'é', '1/']) await store.put(['users', user], 'k', { user });
    await store.put(['users', '1', 'deep'], 'k', { user: '1' });
    await store.put(['users'], '1', { user: 'nobody' });
    const found = async (prefix: string[]) => (await store.search(prefix)).map(({ namespace }) => namespace.join(' '));
    expect((await found(['users', '1'])).toSorted()).toEqual(['users 1', 'users 1 deep']);
    expect(await found(['users', '10'])).toEqual(['users 10']);
    expect(await found(['users', 'é'])).toEqual(['users é']);
    expect(await found(['user'])).toEqual([]);
    expect(await found([])).toHaveLength(9);
    expect(await store.get(['users:1'], 'x')).toBeNull();
    await release();
  });

  test('filters, limits and pages, and shows what was written last first', async () => {
    const { store, release } = await open();
    for (let n = 0; n < 250; n += 1) await store.put(['n'], `k${n}`, { n, even: n % 2 === 0, tag: { a: [n % 3] } });
    const keys = async (options: object) => (await store.search(['n'], options)).map(({ key }) => key).toSorted();
    expect(await keys({})).toHaveLength(10);
    expect(await keys({ filter: { n: 7 } })).toEqual(['k7']);
    expect(await keys({ filter: { n: { $gte: 100, $lt: 103 } } })).toEqual(['k100', 'k101', 'k102']);
    expect(await keys({ filter: { even: true, n: { $gt: 245 } } })).toEqual(['k246', 'k248']);
    expect(await keys({ filter: { n: { $in: [1, 2] } } })).toEqual(['k1', 'k2']);
    expect(await keys({ filter: { n: { $lt: 3 }, even: { $ne: true } } })).toEqual(['k1']);
    expect(await keys({ filter: { tag: { a: [0] }, n: { $lt: 4 } } })).toEqual(['k0', 'k3']);
    expect(await keys({ filter: { even: true }, limit: 100, offset: 100 })).toHaveLength(25);
    expect(await keys({ filter: { none: 1 } })).toEqual([]);
    const pages = [];
    for (let offset = 0; offset < 250; offset += 60) pages.push(...(await keys({ limit: 60, offset })));
    expect(new Set(pages).size).toBe(250);
    await expect(store.search(['n'], { filter: { n: { $near: 1 } } })).rejects.toThrow(/no operator \$near/);
    await expect(store.search(['n'], { query: 'something like it' })).rejects.toThrow(/no search by meaning/);
    const written = Date.now();
    await expect.poll(() => Date.now()).toBeGreaterThan(written);
    await store.put(['n'], 'k3', { n: 3 });
    expect((await store.search(['n'], { limit: 1 }))[0]?.key).toBe('k3');
    await release();
  });

  test('lists namespaces by prefix, suffix, wildcard and depth', async () => {
    const { store, release } = await open();
    for (const labels of [['a', 'b', 'v1'], ['a', 'c', 'v1'], ['a', 'c', 'v2'], ['ab', 'c'], ['d']]) {
      await store.put(labels, 'k', {});
      await store.put(labels, 'l', {});
    }
    const list = async (options: object) => (await store.listNamespaces(options)).map((labels) => labels.join(' '));
    expect(await list({})).toEqual(['a b v1', 'a c v1', 'a c v2', 'ab c', 'd']);
    expect(await list({ prefix: ['a'] })).toEqual(['a b v1', 'a c v1', 'a c v2']);
    expect(await list({ prefix: ['a', '*', 'v1'] })).toEqual(['a b v1', 'a c v1']);
    expect(await list({ suffix: ['v1'] })).toEqual(['a b v1', 'a c v1']);
    expect(await list({ maxDepth: 2 })).toEqual(['a b', 'a c', 'ab c', 'd']);
    expect(await list({ limit: 2, offset: 1 })).toEqual(['a c v1', 'a c v2']);
    await release();
  });

  test('refuses names nobody could find again', async () => {
    const { store, release } = await open();
    for (const labels of [[], [''], ['a.b'], ['langgraph', 'x']]) {
      await expect(store.put(labels, 'k', {}), labels.join()).rejects.toThrow(/[Nn]amespace/);
      // As LangGraph calls it in a run, past the checks of the base class.
      const operation = { namespace: labels, key: 'k', value: {} };
      await expect(store.batch([operation]), labels.join()).rejects.toThrow(/[Nn]amespace/);
    }
    await release();
  });

  test.each(['graph', 'compiled', 'made'])('is what a graph asks for (%s)', async (definition) => {
    const root = tempFolder({ ...GRAPH_FILES, 'agent.ts': REMEMBERS });
    const server = await createTestApp({
      root,
      files: { 'config.yaml': config(await make(), `agent.ts:${definition}`) },
    });
    const base = await server.listen();
    await runEvents(server.app, runInput('tea', { threadId: 'one' }), as('1'));
    await runEvents(server.app, runInput('beer', { threadId: 'two' }), as('10'));
    await runEvents(server.app, runInput('cake', { threadId: 'three' }), as('1'));
    await runEvents(server.app, runInput('tell', { threadId: 'four' }), as('1'));
    const read = await fetch(`${base}/agent/sessions/four`, { headers: as('1') });
    expect(JSON.stringify(await read.json())).toContain('cake+tea');
    // Across a reload, and deleting the thread does not delete what was remembered.
    expect(
      (await server.app.inject({ method: 'DELETE', url: '/agent/sessions/one', headers: as('1') })).statusCode,
    ).toBe(200);
    expect((await server.app.inject({ method: 'POST', url: '/reload' })).statusCode).toBe(200);
    await runEvents(server.app, runInput('tell', { threadId: 'five' }));
    expect(await textsOf(base, 'five')).toEqual(['tell']);
    await runEvents(server.app, runInput('tell', { threadId: 'six' }), as('1'));
    const after = await fetch(`${base}/agent/sessions/six`, { headers: as('1') });
    expect(JSON.stringify(await after.json())).toContain('cake+tea');
  });
});

test.each(LASTING)(
  'what was remembered survives a restart, in the database of the conversations (%s)',
  async (_, make) => {
    const database = await make();
    const options = {
      root: tempFolder({
        ...GRAPH_FILES,
        'agent.ts': REMEMBERS,
        'config.yaml': config(database, 'agent.ts:graph', database),
      }),
    };
    const first = await createTestApp(options);
    await runEvents(first.app, runInput('tea', { threadId: 'one' }));
    await first.app.close();
    const second = await createTestApp(options);
    expect(endOf(await runEvents(second.app, runInput('cake', { threadId: 'two' })))).toBe('success');
    const base = await second.listen();
    expect(await textsOf(base, 'two')).toEqual(['cake', 'cake+tea']);
    const admin = adminOf(second.app);
    const shown = [
      (await second.app.inject('/agent/config')).json(),
      await admin.get('/agent'),
      await admin.get('/config/export'),
    ];
    expect(JSON.stringify([shown, second.logs])).not.toContain(PASSWORD);
  },
);

test('a store that cannot be opened is a boot error that says which and why', async () => {
  for (const [store, reason] of [
    [{ type: 'sqlite', db_url: 'sqlite:///notes.txt' }, /sqlite store cannot be opened/],
    [{ type: 'postgres', db_url: `postgres://me:${PASSWORD}@127.0.0.1:1/x` }, /connection was refused/],
  ] as const) {
    const server = await createTestApp({
      root: tempFolder(),
      files: {
        ...GRAPH_FILES,
        'agent.ts': REMEMBERS,
        'notes.txt': 'no database '.repeat(200),
        'config.yaml': config(store),
      },
    });
    const health = (await server.app.inject('/health')).json();
    expect(JSON.stringify(health)).toMatch(reason);
    expect(JSON.stringify([health, server.logs])).not.toContain(PASSWORD);
  }
});
