import { randomUUID } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { expect, test } from 'vitest';
import { ECHO } from '../support/agents.ts';
import { createTestApp, type TestAppOptions, tempFolder } from '../support/app.ts';
import { until } from '../support/gates.ts';
import { parseEvents, runEvents, runInput } from '../support/runs.ts';

interface Summary {
  id: string;
  lastUpdateTime: number;
  userId: string | null;
  threadId: string;
  preview: string;
}

async function echoApp(options: TestAppOptions = {}): Promise<FastifyInstance> {
  const { app } = await createTestApp({ ...options, files: { 'agent.ts': ECHO }, agent: 'agent.ts' });
  return app;
}

const as = (user: string): Record<string, string> => ({ 'x-service-user-id': user });

async function list(app: FastifyInstance, headers: Record<string, string> = {}): Promise<Summary[]> {
  const response = await app.inject({ url: '/agent/sessions', headers });
  expect(response.statusCode).toBe(200);
  return response.json();
}

function detail(app: FastifyInstance, id: string, headers: Record<string, string> = {}) {
  return app.inject({ url: `/agent/sessions/${encodeURIComponent(id)}`, headers });
}

/** Lets the clock move on, so that two updates have two times. */
async function nextMillisecond(): Promise<void> {
  const now = Date.now();
  await until(() => Date.now() > now);
}

test('a server nobody has talked to lists nothing', async () => {
  expect(await list(await echoApp())).toEqual([]);
});

test('the list and the detail have the shape of the contract', async () => {
  const app = await echoApp();
  const before = Date.now() / 1000;
  const input = runInput('When is the next train to Lyon?');
  await runEvents(app, input, as('ana@example.org'));
  const after = Date.now() / 1000;
  const { threadId } = input;
  const sessions = await list(app, as('ana@example.org'));
  expect(sessions).toEqual([
    {
      id: threadId,
      lastUpdateTime: expect.any(Number),
      userId: 'ana@example.org',
      threadId,
      preview: 'When is the next train to Lyon?',
    },
  ]);
  expect(sessions[0]?.lastUpdateTime).toBeGreaterThanOrEqual(before);
  expect(sessions[0]?.lastUpdateTime).toBeLessThanOrEqual(after);
  const response = await detail(app, threadId, as('ana@example.org'));
  expect(response.statusCode).toBe(200);
  expect(response.json()).toEqual({
    id: threadId,
    lastUpdateTime: sessions[0]?.lastUpdateTime,
    userId: 'ana@example.org',
    threadId,
    messages: [
      { id: input.messages[0]?.id, role: 'user', content: 'When is the next train to Lyon?', timestamp: null },
      {
        id: expect.stringMatching(/.+/),
        role: 'assistant',
        content: 'you said: When is the next train to Lyon?',
        timestamp: null,
      },
    ],
  });
});

test('the newest update is first, and a new run moves a thread up', async () => {
  const app = await echoApp();
  const threads = [randomUUID(), randomUUID(), randomUUID()];
  for (const threadId of threads) {
    await runEvents(app, runInput(`about ${threadId}`, { threadId }));
    await nextMillisecond();
  }
  const [first = '', second = '', third = ''] = threads;
  expect((await list(app)).map(({ id }) => id)).toEqual([third, second, first]);
  await runEvents(app, runInput('once more', { threadId: first }));
  const sessions = await list(app);
  expect(sessions.map(({ id }) => id)).toEqual([first, third, second]);
  expect(sessions[0]?.preview).toBe(`about ${first}`);
  const messages = (await detail(app, first)).json().messages as { content: string }[];
  expect(messages.map(({ content }) => content)).toEqual([
    `about ${first}`,
    `you said: about ${first}`,
    'once more',
    'you said: once more',
  ]);
});

test('at most 200 are listed, the newest', async () => {
  const app = await echoApp();
  const ids = Array.from({ length: 205 }, (_, index) => `thread-${String(index).padStart(3, '0')}`);
  for (const threadId of ids) await runEvents(app, runInput('hi', { threadId }));
  const sessions = await list(app);
  expect(sessions).toHaveLength(200);
  expect(sessions.map(({ id }) => id)).toEqual(ids.slice(5).reverse());
});

