import { expect, test } from 'vitest';
import { writeFiles } from '../support/app.ts';
import { createGate, type Gate, until } from '../support/gates.ts';
import { GRAPH_FILES, IMPORTS } from '../support/graphs.ts';
import { randomFrom } from '../support/random.ts';
import { runInput, textOf } from '../support/runs.ts';
import { type OpenStream, openRun, terminal } from '../support/streams.ts';
import { type Admin, type Answer, banList, guardrail, type Json, ref, withAgent } from './support.ts';

const STREAMS = 50;
const WRITES = 30;
const PROMPTS = ['greeting', 'farewell'];

/**
 * `count a b …` waits at each of these gates for its next token; to anything else it tells what it was built from.
 * Building it takes some turns of the loop, in which other writes could get in between.
 */
const AGENT = `${IMPORTS}
export const graph = async (context) => {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  const prompts = ${JSON.stringify(PROMPTS)}.flatMap((id) => Array.from({ length: 40 }, (_, at) => context.prompts.get(id, { version: at + 1 })));
  const built = { prompts: prompts.filter(Boolean), memory: context.checkpointer?.db?.name ?? null };
  return new StateGraph(MessagesAnnotation)
    .addNode('model', async (state) => {
      const asked = String(state.messages.at(-1).content);
      if (!asked.startsWith('count ')) return { messages: [new AIMessage(JSON.stringify(built))] };
      const gates = asked.split(' ').slice(1);
      let at = 0;
      const gate = async () => { await globalThis.testGates.pass(gates[at]); at += 1; };
      return { messages: [await new ScriptedModel([gates.map((_, n) => 'token-' + n + ' ')], { gate }).invoke(state.messages)] };
    })
    .addEdge(START, 'model')
    .addEdge('model', END);
};
`;

type Server = Awaited<ReturnType<typeof withAgent>>;

/** What should be configured, as the routes tell it. */
interface Expected {
  guardrails: Json[];
  prompts: Json[];
  memory: Json | null;
  description: string | null;
  revision: number;
}

/** A write and what it makes of the configuration once it was acknowledged. */
interface Writing {
  what: string;
  send(): Promise<Answer>;
  /** @param data what the server says it has written. */
  apply(expected: Expected, data: Json): Expected;
  /** What the record must then say. */
  body: object;
}

/** A server whose streams advance by one token with each of `steps` gates. */
async function withStreams(steps: number): Promise<Server & { steps: Gate[]; open(): Promise<OpenStream> }> {
  const server = await withAgent({ files: { ...GRAPH_FILES, 'agent.ts': AGENT } });
  const base = await server.listen();
  const gates = Array.from({ length: steps }, createGate);
  const text = `count ${gates.map(({ name }) => name).join(' ')}`;
  return { ...server, steps: gates, open: () => openRun(base, runInput(text)) };
}

const begun = (streams: OpenStream[]): Promise<unknown> =>
  Promise.all(streams.map((stream) => stream.event(({ type }) => type === 'RUN_STARTED')));

async function expectWhole(streams: OpenStream[], tokens: number): Promise<void> {
  const text = Array.from({ length: tokens }, (_, n) => `token-${n} `).join('');
  for (const stream of streams) {
    const events = await stream.all();
    expect(terminal(events)).toMatchObject([{ type: 'RUN_FINISHED' }]);
    expect(textOf(events)).toBe(text);
  }
}

const invoke = (admin: Admin, query: string): Promise<Answer> =>
  admin.post('//agent/invoke', { query, session_id: `s-${query}` });

const byId = (rows: Json[]): Json[] => rows.toSorted((left, right) => (left.id < right.id ? -1 : 1));

async function stored(admin: Admin): Promise<Expected> {
  const [guardrails, prompts, memory, agent] = await Promise.all(
    ['/guardrails', '/prompts', '/memory', '/agent'].map((path) => admin.get(path)),
  );
  return {
    guardrails: byId(guardrails?.body),
    prompts: byId(prompts?.body),
    memory: memory?.status === 404 ? null : memory?.body,
    description: agent?.body.description,
    revision: await admin.revision(),
  };
}

const wordsOf = (rail: Json): string[] => rail.guardrail.banned_words;

/** Compares the engine in service, and what is materialized, to what should be configured. */
async function expectLive({ admin, root }: Server, expected: Expected, words: Iterable<string>): Promise<void> {
  const banned = new Set(expected.guardrails.filter(({ enabled }) => enabled).flatMap(wordsOf));
  for (const word of words) expect((await invoke(admin, word)).status, word).toBe(banned.has(word) ? 429 : 200);
  const built = JSON.parse((await invoke(admin, 'tell')).body.response) as Json;
  const key = ({ promptId, version }: Json): string => `${promptId} ${String(version).padStart(3, '0')}`;
  const sorted = (rows: Json[]): Json[] => rows.toSorted((left, right) => (key(left) < key(right) ? -1 : 1));
  expect(sorted(built.prompts)).toMatchObject(
    sorted(expected.prompts).map(({ promptId, version, content, tags }) => ({ promptId, version, content, tags })),
  );
  expect(built.prompts).toHaveLength(expected.prompts.length);
  expect(built.memory).toBe(
    expected.memory === null ? null : expected.memory.memory.db_url.replace('sqlite:///.', root),
  );
  const { config, revision } = (await admin.get('/config/materialized')).body;
  expect(revision).toBe(expected.revision);
  const input = (config.guardrails?.input ?? []) as Json[];
  expect(new Set(input.flatMap(({ banned_words }) => banned_words))).toEqual(banned);
  expect(config.agent.config.checkpointer ?? null).toEqual(expected.memory?.memory ?? null);
}

