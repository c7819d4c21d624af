import { expect, test } from 'vitest';
import { ConnectionLostError, HttpError, ProtocolError } from '../../src/client.ts';
import { type Answer, scriptedServer } from './scripted-server.ts';
import { brief, FAST, failure, forwarded, held, resumable } from './support.ts';

const STARTED: [object, number] = [{ type: 'RUN_STARTED', threadId: 't', runId: 'r' }, 1];
const BEGUN: [object, number] = [{ type: 'TEXT_MESSAGE_START', messageId: 'a', role: 'assistant' }, 2];
const said = (delta: string, id: number): [object, number] => [
  { type: 'TEXT_MESSAGE_CONTENT', messageId: 'a', delta },
  id,
];
const DONE: [object, number] = [{ type: 'TEXT_MESSAGE_END', messageId: 'a' }, 8];
const FINISHED: [object, number] = [{ type: 'RUN_FINISHED', threadId: 't', runId: 'r' }, 9];
const WHOLE = [STARTED, BEGUN, said('Hello', 3), DONE, FINISHED];

const text = (messages: { content?: unknown }[]): unknown => messages.at(-1)?.content;

test('a broken stream goes on after its last whole frame', async () => {
  const server = await scriptedServer(
    { frames: [STARTED, BEGUN, said('Hel', 3), 'id: 4\ndata: {"type":"TEXT_MESSAGE_CONTENT","mess'], end: 'broken' },
    { frames: [said('lo', 5), DONE, FINISHED] },
  );
  const { messages } = await held(resumable(server.url, { threadId: 'a/b' }), (agent) =>
    agent.runAgent({ runId: 'r 1' }),
  );
  expect(text(messages)).toBe('Hello');
  expect(server.asked.map(({ method, url }) => `${method} ${url}`)).toEqual([
    'POST /agent/run',
    'GET /agent/runs/r%201/events?threadId=a%2Fb',
  ]);
  expect(server.asked[1]?.headers).toMatchObject({ 'last-event-id': '3', accept: 'text/event-stream' });
});

test('a stream that ends properly before its run is a lost connection', async () => {
  const server = await scriptedServer(
    { frames: [STARTED, BEGUN, said('Hel', 3)], end: 'clean' },
    { frames: [said('lo', 5), DONE, FINISHED] },
  );
  expect(text((await held(resumable(server.url))).messages)).toBe('Hello');
});

test('frames that come again are dropped', async () => {
  const server = await scriptedServer(
    { frames: [STARTED, BEGUN, said('Hel', 3)], end: 'broken' },
    { frames: [STARTED, BEGUN, said('Hel', 3), said('lo', 4), DONE, FINISHED] },
  );
  expect(text((await held(resumable(server.url))).messages)).toBe('Hello');
});

test('a run that nothing came of yet is posted again', async () => {
  const server = await scriptedServer({ frames: [], end: 'broken' }, { frames: [], end: 'clean' }, { frames: WHOLE });
  expect(text((await held(resumable(server.url))).messages)).toBe('Hello');
  expect(server.asked.map(({ method }) => method)).toEqual(['POST', 'POST', 'POST']);
  expect(new Set(server.asked.map(({ body }) => body)).size).toBe(1);
});

test('a stream that never brings the end of the run is an error', async () => {
  const server = await scriptedServer({ frames: [STARTED, BEGUN], end: 'clean' }, { frames: [], end: 'clean' });
  const agent = resumable(server.url, { reconnect: { ...FAST, maxAttempts: 3 } });
  const error = await failure(agent.runAgent());
  expect(error).toBeInstanceOf(ConnectionLostError);
  expect(error.message).toMatch(/3 attempts .*ended before the run did/);
  expect((error.cause as Error).message).toMatch(/ended before/);
  expect(server.asked).toHaveLength(4);
  expect(agent.isRunning).toBe(false);
});

