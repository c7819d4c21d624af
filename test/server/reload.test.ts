import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ECHO } from '../support/agents.ts';
import { createTestApp, type TestApp, type TestAppOptions, tempFolder, writeFiles } from '../support/app.ts';
import { createGate, gatedAgent, until } from '../support/gates.ts';
import { ofType, runEvents, runInput, textOf } from '../support/runs.ts';
import { openRun, terminal } from '../support/streams.ts';

async function serve(options: TestAppOptions = {}): Promise<TestApp & { base: string }> {
  const server = await createTestApp({
    agent: 'agent.ts',
    ...options,
    files: { 'agent.ts': gatedAgent('v1'), ...options.files },
  });
  return { ...server, base: await server.listen() };
}

async function reload(base: string, body?: unknown): Promise<{ status: number; text: string; json: ReloadAnswer }> {
  const response = await fetch(`${base}/reload`, {
    method: 'POST',
    ...(body !== undefined && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  });
  const text = await response.text();
  return { status: response.status, text, json: JSON.parse(text) as ReloadAnswer };
}

interface ReloadAnswer {
  status?: string;
  message?: string;
  detail?: { loc: (string | number)[]; msg: string; type: string }[];
  error?: { code: string; message: string; fieldErrors?: { field: string; message: string }[] };
}

/** What the agent says that answers now. */
async function answerOf({ app }: Pick<TestApp, 'app'>, text = 'hi'): Promise<string> {
  return textOf(await runEvents(app, runInput(text)));
}

function closedGenerations({ logs }: Pick<TestApp, 'logs'>): number[] {
  return logs.filter(({ msg }) => msg === 'agent is closed').map(({ generation }) => Number(generation));
}

test('100 open streams and ten reloads: none lost or mixed, new runs get the new agent, old ones are closed', async () => {
  const server = await serve();
  const { base, root } = server;
  const gates = Array.from({ length: 11 }, () => createGate());
  const open: { version: number; text: string; stream: Awaited<ReturnType<typeof openRun>> }[] = [];
  const openTen = async (version: number): Promise<void> => {
    const gate = gates[version - 1];
    const inputs = Array.from({ length: 10 }, () => runInput(gate?.name ?? ''));
    const streams = await Promise.all(inputs.map((input) => openRun(base, input)));
    for (const stream of streams) open.push({ version, text: gate?.name ?? '', stream });
    await Promise.all(streams.map((stream) => stream.event(({ name }) => name === 'working')));
  };

  for (let version = 1; version <= 10; version += 1) {
    await openTen(version);
    writeFiles(root, { 'agent.ts': gatedAgent(`v${version + 1}`) });
    const answer = await reload(base);
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual({ status: 'success', message: expect.stringContaining(String(version + 1)) });
    expect(await answerOf(server)).toBe(`v${version + 1}: hi`);
  }
  expect(open).toHaveLength(100);
  expect(open.every(({ stream }) => terminal(stream.events()).length === 0)).toBe(true);
  // Every replaced engine still serves its ten.
  expect(closedGenerations(server)).toEqual([]);

  // The newest first, so that each closes for its own reason.
  for (let version = 10; version >= 1; version -= 1) {
    gates[version - 1]?.open();
    await until(() => closedGenerations(server).includes(version), `generation ${version} to be closed`);
    expect(closedGenerations(server)).toHaveLength(11 - version);
  }
  for (const { version, text, stream } of open) {
    const events = await stream.all();
    expect(ofType(events, 'CUSTOM').map(({ value }) => value)).toEqual([`v${version}`]);
    expect(textOf(events)).toBe(`v${version}: ${text}`);
    expect(events[0]?.type).toBe('RUN_STARTED');
    expect(terminal(events)).toEqual([events.at(-1)]);
    expect(events.at(-1)?.type).toBe('RUN_FINISHED');
  }
  expect(await answerOf(server)).toBe('v11: hi');
  expect(server.app.services.holder.current?.generation).toBe(11);
  // Nobody was closed twice, and the one that serves was not closed.
  expect(closedGenerations(server).sort((left, right) => left - right)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
});

test('an engine nobody uses is closed at once by a reload', async () => {
  const server = await serve();
  expect((await reload(server.base)).status).toBe(200);
  await until(() => closedGenerations(server).includes(1), 'generation 1', 1_000);
});

test('conversations in the process’s memory survive a reload', async () => {
  const server = await serve({ files: { 'agent.ts': ECHO } });
  const { app, base, root } = server;
  const input = runInput('before');
  await runEvents(app, input);
  writeFiles(root, { 'agent.ts': ECHO.replace('you said: ', 'now you say: ') });
  expect((await reload(base)).status).toBe(200);
  await until(() => closedGenerations(server).includes(1));
  const sessions = (await (await fetch(`${base}/agent/sessions`)).json()) as { id: string }[];
  expect(sessions.map(({ id }) => id)).toEqual([input.threadId]);
  await runEvents(app, runInput('after', { threadId: input.threadId }));
  const detail = (await (await fetch(`${base}/agent/sessions/${input.threadId}`)).json()) as {
    messages: { content: string }[];
  };
  expect(detail.messages.map(({ content }) => content)).toEqual([
    'before',
    'you said: before',
    'after',
    'now you say: after',
  ]);
});

test('a question asked before a reload can be answered after it', async () => {
  const agent = `
import { END, MessagesAnnotation, START, StateGraph, interrupt } from '@langchain/langgraph';
import { AIMessage } from '@langchain/core/messages';
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('work', () => ({ messages: [new AIMessage('LABEL ' + interrupt('sure?'))] }))
  .addEdge(START, 'work').addEdge('work', END);`;
  const { app, base, root } = await serve({ files: { 'agent.ts': agent.replace('LABEL', 'v1') } });
  const input = runInput('go');
  const asked = await runEvents(app, input);
  const { outcome } = asked.at(-1) as unknown as { outcome: { type: string; interrupts: { id: string }[] } };
  expect(outcome.type).toBe('interrupt');
  writeFiles(root, { 'agent.ts': agent.replace('LABEL', 'v2') });
  expect((await reload(base)).status).toBe(200);
  const answered = await runEvents(
    app,
    runInput('', {
      threadId: input.threadId,
      messages: [],
      resume: [{ interruptId: outcome.interrupts[0]?.id ?? '', status: 'resolved', payload: 'yes' }],
    }),
  );
  expect(textOf(answered)).toBe('v2 yes');
});

const SYNTAX_ERROR = 'const a = 1;\nexport const graph = (;\n';

test.each([
  ['a syntax error', { 'agent.ts': SYNTAX_ERROR }, /agent\.ts.*line 2/],
  ['no agent in it', { 'agent.ts': 'export const helper = 1;' }, /exports no agent/],
  ['code that throws', { 'agent.ts': "\n\nthrow new Error('planted-secret');" }, /line 3/],
  [
    'a graph that cannot be compiled',
    { 'agent.ts': ECHO.replace(".addEdge('echo', END)", ".addEdge('echo', 'nowhere')") },
    /could not be started|nowhere|agent\.ts/,
  ],
  [
    'a factory that throws',
    { 'agent.ts': "export default () => { throw new Error('planted-secret'); };" },
    /agent\.ts/,
  ],
])('a reload that meets %s is a 422 reload_failed, and the old agent keeps serving', async (_name, files, reason) => {
  const server = await serve();
  writeFiles(server.root, files);
  const { status, json, text } = await reload(server.base);
  expect(status).toBe(422);
  expect(json.error).toMatchObject({ code: 'reload_failed', message: expect.stringMatching(reason) });
  expect(json.detail).toEqual([{ loc: ['body'], msg: expect.stringMatching(reason), type: expect.any(String) }]);
  expect(text).not.toContain('planted-secret');
  expect(text).not.toContain(server.root);
  expect(await answerOf(server)).toBe('v1: hi');
  const health = (await (await fetch(`${server.base}/health`)).json()) as object;
  expect(health).toMatchObject({ status: 'ok', agent_ready: true });
  expect(health).not.toHaveProperty('reason');

  writeFiles(server.root, { 'agent.ts': gatedAgent('mended') });
  expect((await reload(server.base)).status).toBe(200);
  expect(await answerOf(server)).toBe('mended: hi');
});

test('a named export that is gone is a 422 reload_failed that lists what there is', async () => {
  const server = await serve({ agent: 'agent.ts:graph' });
  writeFiles(server.root, { 'agent.ts': gatedAgent('v2').replace('const graph', 'const flow') });
  const { status, json } = await reload(server.base);
  expect(status).toBe(422);
  expect(json.error).toMatchObject({ code: 'reload_failed', message: expect.stringMatching(/graph.*flow/) });
  expect(await answerOf(server)).toBe('v1: hi');
});

const CONFIG = (more = ''): string => `agent:
  type: LANGGRAPH
  config:
    name: desk
    graph_definition: agent.ts:graph
${more}`;

async function serveConfig(files: Record<string, string> = {}, env: Record<string, string> = {}) {
  const server = await createTestApp({
    files: { 'agent.ts': gatedAgent('v1'), 'config.yaml': CONFIG(), ...files },
    env,
  });
  return { ...server, base: await server.listen() };
}

test.each([
  ['YAML that cannot be read', 'agent: [\n', /config\.yaml/, undefined],
  ['a key given twice', `${CONFIG()}agent: {}\n`, /line 6/, undefined],
  [
    'a missing field',
    'agent:\n  type: LANGGRAPH\n  config:\n    graph_definition: agent.ts\n',
    /name/,
    ['config', 'agent', 'config', 'name'],
  ],
  ['a value of a wrong type', CONFIG('prompts: 5\n'), /prompts/, ['config', 'prompts']],
  [
    'a variable that is not set',
    CONFIG(`prompts: [{ prompt_id: "\${NOT_SET_ANYWHERE}", version: 1, content: x }]\n`),
    /NOT_SET_ANYWHERE/,
    undefined,
  ],
  ['nothing at all', '', /config\.yaml/, undefined],
])(
  'a configuration with %s is a 422 validation_failed, and the old agent keeps serving',
  async (_name, text, reason, loc) => {
    const server = await serveConfig();
    writeFiles(server.root, { 'config.yaml': text });
    const { status, json, text: body } = await reload(server.base, { path: 'config.yaml' });
    expect(status).toBe(422);
    expect(json.error).toMatchObject({ code: 'validation_failed', message: expect.stringMatching(reason) });
    expect(json.detail?.length).toBeGreaterThan(0);
    for (const fault of json.detail ?? []) {
      expect(Object.keys(fault).sort()).toEqual(['loc', 'msg', 'type']);
      expect(fault.msg).not.toBe('');
    }
    if (loc !== undefined) expect(json.detail?.map((fault) => fault.loc)).toContainEqual(loc);
    expect(body).not.toContain(server.root);
    expect(await answerOf(server)).toBe('v1: hi');
    writeFiles(server.root, { 'agent.ts': gatedAgent('mended'), 'config.yaml': CONFIG() });
    expect((await reload(server.base, { path: 'config.yaml' })).status).toBe(200);
    expect(await answerOf(server)).toBe('mended: hi');
  },
);

test('a configuration file that is gone is a 422 when it is named, and the old agent keeps serving', async () => {
  const server = await serveConfig();
  rmSync(join(server.root, 'config.yaml'));
  expect((await reload(server.base)).status).toBe(200);
  const { status } = await reload(server.base, { path: 'config.yaml' });
  expect(status).toBe(422);
  expect(await answerOf(server)).toBe('v1: hi');
});

test('a reload brings an unconfigured or broken server into service', async () => {
  for (const files of [{}, { 'config.yaml': CONFIG(), 'agent.ts': SYNTAX_ERROR }]) {
    const server = await createTestApp({ files });
    const base = await server.listen();
    expect((await fetch(`${base}/health?strict=1`)).status).toBe(503);
    const failed = await reload(base);
    expect(failed.status).toBe(422);
    writeFiles(server.root, { 'config.yaml': CONFIG(), 'agent.ts': gatedAgent('v1') });
    expect((await reload(base)).status).toBe(200);
    const health = (await (await fetch(`${base}/health?strict=1`)).json()) as object;
    expect(health).toMatchObject({ status: 'ok', agent_ready: true, agent_name: 'desk' });
    expect(health).not.toHaveProperty('reason');
    expect(await answerOf(server)).toBe('v1: hi');
  }
});

test('reloads asked for at once are done one after another, each with an agent of its own', async () => {
  const agent = `
const depth = (globalThis.testBuilds ??= { now: 0, most: 0, count: 0 });
depth.now += 1; depth.count += 1; depth.most = Math.max(depth.most, depth.now);
await new Promise((resolve) => setTimeout(resolve, 10));
depth.now -= 1;
${gatedAgent('any')}`;
  const server = await serve({ files: { 'agent.ts': agent } });
  const answers = await Promise.all(Array.from({ length: 8 }, () => reload(server.base)));
  expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200));
  expect(new Set(answers.map(({ json }) => json.message)).size).toBe(8);
  const { testBuilds } = globalThis as unknown as { testBuilds: { most: number; count: number } };
  expect(testBuilds).toMatchObject({ most: 1, count: 9 });
  await until(() => closedGenerations(server).length === 8);
  expect(server.app.services.holder.current?.generation).toBe(9);
});