/** One of the writes that are possible now. @param n makes its names and words its own. */
function randomWrite(admin: Admin, now: Expected, random: () => number, n: number): Writing {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const replace = (rows: Json[], data: Json): Json[] => byId([...rows.filter(({ id }) => id !== data.id), data]);
  const rails = (what: string, send: Writing['send'], body: object): Writing => ({
    what: `${what} a guardrail`,
    send,
    body,
    apply: (state, data) => ({ ...state, guardrails: replace(state.guardrails, data) }),
  });
  const prompts = (what: string, send: Writing['send'], body: object): Writing => ({
    what: `${what} a prompt`,
    send,
    body,
    apply: (state, data) => ({ ...state, prompts: replace(state.prompts, data) }),
  });
  const taken = (name: 'guardrails' | 'prompts', { id }: Json): Writing => ({
    what: `delete of ${name}`,
    send: () => admin.del(`/${name}/${id}`),
    body: { id, deleted: true },
    apply: (state) => ({ ...state, [name]: state[name].filter((row) => row.id !== id) }),
  });
  const rail = pick(now.guardrails);
  const prompt = pick(now.prompts);
  const railBody = guardrail(`rail ${n}`, [`word${n}`], { sortOrder: Math.floor(random() * 5) });
  const railPatch = pick([{ enabled: random() < 0.5 }, { guardrail: banList([`word${n}`]) }, { sortOrder: n }]);
  const promptBody = { promptId: pick(PROMPTS), content: `text ${n}`, tags: [`tag${n}`] };
  const memoryBody = {
    agentFramework: 'LANGGRAPH',
    memory: { type: 'sqlite', db_url: `sqlite:///./${pick(['a', 'b', 'c'])}.db` },
  };
  const description = { description: `version ${n}` };
  const possible: Writing[] = [
    rails('create of', () => admin.post('/guardrails', railBody), railBody),
    prompts('create of', () => admin.post('/prompts', promptBody), promptBody),
    {
      what: 'memory',
      send: () => admin.patch('/memory', memoryBody),
      body: memoryBody,
      apply: (state, memory) => ({ ...state, memory }),
    },
    {
      what: 'description',
      send: () => admin.patch('/agent', description),
      body: description,
      apply: (state) => ({ ...state, ...description }),
    },
  ];
  if (rail !== undefined) {
    possible.push(rails('patch of', () => admin.patch(`/guardrails/${rail.id}`, railPatch), railPatch));
    possible.push(taken('guardrails', rail));
  }
  if (prompt !== undefined) {
    const tags = { tags: [`tag${n}`] };
    possible.push(prompts('patch of', () => admin.patch(`/prompts/${prompt.id}`, tags), tags));
    possible.push(taken('prompts', prompt));
  }
  return pick(possible);
}

/** Ways for a write not to become an agent: each sends one and gives the answer. */
const FAULTS: ((server: Server, write: Writing) => Promise<Answer>)[] = [
  async ({ root }, write) => {
    writeFiles(root, { 'agent.ts': 'throw new Error("broken");' });
    const answer = await write.send();
    writeFiles(root, { 'agent.ts': AGENT });
    return answer;
  },
  ({ admin }) => admin.patch('/memory', sqlite('sqlite:///./agent.ts/nowhere.db')),
  ({ admin }) => admin.patch('/memory', sqlite(ref('UNHEARD_OF'))),
  ({ admin }) => admin.patch('/memory', sqlite('sqlite:////proc/nowhere/x.db')),
];
const sqlite = (db_url: string) => ({ agentFramework: 'LANGGRAPH', memory: { type: 'sqlite', db_url } });