test.each([
  ['cut at 120 characters', 'x'.repeat(500), 'x'.repeat(120)],
  ['one line', '  two\n\nlines\tof text ', 'two lines of text'],
  ['whole characters', '🚂'.repeat(200), /^(?:🚂)+$/u],
])('the preview is %s', async (_name, text, preview) => {
  const app = await echoApp();
  await runEvents(app, runInput(text));
  const [session] = await list(app);
  if (typeof preview === 'string') expect(session?.preview).toBe(preview);
  else expect(session?.preview).toMatch(preview);
  expect(Array.from(session?.preview ?? '').length).toBeLessThanOrEqual(120);
});

test('the preview of a whole transcript is its first user text', async () => {
  const app = await echoApp();
  await runEvents(
    app,
    runInput('', {
      messages: [
        { id: 's', role: 'system', content: 'be brief' },
        { id: 'a', role: 'assistant', content: 'welcome' },
        { id: 'u1', role: 'user', content: 'first' },
        { id: 'u2', role: 'user', content: 'second' },
      ],
    }),
  );
  expect((await list(app))[0]?.preview).toBe('first');
});

test('multipart content is shown as its text', async () => {
  const app = await echoApp();
  const content = [
    { type: 'text', text: 'what is' },
    { type: 'image', source: { type: 'data', value: 'iVBORw0KGgo=', mimeType: 'image/png' } },
    { type: 'text', text: 'this?' },
  ];
  const input = runInput('', { messages: [{ id: 'u1', role: 'user', content }] as never });
  await runEvents(app, input);
  expect((await list(app))[0]?.preview).toBe('what is this?');
  const [message] = (await detail(app, input.threadId)).json().messages as { content: string }[];
  expect(message?.content).toMatch(/^what is\s*this\?$/);
  expect(JSON.stringify((await detail(app, input.threadId)).json())).not.toContain('iVBORw0KGgo');
});

test('tool, system and empty messages are left out of the detail', async () => {
  const app = await echoApp();
  const input = runInput('', {
    messages: [
      { id: 's', role: 'system', content: 'be brief' },
      { id: 'u1', role: 'user', content: 'time?' },
      {
        id: 'a1',
        role: 'assistant',
        toolCalls: [{ id: 'c1', type: 'function', function: { name: 'clock', arguments: '{}' } }],
      },
      { id: 't1', role: 'tool', toolCallId: 'c1', content: 'noon' },
      { id: 'u2', role: 'user', content: 'thanks' },
    ],
  });
  await runEvents(app, input);
  const { messages } = (await detail(app, input.threadId)).json() as { messages: { role: string; content: string }[] };
  expect(messages.map(({ role, content }) => [role, content])).toEqual([
    ['user', 'time?'],
    ['user', 'thanks'],
    ['assistant', 'you said: thanks'],
  ]);
});

test('a thread that holds no messages is not listed, as it cannot be read', async () => {
  const app = await echoApp();
  // Refused before the agent is asked, so nothing is kept.
  const input = runInput('hi', { resume: [{ interruptId: 'nope', status: 'resolved' }] });
  expect((await runEvents(app, input)).at(-1)?.type).toBe('RUN_ERROR');
  expect((await detail(app, input.threadId)).statusCode).toBe(404);
  expect(await list(app)).toEqual([]);
});

test('an unknown session is a 404', async () => {
  const app = await echoApp();
  const response = await detail(app, 'nobody-has-this');
  expect(response.statusCode).toBe(404);
  expect(response.json()).toEqual({ detail: 'Not Found' });
});

