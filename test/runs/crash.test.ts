import { expect, test } from 'vitest';
import { SQLITE_CONFIG } from '../cli/agents.ts';
import { inTime, type Server, startServer } from '../cli/command.ts';
import { type WebGate, webGate } from '../cli/web.ts';
import { tempFolder } from '../support/app.ts';
import { expectVerified } from '../support/client.ts';
import { GRAPH_FILES, messagesGraph } from '../support/graphs.ts';
import { ofType, parseEvents, runInput, textOf, type WireEvent } from '../support/runs.ts';
import { endOf, framesOf, heldAfter, type Listed } from './support.ts';

/** Calls a tool that fetches the address it is asked for, if it is asked for one; else tells what it has heard. */
const AGENT = messagesGraph(
  `.addNode('model', async (state) => ({ messages: [await model.invoke(state.messages)] }))
  .addNode('tools', new ToolNode([visit]))
  .addEdge(START, 'model')
  .addConditionalEdges('model', (state) => (state.messages.at(-1).tool_calls?.length > 0 ? 'tools' : END))
  .addEdge('tools', 'model')`,
  `const visit = tool(async ({ url }) => (await fetch(url)).text(), { name: 'visit', description: 'visits', schema: z.object({ url: z.string() }) });
const model = new ScriptedModel([(messages) => {
  const last = messages.at(-1);
  if (last.getType() !== 'human' || !last.content.startsWith('http')) {
    return ['heard ' + messages.map((one) => one.getType() + (one.tool_call_id ? ':' + one.tool_call_id : '')).join(' ')];
  }
  return [{ id: 'ask', content: 'I will look.' }, call(0, 'c1', 'visit', JSON.stringify({ url: last.content })),
    call(1, 'c2', 'visit', JSON.stringify({ url: last.content }))];
}]);`,
);

const FILES = { ...GRAPH_FILES, 'agent.ts': AGENT, 'config.yaml': SQLITE_CONFIG };

async function events(server: Server, path: string): Promise<WireEvent[]> {
  const told = parseEvents(await (await fetch(server.address + path)).text());
  await expectVerified(told);
  return told;
}

/** A server that was killed in the middle of run `lost` of thread `th`, and another in its place. */
async function afterKill(files: Record<string, string>): Promise<{ server: Server; gate: WebGate; before: string }> {
  const gate = await webGate();
  const cwd = tempFolder(files);
  const first = await startServer(['serve'], { cwd });
  await first.say('one', 'th');
  const response = await first.post('/agent/run', runInput(gate.url, { threadId: 'th', runId: 'lost' }));
  let before = '';
  const reading = (async () => {
    for await (const piece of response.body as AsyncIterable<Uint8Array>) before += Buffer.from(piece).toString();
  })();
  await inTime(gate.reached, () => 'the run to be under way');
  first.signal('SIGKILL');
  await expect(reading).rejects.toThrow();
  await first.exited;
  gate.open();
  return { server: await startServer(['serve'], { cwd }), gate, before };
}

test('kill -9 in mid-run: the run is told as lost, by its record, its events, its list and the same post', async () => {
  const { server, gate, before } = await afterKill(FILES);
  expect(framesOf(before).length).toBeGreaterThan(3);
  const { body } = await server.get('/agent/runs/lost');
  expect(body).toMatchObject({ status: 'interrupted', errorCode: 'RUN_LOST', threadId: 'th' });
  expect(Date.parse(String(body.finishedAt))).toBeGreaterThanOrEqual(Date.parse(String(body.createdAt)));
  for (const query of ['', `?after=${framesOf(before).at(-1)?.id}`]) {
    const told = await events(server, `/agent/runs/lost/events${query}`);
    const types = told.map(({ type }) => type);
    expect(types[0]).toBe('RUN_STARTED');
    expect(types.slice(1).toSorted()).toEqual(['MESSAGES_SNAPSHOT', 'RUN_ERROR', 'STATE_SNAPSHOT']);
    expect(endOf(told)).toBe('RUN_LOST');
  }
  const list = (await server.get('/agent/threads/th/runs')).body as unknown as Listed[];
  expect(list.map(({ status }) => status)).toEqual(['interrupted', 'finished']);
  const again = await server.post('/agent/run', runInput(gate.url, { threadId: 'th', runId: 'lost' }));
  expect(endOf(parseEvents(await again.text()))).toBe('RUN_LOST');
  expect((await server.get('/agent/runs/lost')).body).toEqual(body);
  const cancel = await server.post('/agent/runs/lost/cancel');
  expect(await cancel.json()).toMatchObject({ status: 'interrupted' });
});

