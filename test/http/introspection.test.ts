import type { FastifyInstance } from 'fastify';
import { expect, test } from 'vitest';
import { ECHO } from '../support/agents.ts';
import { createTestApp } from '../support/app.ts';
import { runEvents, runInput } from '../support/runs.ts';

const BRANCHING = `
import { Annotation, END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('triage', () => ({}))
  .addNode('answer', () => ({}))
  .addNode('escalate', () => ({}))
  .addEdge(START, 'triage')
  .addConditionalEdges('triage', () => 'answer', { easy: 'answer', hard: 'escalate' })
  .addEdge('answer', END)
  .addEdge('escalate', END);
`;

async function serve(agent: string, more: Parameters<typeof createTestApp>[0] = {}): Promise<FastifyInstance> {
  const { app } = await createTestApp({ agent: 'agent.ts', ...more, files: { 'agent.ts': agent, ...more.files } });
  return app;
}

async function get<T>(app: FastifyInstance, url: string): Promise<T> {
  const response = await app.inject(url);
  expect(response.statusCode, response.body).toBe(200);
  return response.json() as T;
}

interface Graph {
  format_version: string;
  metadata: { framework: string; agent_name: string; root_id: string; warnings: string[] };
  nodes: Record<string, unknown>[];
  edges: { source: string; target: string; kind: string; condition: string | null; label: string | null }[];
}

test('the graph has the form of the contract', async () => {
  const graph = await get<Graph>(await serve(BRANCHING), '/agent/graph');
  expect(graph.format_version).toBe('1');
  expect(graph.metadata).toEqual({
    framework: 'LANGGRAPH',
    agent_name: 'agent',
    root_id: expect.stringMatching(/^node:/),
    warnings: [],
  });
  for (const node of graph.nodes) {
    expect(node).toMatchObject({ kind: 'agent', agent_kind: 'custom', is_root: node.id === graph.metadata.root_id });
    expect(Object.keys(node).sort()).toEqual([
      'agent_kind',
      'description',
      'id',
      'is_root',
      'kind',
      'loop_max_iterations',
      'model',
      'name',
    ]);
  }
  const ids = graph.nodes.map(({ id }) => id);
  expect(ids).toEqual(expect.arrayContaining(['node:triage', 'node:answer', 'node:escalate']));
  expect(ids).not.toContain('node:__end__');
  expect(graph.nodes.filter(({ is_root }) => is_root)).toHaveLength(1);
  for (const edge of graph.edges) {
    expect(edge.kind).toBe('graph_edge');
    expect(ids).toContain(edge.source);
    expect(ids).toContain(edge.target);
    expect(Object.keys(edge).sort()).toEqual(['condition', 'kind', 'label', 'order', 'source', 'target']);
  }
  const branch = graph.edges.find(({ target }) => target === 'node:escalate');
  expect(branch).toMatchObject({ source: 'node:triage', condition: 'hard' });
});

test('the mermaid and ascii drawings are objects of one string', async () => {
  const app = await serve(BRANCHING);
  const { mermaid, ...noMore } = await get<{ mermaid: string }>(app, '/agent/graph/mermaid');
  expect(noMore).toEqual({});
  expect(mermaid).toMatch(/graph TD/);
  expect(mermaid).toContain('triage');
  const { ascii, ...nothing } = await get<{ ascii: string }>(app, '/agent/graph/ascii');
  expect(nothing).toEqual({});
  expect(ascii).toContain('LANGGRAPH');
  expect(ascii).toContain('agent');
  for (const name of ['triage', 'answer', 'escalate']) expect(ascii).toContain(name);
});

interface Capabilities {
  version: string;
  framework: string;
  capabilities: { streaming: boolean; history: boolean; thread_id: boolean };
  input: { mode: string; schema: { properties?: object; required?: string[] } | null };
  output: { mode: string; schema: { properties?: object } | null };
  history: object | null;
  agui: Record<string, unknown>;
}