test('each user sees their own threads; others’ are 404 on detail and run, and do not exist in the list', async () => {
  const app = await echoApp();
  const anas = runInput('mine');
  const bobs = runInput('his');
  const nobodys = runInput('free');
  await runEvents(app, anas, as('ana'));
  await runEvents(app, bobs, as('bob'));
  await runEvents(app, nobodys);
  expect((await list(app, as('ana'))).map(({ id }) => id)).toEqual([anas.threadId]);
  expect((await list(app, as('bob'))).map(({ id }) => id)).toEqual([bobs.threadId]);
  expect(await list(app, as('eve'))).toEqual([]);
  expect((await list(app)).map(({ id, userId }) => [id, userId])).toEqual([[nobodys.threadId, null]]);

  for (const [thread, user] of [
    [anas.threadId, 'bob'],
    [anas.threadId, undefined],
    [nobodys.threadId, 'ana'],
  ] as const) {
    const headers = user === undefined ? {} : as(user);
    const read = await detail(app, thread, headers);
    expect(read.statusCode).toBe(404);
    expect(read.json()).toEqual({ detail: 'Not Found' });
    for (const [url, payload] of [
      ['/agent/run', runInput('let me in', { threadId: thread })],
      ['/agent/clientkit/stream', runInput('let me in', { threadId: thread })],
      ['/agent/invoke', { session_id: thread, query: 'let me in' }],
      ['/agent/stream', { session_id: thread, query: 'let me in' }],
    ] as const) {
      const ran = await app.inject({ method: 'POST', url, payload, headers });
      expect(ran.statusCode, url).toBe(404);
      expect(ran.json()).toEqual({ detail: 'Not Found' });
    }
  }
  // Whoever was turned away has left nothing behind.
  const read = await detail(app, anas.threadId, as('ana'));
  expect((read.json() as { messages: unknown[] }).messages).toHaveLength(2);
  await runEvents(app, runInput('still mine', { threadId: anas.threadId }), as('ana'));
});

test('a user id is trimmed; one that is too long or holds control bytes counts as none', async () => {
  const app = await echoApp();
  await runEvents(app, runInput('trimmed'), as('  ana  '));
  expect((await list(app, as('ana')))[0]).toMatchObject({ preview: 'trimmed', userId: 'ana' });

  await runEvents(app, runInput('longest'), as('x'.repeat(256)));
  expect((await list(app, as('x'.repeat(256))))[0]).toMatchObject({ preview: 'longest' });

  await runEvents(app, runInput('too long'), as('x'.repeat(257)));
  await nextMillisecond();
  await runEvents(app, runInput('blank'), as('   '));
  await nextMillisecond();
  await runEvents(app, runInput('control'), as('a\tb'));
  expect((await list(app)).map(({ preview, userId }) => [preview, userId])).toEqual([
    ['control', null],
    ['blank', null],
    ['too long', null],
  ]);
});

test('of two users who meet on a new thread one gets it', async () => {
  const app = await echoApp();
  for (let round = 0; round < 10; round += 1) {
    const threadId = randomUUID();
    const answers = await Promise.all(
      ['ana', 'bob', 'eve'].map(async (user) => ({
        user,
        response: await app.inject({
          method: 'POST',
          url: '/agent/run',
          payload: runInput(`I am ${user}`, { threadId }),
          headers: as(user),
        }),
      })),
    );
    const winners = answers.filter(({ response }) => response.statusCode === 200);
    expect(winners).toHaveLength(1);
    expect(answers.filter(({ response }) => response.statusCode === 404)).toHaveLength(2);
    const [winner] = winners;
    expect(parseEvents(winner?.response.body ?? '').at(-1)?.type).toBe('RUN_FINISHED');
    const read = (await detail(app, threadId, as(winner?.user ?? ''))).json() as { messages: { content: string }[] };
    expect(read.messages[0]?.content).toBe(`I am ${winner?.user}`);
  }
});

test.each(['a/b', 'a%2Fb', 'ünï çödé', '?x=1#y', '%', 'x'.repeat(512), '漢'.repeat(300), ' spaced '])(
  'a thread named %j can be read back over the wire',
  async (threadId) => {
    const app = await echoApp();
    await runEvents(app, runInput('hi', { threadId }));
    expect((await list(app))[0]?.id).toBe(threadId);
    const base = await app.listen({ host: '127.0.0.1', port: 0 });
    const response = await fetch(`${base}/agent/sessions/${encodeURIComponent(threadId)}`);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ id: threadId, messages: [{ content: 'hi' }, {}] });
  },
);