test('kill -9 in the middle of a tool: the thread shows its messages, and its calls get results', async () => {
  const { server, gate } = await afterKill(FILES);
  const connect = await (await fetch(`${server.address}/agent/threads/th/events`)).text();
  expect(endOf(parseEvents(connect))).toBe('success');
  const { messages } = await heldAfter(connect);
  expect(messages.map(({ role, content }) => [role, content])).toEqual([
    ['user', 'one'],
    ['assistant', 'heard human'],
    ['user', gate.url],
    ['assistant', 'I will look.'],
  ]);
  const next = await server.say('three', 'th');
  expect(endOf(next)).toBe('success');
  await expectVerified(next);
  expect(textOf(next)).toBe('heard human ai human ai tool:c1 tool:c2 human');
  expect(ofType(next, 'TOOL_CALL_RESULT').map(({ toolCallId }) => toolCallId)).toEqual(['c1', 'c2']);
  // They are stored: the run after it need not be told again.
  const later = await server.say('four', 'th');
  expect(ofType(later, 'TOOL_CALL_RESULT')).toEqual([]);
  expect(textOf(later)).toBe('heard human ai human ai tool:c1 tool:c2 human ai human');
});

test('a graph with a breakpoint that was killed takes a new message', async () => {
  const agent = `${messagesGraph(
    `.addNode('plan', async (state) => {
      const asked = state.messages.at(-1).content;
      return { messages: [new AIMessage('planned ' + asked)] };
    })
    .addNode('act', async (state) => {
      const asked = state.messages.at(-2).content;
      if (asked.startsWith('http')) await fetch(asked);
      return { messages: [new AIMessage('acted')] };
    })
    .addEdge(START, 'plan').addEdge('plan', 'act').addEdge('act', END)`,
  ).replace(/;\s*$/, '')}
  .compile({ interruptBefore: ['act'] });`;
  const gate = await webGate();
  const cwd = tempFolder({ ...FILES, 'agent.ts': agent });
  const first = await startServer(['serve'], { cwd });
  const asked = (await first.say(gate.url, 'th')).at(-1)?.outcome as { type: string; interrupts: { id: string }[] };
  expect(asked.type).toBe('interrupt');
  const resume = [{ interruptId: asked.interrupts[0]?.id ?? '', status: 'resolved' as const }];
  const lost = first
    .post('/agent/run', runInput('', { threadId: 'th', messages: [], resume }))
    .then((response) => response.text());
  await inTime(gate.reached, () => 'the run to be under way');
  first.signal('SIGKILL');
  await expect(lost).rejects.toThrow();
  await first.exited;
  gate.open();
  const second = await startServer(['serve'], { cwd });
  const idle = await events(second, '/agent/threads/th/events');
  expect(endOf(idle)).toBe('success');
  const next = await second.say('something else', 'th');
  expect(endOf(next)).toBe('interrupt');
  const last = next.findLast(({ type }) => type === 'MESSAGES_SNAPSHOT')?.messages as { content: string }[];
  expect(last.map(({ content }) => content)).toEqual([
    gate.url,
    `planned ${gate.url}`,
    'something else',
    'planned something else',
  ]);
});

test('SIGTERM refuses the runs that wait and lets the running one end', async () => {
  const gate = await webGate();
  const cwd = tempFolder(FILES);
  const env = { SERVICE_THREAD_POLICY: 'enqueue', SERVICE_MAX_CONCURRENT_RUNS: '1' };
  const server = await startServer(['serve'], { cwd, env });
  const running = server.say(gate.url, 'th');
  await inTime(gate.reached, () => 'the run to be under way');
  const post = async (runId: string, threadId: string): Promise<WireEvent[]> =>
    parseEvents(await (await server.post('/agent/run', runInput('later', { threadId, runId }))).text());
  const waiting = [post('same-thread', 'th'), post('other-thread', 'other')];
  for (const id of ['same-thread', 'other-thread']) {
    for (;;) if ((await server.get(`/agent/runs/${id}`)).body.status === 'queued') break;
  }
  server.signal('SIGTERM');
  for (const told of await Promise.all(waiting)) {
    expect(told.map(({ type }) => type)).toEqual(['RUN_STARTED', 'RUN_ERROR']);
    expect(endOf(told)).toBe('SHUTTING_DOWN');
  }
  gate.open();
  expect(endOf(await running)).toBe('success');
  expect(await inTime(server.exited, () => 'the exit')).toBe(0);
  const second = await startServer(['serve'], { cwd });
  expect((await second.get('/agent/runs/same-thread')).body).toMatchObject({
    status: 'failed',
    errorCode: 'SHUTTING_DOWN',
    startedAt: null,
  });
  expect(endOf(await second.say('hello', 'other'))).toBe('success');
});