test('a snapshot that never gets further is no progress', async () => {
  const prefix: Answer = { frames: [[STARTED[0]], [{ type: 'MESSAGES_SNAPSHOT', messages: [] }, 1]], end: 'broken' };
  const server = await scriptedServer({ frames: [STARTED], end: 'broken' }, prefix);
  const error = await failure(resumable(server.url, { reconnect: { ...FAST, maxAttempts: 3 } }).runAgent());
  expect(error).toBeInstanceOf(ConnectionLostError);
});

test('a server that cannot be reached is an error with its cause, after the attempts', async () => {
  let calls = 0;
  const agent = resumable('http://127.0.0.1:1/agent/run', {
    reconnect: { ...FAST, maxAttempts: 2 },
    fetch: (url, init) => {
      calls += 1;
      return fetch(url, init);
    },
  });
  const error = await failure(agent.runAgent());
  expect(error).toBeInstanceOf(ConnectionLostError);
  expect(error.cause).toBeInstanceOf(TypeError);
  expect(calls).toBe(3);
});

test('attempts count from what was last received', async () => {
  const server = await scriptedServer(
    { frames: [STARTED], end: 'broken' },
    ...[2, 3, 4, 5].flatMap((id): Answer[] => [
      { status: 503, json: {} },
      { frames: [id === 2 ? BEGUN : said('x', id)], end: 'broken' },
    ]),
    { frames: [DONE, FINISHED] },
  );
  const agent = resumable(server.url, { reconnect: { ...FAST, maxAttempts: 2 } });
  expect(text((await held(agent)).messages)).toBe('xxx');
});

test.each([404, 422, 429, 503])('%i to the first request is an error at once', async (status) => {
  const server = await scriptedServer({ status, json: { detail: 'no' } });
  const error = await failure(resumable(server.url).runAgent());
  expect(error).toBeInstanceOf(HttpError);
  expect(error).toMatchObject({ status, payload: { detail: 'no' }, message: `HTTP ${status}: {"detail":"no"}` });
  expect(server.asked).toHaveLength(1);
});

test.each([500, 502, 503, 429, 408])('%i when joining again is an attempt', async (status) => {
  const server = await scriptedServer(
    { frames: [STARTED, BEGUN], end: 'broken' },
    { status, json: {}, headers: { 'retry-after': '3600' } },
    { frames: [said('Hello', 3), DONE, FINISHED] },
  );
  expect(text((await held(resumable(server.url))).messages)).toBe('Hello');
});

test.each([401, 403, 404, 410])('%i when joining again is an error at once', async (status) => {
  const server = await scriptedServer(
    { frames: [STARTED, BEGUN], end: 'broken' },
    { status, json: { detail: 'gone' } },
  );
  expect(await failure(resumable(server.url).runAgent())).toMatchObject({ status, payload: { detail: 'gone' } });
  expect(server.asked).toHaveLength(2);
});

test('an answer that is no event stream, and frames that are no events, are errors at once', async () => {
  for (const answer of [{ json: {} }, { frames: ['data: {oops\n\n'] }, { frames: ['data: null\n\n'] }] as Answer[]) {
    const server = await scriptedServer(answer);
    expect(await failure(resumable(server.url).runAgent())).toBeInstanceOf(ProtocolError);
    expect(server.asked).toHaveLength(1);
  }
});

test('a connection that says nothing for long counts as lost, one that sends comments does not', async () => {
  const server = await scriptedServer(
    { frames: [STARTED, BEGUN, said('Hel', 3)], end: 'open' },
    { frames: [said('lo', 4), DONE, FINISHED] },
  );
  const agent = resumable(server.url, { reconnect: { ...FAST, silenceMs: 50 } });
  expect(text((await held(agent)).messages)).toBe('Hello');

  const silent = await scriptedServer(
    { frames: [STARTED], end: 'broken' },
    ...Array.from({ length: 5 }, (): Answer => ({ frames: [': ping\n\n'], end: 'broken' })),
    { frames: [BEGUN, said('Hello', 3), DONE, FINISHED] },
  );
  const patient = resumable(silent.url, { reconnect: { ...FAST, maxAttempts: 1 } });
  expect(text((await held(patient)).messages)).toBe('Hello');
});