test('a failed reload among good ones fails alone', async () => {
  const server = await serveConfig({ 'broken.yaml': 'agent: {}' });
  const answers = await Promise.all([
    reload(server.base),
    reload(server.base, { path: 'broken.yaml' }),
    reload(server.base),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([200, 422, 200]);
  expect(await answerOf(server)).toBe('v1: hi');
});

test('runs are answered while a slow agent is being built', async () => {
  const server = await serve();
  const gate = createGate();
  writeFiles(server.root, { 'agent.ts': `await globalThis.testGates.pass('${gate.name}');\n${gatedAgent('v2')}` });
  const reloading = reload(server.base);
  await until(() => gate.arrived === 1);
  expect(await answerOf(server)).toBe('v1: hi');
  gate.open();
  expect((await reloading).status).toBe(200);
  expect(await answerOf(server)).toBe('v2: hi');
});

test.each([undefined, null, {}, { path: null }, { unknown: 1 }])(
  'the body %j reloads what is configured',
  async (body) => {
    const server = await serveConfig();
    expect((await reload(server.base, body)).status).toBe(200);
    expect(server.app.services.holder.current?.generation).toBe(2);
  },
);

test('an empty body that calls itself JSON counts as none', async () => {
  const server = await serveConfig();
  const response = await fetch(`${server.base}/reload`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
  });
  expect(response.status).toBe(200);
});

test('a path inside the configuration’s folder is loaded from then on', async () => {
  const server = await serveConfig({
    'other.yaml': CONFIG().replace('agent.ts', 'other.ts'),
    'other.ts': gatedAgent('other'),
  });
  expect((await reload(server.base, { path: 'other.yaml' })).status).toBe(200);
  expect(await answerOf(server)).toBe('other: hi');
  writeFiles(server.root, { 'other.ts': gatedAgent('other again') });
  expect((await reload(server.base)).status).toBe(200);
  expect(await answerOf(server)).toBe('other again: hi');
});

test('a path in a folder below, and an absolute path inside, are loaded', async () => {
  const server = await serveConfig();
  mkdirSync(join(server.root, 'deep'));
  writeFileSync(join(server.root, 'deep/config.yaml'), CONFIG());
  expect((await reload(server.base, { path: 'deep/config.yaml' })).status).toBe(200);
  expect((await reload(server.base, { path: './deep/../config.yaml' })).status).toBe(200);
  expect((await reload(server.base, { path: join(server.root, 'config.yaml') })).status).toBe(200);
});

test('a failed path does not become the configuration', async () => {
  const server = await serveConfig({ 'bad.yaml': CONFIG().replace('agent.ts', 'missing.ts') });
  const { status, json } = await reload(server.base, { path: 'bad.yaml' });
  expect(status).toBe(422);
  expect(json.error?.code).toBe('reload_failed');
  expect(json.detail?.[0]?.loc).toEqual(['body', 'path']);
  expect((await reload(server.base)).status).toBe(200);
  expect(await answerOf(server)).toBe('v1: hi');
});

test('a path outside the configuration’s folder is a 422 that tells nothing of what is there', async () => {
  const outside = tempFolder({ 'secret.yaml': CONFIG('planted: secret\n') });
  const server = await serveConfig();
  mkdirSync(join(server.root, 'sub'));
  symlinkSync(join(outside, 'secret.yaml'), join(server.root, 'link.yaml'));
  symlinkSync(outside, join(server.root, 'linked'));
  const paths = [
    '../secret.yaml',
    '../../../../../../etc/passwd',
    '/etc/passwd',
    join(outside, 'secret.yaml'),
    'link.yaml',
    'linked/secret.yaml',
    'sub/../../x.yaml',
    'missing.yaml',
    'config.yaml/x',
    '.',
    '..',
    'con\0fig.yaml',
    `${server.root}-other/config.yaml`,
  ];
  const bodies = new Set<string>();
  for (const path of paths) {
    const { status, json, text } = await reload(server.base, { path });
    expect(status, path).toBe(422);
    expect(json.error?.code, path).toBe('validation_failed');
    expect(json.detail?.[0]?.loc, path).toEqual(['body', 'path']);
    expect(text).not.toContain('planted');
    expect(text).not.toContain(outside);
    bodies.add(text);
  }
  // A file that is there and one that is not get the same answer.
  expect(bodies.size).toBe(1);
  expect(server.app.services.holder.current?.generation).toBe(1);
});

test.each([[{ path: '' }], [{ path: 5 }], ['config.yaml'], [[]]])(
  'the body %j is a 422 with its place',
  async (body) => {
    const server = await serveConfig();
    const { status, json } = await reload(server.base, body);
    expect(status).toBe(422);
    expect(json.error?.code).toBe('validation_failed');
    expect(json.detail?.[0]?.loc[0]).toBe('body');
  },
);

test('streams that outlive the drain time end with SHUTTING_DOWN, and the new agent is not disturbed', async () => {
  const server = await serve({ env: { SERVICE_DRAIN_TIMEOUT_SECONDS: '1' } });
  const gate = createGate();
  const input = runInput(gate.name);
  const old = await openRun(server.base, input);
  await old.event(({ name }) => name === 'working');
  writeFiles(server.root, { 'agent.ts': gatedAgent('v2') });
  const startedAt = performance.now();
  expect((await reload(server.base)).status).toBe(200);
  expect(performance.now() - startedAt).toBeLessThan(900);
  const fresh = createGate();
  const young = await openRun(server.base, runInput(fresh.name));
  const events = await old.all();
  expect(performance.now() - startedAt).toBeGreaterThan(950);
  expect(terminal(events)).toEqual([events.at(-1)]);
  expect(events.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'SHUTTING_DOWN' });
  await until(() => closedGenerations(server).includes(1));
  fresh.open();
  expect(textOf(await young.all())).toBe(`v2: ${fresh.name}`);
  // The thread of the cut run is free again.
  expect(textOf(await runEvents(server.app, runInput('again', { threadId: input.threadId })))).toBe('v2: again');
});