test.each([1, 2, 3])(
  '50 streams through 30 random writes, ten of which fail (seed %i)',
  async (seed) => {
    const random = randomFrom(seed);
    const server = await withStreams(WRITES + 1);
    const { admin, steps, open, logs } = server;
    const streams = await Promise.all(Array.from({ length: STREAMS }, open));
    await begun(streams);
    const fails = new Set<number>();
    while (fails.size < WRITES / 3) fails.add(Math.floor(random() * WRITES));
    const words = new Set<string>();
    let expected = await stored(admin);
    let generation = 1;
    for (const [n, step] of steps.slice(1).entries()) {
      const write = randomWrite(admin, expected, random, n);
      const fault = FAULTS[Math.floor(random() * FAULTS.length)] as (typeof FAULTS)[number];
      const what = `write ${n}: ${write.what}${fails.has(n) ? ', to fail' : ''}`;
      // A token of every stream, and a stream that begins, while the write is under way.
      step.open();
      const [answer, late] = await Promise.all([fails.has(n) ? fault(server, write) : write.send(), open()]);
      streams.push(late);
      if (fails.has(n)) {
        expect(answer, what).toMatchObject({ status: 422, body: { error: { code: expect.any(String) } } });
      } else {
        expect([200, 201], `${what}: ${JSON.stringify(answer.body)}`).toContain(answer.status);
        expect(answer.body.data, what).toMatchObject(write.body);
        expected = { ...write.apply(expected, answer.body.data), revision: expected.revision + 1 };
        generation += 1;
        expect(answer.headers.etag, what).toBe(`"${expected.revision}"`);
      }
      for (const rail of expected.guardrails) for (const word of wordsOf(rail)) words.add(word);
      words.add(`word${n}`);
      expect(await stored(admin), what).toEqual(expected);
      expect((await admin.get('/runtime/status')).body, what).toMatchObject({
        generation,
        lastStatus: fails.has(n) ? 'reload_failed' : 'reloaded',
      });
      if (fails.has(n) || n % 3 === 0 || n === WRITES - 1) await expectLive(server, expected, words);
    }
    await begun(streams);
    expect(streams.every(({ status }) => status === 200)).toBe(true);
    expect(streams.flatMap((stream) => terminal(stream.events()))).toEqual([]);
    steps[0]?.open();
    await expectWhole(streams, steps.length);
    expect(streams).toHaveLength(STREAMS + WRITES);
    // Every engine but the one in service is given back, and nothing else went wrong.
    await until(() => logs.filter(({ msg }) => msg === 'agent is closed').length === generation - 1, 'the closing');
    const errors = logs.filter(({ level }) => Number(level) >= 50).map(({ msg }) => msg);
    expect(new Set(errors)).toEqual(
      new Set(['a change of the configuration was refused; the previous agent keeps serving']),
    );
    expect(errors).toHaveLength(fails.size);
  },
  60_000,
);

test('an old revision is restored while streams run', async () => {
  const server = await withStreams(4);
  const { admin, steps, open } = server;
  const first = (await admin.post('/guardrails', guardrail('first', ['alpha']))).body.data;
  await admin.post('/prompts', { promptId: 'greeting', content: 'one' });
  await admin.patch('/memory', sqlite('sqlite:///./a.db'));
  const old = await stored(admin);
  const streams = await Promise.all(Array.from({ length: STREAMS }, open));
  await begun(streams);
  steps[0]?.open();
  await admin.patch(`/guardrails/${first.id}`, { guardrail: banList(['beta']) });
  await admin.post('/guardrails', guardrail('second', ['gamma']));
  await admin.post('/prompts', { promptId: 'greeting', content: 'two' });
  await admin.patch('/memory', sqlite('sqlite:///./b.db'));
  const young = await stored(admin);
  await expectLive(server, young, ['alpha', 'beta', 'gamma']);
  steps[1]?.open();
  const [restored, ...late] = await Promise.all([admin.post(`/revisions/${old.revision}/restore`), open(), open()]);
  expect(restored).toMatchObject({ status: 200, body: { data: { revision: young.revision + 1 } } });
  expect(await stored(admin)).toEqual({ ...old, revision: young.revision + 1 });
  await expectLive(server, { ...old, revision: young.revision + 1 }, ['alpha', 'beta', 'gamma']);
  // Back again, with an agent that does not start: all stays as it is.
  writeFiles(server.root, { 'agent.ts': 'throw new Error("broken");' });
  steps[2]?.open();
  expect((await admin.post(`/revisions/${young.revision}/restore`)).status).toBe(422);
  expect(await stored(admin)).toEqual({ ...old, revision: young.revision + 1 });
  await expectLive(server, { ...old, revision: young.revision + 1 }, ['alpha', 'beta', 'gamma']);
  steps[3]?.open();
  await expectWhole([...streams, ...late], steps.length);
});

test('20 parallel creates of one prompt give versions 1 to 20 while streams run', async () => {
  const server = await withStreams(2);
  const { admin, steps, open } = server;
  const streams = await Promise.all(Array.from({ length: STREAMS }, open));
  await begun(streams);
  steps[0]?.open();
  const texts = Array.from({ length: 20 }, (_, n) => `text ${n}`);
  const made = await Promise.all(texts.map((content) => admin.post('/prompts', { promptId: 'greeting', content })));
  expect(made.map(({ status }) => status)).toEqual(texts.map(() => 201));
  expect(made.map(({ body }) => body.data.content)).toEqual(texts);
  const versions = made.map(({ body }) => body.data.version as number);
  expect(versions.toSorted((left, right) => left - right)).toEqual(texts.map((_, at) => at + 1));
  const expected = await stored(admin);
  expect(expected.prompts).toEqual(byId(made.map(({ body }) => body.data)));
  await expectLive(server, expected, []);
  steps[1]?.open();
  await expectWhole(streams, steps.length);
});