test('a connection is left though its fetch does not pass on the signal', async () => {
  const server = await scriptedServer(
    { frames: [STARTED, BEGUN, said('Hel', 3)], end: 'open' },
    { frames: [said('lo', 4), DONE, FINISHED] },
  );
  const agent = resumable(server.url, {
    reconnect: { ...FAST, silenceMs: 50 },
    fetch: async (url, { signal: _, ...init }) => {
      const { body, headers, status } = await fetch(url, init);
      return new Response(body?.pipeThrough(new TransformStream()), { headers, status });
    },
  });
  expect(text((await held(agent)).messages)).toBe('Hello');
});

test('the run is over with its last event, though the connection stays open', async () => {
  const server = await scriptedServer({ frames: WHOLE, end: 'open' });
  expect(text((await held(resumable(server.url))).messages)).toBe('Hello');
  expect(server.asked).toHaveLength(1);
});

/** The beginning of a stream that starts anew. */
const gap = (messages: object[], ...more: object[]): [event: object, id?: number][] => {
  const prefix = [
    STARTED[0],
    { type: 'MESSAGES_SNAPSHOT', messages },
    { type: 'STATE_SNAPSHOT', snapshot: { n: 1 } },
    ...more,
  ];
  return prefix.map((event, at) => (at < prefix.length - 1 ? [event] : [event, 50]));
};