test('an agent without memory answers 501 on list and detail', async () => {
  const app = await echoApp({ defaultCheckpointer: undefined });
  const input = runInput('hi');
  await runEvents(app, input);
  for (const url of ['/agent/sessions', `/agent/sessions/${input.threadId}`]) {
    const response = await app.inject(url);
    expect(response.statusCode).toBe(501);
    const { detail: body } = response.json() as { detail: { error: string; agent_type: string } };
    expect(Object.keys(body).sort()).toEqual(['agent_type', 'error']);
    expect(body.agent_type).toBe('LangGraph');
    expect(body.error).toMatch(/checkpointer/);
  }
  const capabilities = (await app.inject('/agent/capabilities')).json() as { history: unknown };
  expect(capabilities.history).toBeNull();
});

const SQLITE = `
agent:
  type: LANGGRAPH
  config:
    name: desk
    graph_definition: agent.ts:graph
    checkpointer: { type: sqlite, db_url: "sqlite:///./chat.db" }
`;

test('conversations in SQLite survive a restart and go on', async () => {
  const root = tempFolder({ 'agent.ts': ECHO, 'config.yaml': SQLITE });
  const first = await createTestApp({ root });
  const input = runInput('remember me');
  await runEvents(first.app, input, as('ana'));
  const before = (await detail(first.app, input.threadId, as('ana'))).json();
  await first.app.close();

  const second = await createTestApp({ root });
  expect((await list(second.app, as('ana')))[0]).toMatchObject({ id: input.threadId, preview: 'remember me' });
  expect((await detail(second.app, input.threadId, as('ana'))).json()).toEqual(before);
  expect(await list(second.app)).toEqual([]);
  expect((await detail(second.app, input.threadId)).statusCode).toBe(404);
  await runEvents(second.app, runInput('go on', { threadId: input.threadId }), as('ana'));
  const after = (await detail(second.app, input.threadId, as('ana'))).json() as { messages: { content: string }[] };
  expect(after.messages.map(({ content }) => content)).toEqual([
    'remember me',
    'you said: remember me',
    'go on',
    'you said: go on',
  ]);
});

test('conversations in the process’s memory are gone after a restart, and so is their list', async () => {
  const root = tempFolder({ 'agent.ts': ECHO });
  const first = await createTestApp({ root, agent: 'agent.ts' });
  const input = runInput('forget me');
  await runEvents(first.app, input);
  expect(await list(first.app)).toHaveLength(1);
  await first.app.close();

  const second = await createTestApp({ root, agent: 'agent.ts' });
  expect(await list(second.app)).toEqual([]);
  expect((await detail(second.app, input.threadId)).statusCode).toBe(404);
  // The thread is still its owner's, and can be begun anew.
  const other = await second.app.inject({
    method: 'POST',
    url: '/agent/run',
    payload: runInput('mine now', { threadId: input.threadId }),
    headers: as('eve'),
  });
  expect(other.statusCode).toBe(404);
  await runEvents(second.app, runInput('begin anew', { threadId: input.threadId }));
  expect(await list(second.app)).toHaveLength(1);
});

test('a graph that brings its own checkpointer keeps it and has sessions', async () => {
  const agent = ECHO.replace('export const graph = new', 'const builder = new').concat(
    "import { MemorySaver } from '@langchain/langgraph';\nexport const graph = builder.compile({ checkpointer: new MemorySaver() });\n",
  );
  const { app } = await createTestApp({
    files: { 'agent.ts': agent },
    agent: 'agent.ts',
    defaultCheckpointer: undefined,
  });
  const input = runInput('hi');
  await runEvents(app, input);
  expect((await list(app)).map(({ id }) => id)).toEqual([input.threadId]);
  expect((await detail(app, input.threadId)).statusCode).toBe(200);
});