test('a chat agent with memory', async () => {
  const { agui, ...rest } = await get<Capabilities>(await serve(ECHO), '/agent/capabilities');
  expect(rest).toEqual({
    version: '1',
    framework: 'LANGGRAPH',
    capabilities: { streaming: true, history: true, thread_id: true },
    input: { mode: 'chat', schema: null },
    output: { mode: 'text', schema: null },
    history: { canList: true, canGet: true },
  });
  expect(agui).toMatchObject({
    identity: { name: 'agent' },
    transport: { streaming: true, websocket: false, httpBinary: false },
    tools: { supported: true, clientProvided: true },
    state: { snapshots: true, persistentState: true },
    humanInTheLoop: { supported: true, interrupts: true },
  });
});

test('a chat agent without memory', async () => {
  const app = await serve(ECHO, { defaultCheckpointer: undefined });
  const found = await get<Capabilities>(app, '/agent/capabilities');
  expect(found.capabilities).toEqual({ streaming: true, history: false, thread_id: false });
  expect(found.history).toBeNull();
  expect(found.agui).toMatchObject({ state: { persistentState: false }, humanInTheLoop: { interrupts: false } });
});

const STRUCTURED = `
import { END, START, StateGraph } from '@langchain/langgraph';
import { z } from 'zod';
const Input = z.object({ city: z.string(), days: z.number().int().default(1) });
const Output = z.object({ forecast: z.string() });
export const graph = new StateGraph({ state: Input.extend(Output.shape), input: Input, output: Output })
  .addNode('work', (state) => ({ forecast: state.city + ' ' + state.days }))
  .addEdge(START, 'work').addEdge('work', END);
`;

test('a structured agent advertises the schemas of its input and output', async () => {
  const found = await get<Capabilities>(await serve(STRUCTURED), '/agent/capabilities');
  expect(found.input.mode).toBe('structured');
  expect(found.input.schema).toMatchObject({ type: 'object', properties: { city: { type: 'string' } } });
  expect(found.input.schema?.required).toEqual(['city']);
  expect(Object.keys(found.input.schema?.properties ?? {})).toEqual(['city', 'days']);
  expect(found.output.mode).toBe('structured');
  expect(Object.keys(found.output.schema?.properties ?? {})).toEqual(['forecast']);
  expect(found.agui).toMatchObject({ output: { structuredOutput: true } });
});

test('a field with a default may be left out of structured input', async () => {
  const app = await serve(STRUCTURED);
  const events = await runEvents(app, runInput('{"city":"Lyon"}'));
  expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED', result: { forecast: expect.stringMatching(/^Lyon/) } });
});

test.each(['Lyon', '{"days":1}', '{"city":5}', '[]', 'null', ''])(
  'structured input that does not fit (%j) is VALIDATION_ERROR',
  async (text) => {
    const app = await serve(STRUCTURED);
    const events = await runEvents(app, runInput(text));
    expect(events.map(({ type }) => type)).toEqual(['RUN_STARTED', 'RUN_ERROR']);
    expect(events[1]).toMatchObject({ code: 'VALIDATION_ERROR' });
    const right = await runEvents(app, runInput('{"city":"Lyon","days":2}'));
    expect(right.at(-1)).toMatchObject({ type: 'RUN_FINISHED', result: { forecast: 'Lyon 2' } });
  },
);

test('messages beside other keys are still a chat', async () => {
  const agent = `
import { Annotation, END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
const State = Annotation.Root({ ...MessagesAnnotation.spec, notes: Annotation() });
export const graph = new StateGraph(State).addNode('work', () => ({})).addEdge(START, 'work').addEdge('work', END);`;
  const found = await get<Capabilities>(await serve(agent), '/agent/capabilities');
  expect(found.input).toEqual({ mode: 'chat', schema: null });
});

const PLANTED = 'planted-secret-5150';