test('a stream that starts anew is fitted to what was forwarded', async () => {
  const server = await scriptedServer(
    {
      frames: [
        STARTED,
        [{ type: 'STEP_STARTED', stepName: 'outer' }, 2],
        [{ type: 'STEP_STARTED', stepName: 'inner' }, 3],
        [{ type: 'SUBAGENT_STARTED', subagentRunId: 's1', name: 'one' }, 4],
        [{ type: 'SUBAGENT_STARTED', subagentRunId: 's2', name: 'two', parentSubagentRunId: 's1' }, 5],
        [{ type: 'STEP_STARTED', stepName: 'outer', subagentRunId: 's1' }, 6],
        [{ type: 'REASONING_START', messageId: 'q' }, 7],
        [{ type: 'REASONING_MESSAGE_START', messageId: 'q', role: 'reasoning' }, 8],
        [{ type: 'REASONING_MESSAGE_CONTENT', messageId: 'q', delta: 'Hm' }, 9],
        [{ type: 'TEXT_MESSAGE_START', messageId: 'a', role: 'assistant' }, 10],
        [{ type: 'TEXT_MESSAGE_CONTENT', messageId: 'a', delta: 'Hel' }, 11],
        [{ type: 'TOOL_CALL_START', toolCallId: 'c1', toolCallName: 'look', parentMessageId: 'b' }, 12],
        [{ type: 'TOOL_CALL_ARGS', toolCallId: 'c1', delta: '{"a"' }, 13],
        [{ type: 'TOOL_CALL_START', toolCallId: 'c2', toolCallName: 'look', parentMessageId: 'b' }, 14],
      ],
      end: 'broken',
    },
    // The snapshot breaks off, and nothing of it counts.
    { frames: gap([]).slice(0, 2), end: 'broken' },
    {
      frames: gap(
        [
          {
            id: 'b',
            role: 'assistant',
            toolCalls: [{ id: 'c2', type: 'function', function: { name: 'look', arguments: '{}' } }],
          },
          { id: 'r2', role: 'tool', toolCallId: 'c2', content: 'found' },
        ],
        { type: 'SUBAGENT_STARTED', subagentRunId: 's1', name: 'one' },
        { type: 'STEP_STARTED', stepName: 'outer' },
        { type: 'REASONING_START', messageId: 'q' },
        { type: 'REASONING_MESSAGE_START', messageId: 'q', role: 'reasoning' },
        { type: 'REASONING_MESSAGE_CONTENT', messageId: 'q', delta: 'Hm, yes' },
        { type: 'TEXT_MESSAGE_START', messageId: 'a', role: 'assistant' },
        { type: 'TEXT_MESSAGE_CONTENT', messageId: 'a', delta: 'Hello' },
        { type: 'TOOL_CALL_START', toolCallId: 'c1', toolCallName: 'look', parentMessageId: 'b' },
        { type: 'TOOL_CALL_ARGS', toolCallId: 'c1', delta: '{"a":1' },
      ),
      end: 'broken',
    },
    {
      frames: [
        [{ type: 'TOOL_CALL_ARGS', toolCallId: 'c1', delta: '}' }, 51],
        [{ type: 'TOOL_CALL_END', toolCallId: 'c1' }, 52],
        [{ type: 'TEXT_MESSAGE_CONTENT', messageId: 'a', delta: '!' }, 53],
        [{ type: 'TEXT_MESSAGE_END', messageId: 'a' }, 54],
        [{ type: 'REASONING_MESSAGE_CONTENT', messageId: 'q', delta: '.' }, 55],
        [{ type: 'REASONING_MESSAGE_END', messageId: 'q' }, 56],
        [{ type: 'REASONING_END', messageId: 'q' }, 57],
        [{ type: 'SUBAGENT_FINISHED', subagentRunId: 's1' }, 58],
        [{ type: 'STEP_FINISHED', stepName: 'outer' }, 59],
        [{ type: 'RUN_FINISHED', threadId: 't', runId: 'r' }, 60],
      ],
    },
  );
  const agent = resumable(server.url);
  let pending: string[] | undefined;
  agent.subscribe({
    onRunFinishedEvent: (params) => {
      if (params.outcome === 'success') pending = params.pendingToolCallIds;
    },
  });
  const { events, messages, state } = await held(agent);
  expect(server.asked.map(({ headers }) => headers['last-event-id'])).toEqual([undefined, '14', '14', '50']);
  expect(brief(events).slice(14, -10)).toEqual([
    'TOOL_CALL_END c2',
    'TOOL_CALL_END c1',
    'TEXT_MESSAGE_END a',
    'REASONING_MESSAGE_END q',
    'REASONING_END q',
    'STEP_FINISHED outer',
    'STEP_FINISHED inner',
    'STEP_FINISHED outer',
    'SUBAGENT_FINISHED s2',
    'TOOL_CALL_RESULT c2',
    'MESSAGES_SNAPSHOT',
    'STATE_SNAPSHOT',
    'STEP_STARTED outer',
    'REASONING_START q',
    'REASONING_MESSAGE_START q',
    'REASONING_MESSAGE_CONTENT q ", yes"',
    'TEXT_MESSAGE_START a',
    'TEXT_MESSAGE_CONTENT a "Hello"',
    'TOOL_CALL_START c1',
    'TOOL_CALL_ARGS c1 "{\\"a\\":1"',
  ]);
  expect(state).toEqual({ n: 1 });
  expect(pending).toEqual(['c1']);
  expect(messages.find(({ id }) => id === 'a')?.content).toBe('Hello!');
  expect(messages.find(({ id }) => id === 'q')?.content).toBe('Hm, yes.');
  expect(messages.find(({ id }) => id === 'b')).toMatchObject({
    toolCalls: [{ id: 'c2' }, { id: 'c1', function: { arguments: '{"a":1}' } }],
  });
  expect(messages.filter(({ role }) => role === 'tool')).toHaveLength(1);
});