test('with no drain time at all the streams of the old agent end at once, in order', async () => {
  const server = await serve({ env: { SERVICE_DRAIN_TIMEOUT_SECONDS: '0' } });
  const gate = createGate();
  const streams = await Promise.all(Array.from({ length: 20 }, () => openRun(server.base, runInput(gate.name))));
  await until(() => gate.arrived === 20);
  expect((await reload(server.base)).status).toBe(200);
  for (const stream of streams) {
    expect((await stream.all()).at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'SHUTTING_DOWN' });
  }
});

test('observers belong to the server and see the runs of every agent', async () => {
  const server = await serve();
  const seen: string[] = [];
  server.app.services.observers.add(() => {
    throw new Error('an observer that fails');
  });
  server.app.services.observers.add(async () => Promise.reject(new Error('and one that rejects')));
  const remove = server.app.services.observers.add(
    (event, { threadId }) => void seen.push(`${threadId} ${event.type}`),
  );
  const input = runInput('hi');
  const events = await runEvents(server.app, input);
  expect(seen).toEqual(events.map(({ type }) => `${input.threadId} ${type}`));
  expect((await reload(server.base)).status).toBe(200);
  await runEvents(server.app, runInput('hi', { threadId: 'after' }));
  expect(seen).toContain('after RUN_FINISHED');
  remove();
  await runEvents(server.app, runInput('hi', { threadId: 'removed' }));
  expect(seen.filter((line) => line.startsWith('removed'))).toEqual([]);
});

test('requests for the graph or the capabilities hold no engine open', async () => {
  const server = await serve();
  await Promise.all(
    ['/agent/graph', '/agent/capabilities', '/agent/config', '/agent/sessions', '/agent/sessions/none'].map((path) =>
      fetch(`${server.base}${path}`).then((response) => response.text()),
    ),
  );
  expect((await reload(server.base)).status).toBe(200);
  await until(() => closedGenerations(server).includes(1), 'generation 1', 1_000);
});

test('a run that is refused gives its lease back', async () => {
  const server = await serve();
  const input = runInput('hi');
  await runEvents(server.app, input, { 'x-service-user-id': 'ana' });
  const refused = await server.app.inject({ method: 'POST', url: '/agent/run', payload: input });
  expect(refused.statusCode).toBe(404);
  expect((await reload(server.base)).status).toBe(200);
  await until(() => closedGenerations(server).includes(1), 'generation 1', 1_000);
});