test('the configuration is shown after defaults and without any secret', async () => {
  const config = `
agent:
  type: LANGGRAPH
  config:
    name: desk
    graph_definition: "agent.ts:graph"
    checkpointer: { type: sqlite, db_url: "sqlite:///./chat.db" }
    settings:
      tone: warm
      max_tokens: 100
      api_key: ${PLANTED}
      apiKey: ${PLANTED}
      OPENAI_API_KEY: ${PLANTED}
      token: ${PLANTED}
      client_secret: ${PLANTED}
      password: ${PLANTED}
      Authorization: Bearer ${PLANTED}
      database: postgres://app:${PLANTED}@db.example/agents
      broker: amqp://user:${PLANTED}@mq:5672/x?y=1
      webhook: https://${PLANTED}@hooks.example/x
      query: https://api.example/x?api_key=${PLANTED}&city=Lyon
      text: "connect to redis://:${PLANTED}@cache:6379 please"
      secrets: { main: ${PLANTED}, list: [${PLANTED}] }
      tokens: [${PLANTED}, ${PLANTED}]
      deep: { list: [ { access_token: ${PLANTED} } ] }
      headers: { x-api-key: ${PLANTED}, Cookie: "session=${PLANTED}" }
      pin: { password: 12345678 }
`;
  const { app } = await createTestApp({ files: { 'agent.ts': ECHO, 'config.yaml': config } });
  const response = await app.inject('/agent/config');
  const body = response.json() as { config: { type: string; config: { settings: Record<string, unknown> } } };
  expect(body.config).toMatchObject({
    type: 'LANGGRAPH',
    config: {
      name: 'desk',
      graph_definition: 'agent.ts:graph',
      checkpointer: { type: 'sqlite', db_url: 'sqlite:///./chat.db' },
      store: null,
      observability: null,
    },
  });
  const { settings } = body.config.config;
  expect(settings.tone).toBe('warm');
  expect(settings.max_tokens).toBe(100);
  expect(settings.database).toBe('postgres://app:***@db.example/agents');
  expect(String(settings.query)).toContain('city=Lyon');
  // Each by its name, so that a failure says which one shows.
  const showing = Object.entries(settings).filter(([, value]) => JSON.stringify(value).includes(PLANTED));
  expect(showing.map(([name]) => name)).toEqual([]);
  expect(JSON.stringify(settings.pin)).not.toContain('12345678');
});

test('what agent code is given is not masked', async () => {
  const agent = `
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { AIMessage } from '@langchain/core/messages';
export default ({ settings }) => new StateGraph(MessagesAnnotation)
  .addNode('work', () => ({ messages: [new AIMessage(settings.api_key === '${PLANTED}' ? 'has it' : 'masked')] }))
  .addEdge(START, 'work').addEdge('work', END);`;
  const config = `agent: { type: LANGGRAPH, config: { name: desk, graph_definition: agent.ts, settings: { api_key: ${PLANTED} } } }`;
  const { app } = await createTestApp({ files: { 'agent.ts': agent, 'config.yaml': config } });
  const response = await app.inject({
    method: 'POST',
    url: '/agent/invoke',
    payload: { session_id: 's', query: 'q' },
  });
  expect(response.json()).toEqual({ session_id: 's', response: 'has it' });
});

test('invoke answers with the last message and keeps the conversation', async () => {
  const app = await serve(ECHO);
  const ask = (query: string) =>
    app.inject({ method: 'POST', url: '/agent/invoke', payload: { session_id: 'th-1', query } });
  const first = await ask('hello');
  expect(first.statusCode).toBe(200);
  expect(first.json()).toEqual({ session_id: 'th-1', response: 'you said: hello' });
  expect(first.headers.deprecation).toBe('true');
  expect(first.headers.link).toBe('</agent/run>; rel="successor-version"');
  await ask('again');
  const detail = await get<{ messages: unknown[] }>(app, '/agent/sessions/th-1');
  expect(detail.messages).toHaveLength(4);
});

test('invoke of an agent that fails is a 500 that tells nothing', async () => {
  const agent = ECHO.replace('(state) => ({', `(state) => { throw new Error('${PLANTED}'); return ({`).replace(
    '] }))',
    '] }); })',
  );
  const app = await serve(agent);
  const response = await app.inject({
    method: 'POST',
    url: '/agent/invoke',
    payload: { session_id: 'th-1', query: 'q' },
  });
  expect(response.statusCode).toBe(500);
  expect(response.body).not.toContain(PLANTED);
  expect(Object.keys(response.json() as object)).toEqual(['detail']);
});