test('sub-agents that a snapshot tells of start and end once', async () => {
  const started = (subagentRunId: string, parentSubagentRunId?: string): object => ({
    type: 'SUBAGENT_STARTED',
    subagentRunId,
    name: subagentRunId,
    ...(parentSubagentRunId !== undefined && { parentSubagentRunId }),
  });
  const finished = (subagentRunId: string): object => ({ type: 'SUBAGENT_FINISHED', subagentRunId });
  const server = await scriptedServer(
    {
      frames: [
        STARTED,
        [started('over'), 2],
        [finished('over'), 3],
        [started('ending'), 4],
        [started('staying', 'over'), 5],
      ],
      end: 'broken',
    },
    {
      frames: [
        [STARTED[0]],
        [started('over')],
        [finished('over')],
        [started('ending')],
        [started('staying', 'over')],
        [started('passing', 'ending')],
        [finished('passing')],
        [started('late', 'staying')],
        [finished('ending')],
        [{ type: 'MESSAGES_SNAPSHOT', messages: [] }],
        [{ type: 'STATE_SNAPSHOT', snapshot: {} }, 20],
        [finished('late'), 21],
        [finished('staying'), 22],
        [FINISHED[0], 23],
      ],
    },
  );
  const { events } = await held(resumable(server.url));
  expect(brief(events).slice(5)).toEqual([
    'SUBAGENT_STARTED passing',
    'SUBAGENT_FINISHED passing',
    'SUBAGENT_STARTED late',
    'SUBAGENT_FINISHED ending',
    'MESSAGES_SNAPSHOT',
    'STATE_SNAPSHOT',
    'SUBAGENT_FINISHED late',
    'SUBAGENT_FINISHED staying',
    'RUN_FINISHED',
  ]);
});

test('reasoning that the client drops for the snapshot is told from its beginning', async () => {
  const reasoning = (delta: string, id: number): [object, number][] => [
    [{ type: 'REASONING_MESSAGE_START', messageId: 'q', role: 'reasoning' }, id],
    [{ type: 'REASONING_MESSAGE_CONTENT', messageId: 'q', delta }, id + 1],
  ];
  const older = { id: 'older', role: 'reasoning', content: 'Earlier.' };
  const server = await scriptedServer(
    { frames: [STARTED, ...reasoning('Hm', 2)], end: 'broken' },
    {
      frames: [
        ...gap([older], ...reasoning('Hm, yes', 0).map(([event]) => event)),
        [{ type: 'REASONING_MESSAGE_END', messageId: 'q' }, 51],
        [FINISHED[0], 52],
      ],
    },
  );
  const { messages } = await held(resumable(server.url));
  expect(messages).toMatchObject([older, { id: 'q', content: 'Hm, yes' }]);
});

test('text that the snapshot holds already is not told twice', async () => {
  const server = await scriptedServer(
    { frames: [STARTED, BEGUN, said('Hel', 3)], end: 'broken' },
    {
      frames: [
        ...gap([{ id: 'a', role: 'assistant', content: 'Hello' }], BEGUN[0], said('Hello', 0)[0]),
        said('!', 51),
        [DONE[0], 52],
        [FINISHED[0], 53],
      ],
    },
  );
  expect(text((await held(resumable(server.url))).messages)).toBe('Hello!');
});

test('a run that ended in the gap ends here too', async () => {
  const server = await scriptedServer(
    { frames: [STARTED, [{ type: 'STEP_STARTED', stepName: 's' }, 2], [BEGUN[0], 3], said('Hel', 4)], end: 'broken' },
    { frames: [...gap([{ id: 'a', role: 'assistant', content: 'Hello' }]).slice(0, 2), [FINISHED[0]]] },
  );
  const agent = resumable(server.url);
  expect(brief(await forwarded(agent)).slice(-4)).toEqual([
    'TEXT_MESSAGE_END a',
    'STEP_FINISHED s',
    'MESSAGES_SNAPSHOT',
    'RUN_FINISHED',
  ]);
});
