import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ECHO } from '../support/agents.ts';
import { createTestApp, type TestApp, writeFiles } from '../support/app.ts';
import { runEvents, runInput, textOf } from '../support/runs.ts';

const SECRET = 'planted-password-987';

async function boot(config: string, env: Record<string, string> = {}, file = 'config.yaml'): Promise<TestApp> {
  return createTestApp({ files: { 'agent.ts': ECHO, [file]: config }, env });
}

async function reasonFor(config: string, env: Record<string, string> = {}): Promise<string> {
  const { app, root } = await boot(config, env);
  const health = (await app.inject('/health')).json() as { status: string; reason?: string };
  expect(health.status).toBe('degraded');
  const reason = health.reason ?? '';
  expect(reason).not.toContain(root);
  expect(reason).not.toContain(SECRET);
  expect(reason).toMatch(/^config\.yaml cannot be used: .+\.$/s);
  return reason;
}

async function configOf({ app }: TestApp): Promise<Record<string, unknown>> {
  const response = await app.inject('/agent/config');
  expect(response.statusCode, response.body).toBe(200);
  const { config } = response.json() as { config: { type: string; config: Record<string, unknown> } };
  expect(config.type).toBe('LANGGRAPH');
  return config.config;
}

function agentBlock(config: string, more = ''): string {
  return `agent:\n  type: LANGGRAPH\n  config: { ${config} }\n${more}`;
}
const MINIMAL = 'name: desk, graph_definition: "./agent.ts:graph"';

test('the least a configuration needs is enough', async () => {
  const server = await boot(agentBlock(MINIMAL));
  expect(await configOf(server)).toEqual({
    name: 'desk',
    graph_definition: './agent.ts:graph',
    checkpointer: null,
    store: null,
    observability: null,
  });
  expect(textOf(await runEvents(server.app, runInput('hi')))).toBe('you said: hi');
});

test('the whole format is taken', async () => {
  const server = await boot(`
server: { api: { port: 8123 } }
agent:
  type: LANGGRAPH
  config:
    name: desk
    graph_definition: "./agent.ts:graph"
    checkpointer: { type: sqlite, db_url: "sqlite:///./chat.db" }
    settings: { tone: warm }
guardrails: { input: [], output: [] }
mcp_servers: []
prompts: [ { prompt_id: greet, version: 1, content: "Hello {{ who }}", tags: [latest] } ]
observability: [ { provider: LANGFUSE, enabled: false, config: { public_key: x } } ]
integrations: []
sso: { enabled: false, issuer: 'https://id.example.org', client_id: web, allowed_domains: [example.org] }
`);
  expect(await configOf(server)).toMatchObject({
    checkpointer: { type: 'sqlite', db_url: 'sqlite:///./chat.db' },
    settings: { tone: 'warm' },
  });
  expect(server.app.services.holder.current?.engine.config.server?.api?.port).toBe(8123);
  expect(server.logs.filter(({ level, msg }) => level === 40 && /not known/.test(String(msg)))).toEqual([]);
});

test.each(['engine_config', 'engineConfig'])('the wrapper %s may be around all of it', async (wrapper) => {
  const inner = agentBlock(MINIMAL).replace(/^/gm, '  ');
  const server = await boot(`${wrapper}:\n${inner}`);
  expect(await configOf(server)).toMatchObject({ name: 'desk' });
});

test('JSON is YAML too', async () => {
  const config = { agent: { type: 'LANGGRAPH', config: { name: 'desk', graph_definition: 'agent.ts' } } };
  expect(await configOf(await boot(JSON.stringify(config)))).toMatchObject({ name: 'desk' });
});

test.each([
  ['snake_case', 'graph_definition: agent.ts, checkpointer: { type: sqlite, db_url: "sqlite:///./a.db" }'],
  ['camelCase', 'graphDefinition: agent.ts, checkpointer: { type: sqlite, dbUrl: "sqlite:///./a.db" }'],
])('%s spellings of the agent block are taken', async (_name, keys) => {
  const server = await boot(agentBlock(`name: desk, ${keys}`));
  expect(await configOf(server)).toMatchObject({
    graph_definition: 'agent.ts',
    checkpointer: { type: 'sqlite', db_url: 'sqlite:///./a.db' },
  });
});

test.each(['mcp_servers', 'mcpServers'])('%s may be there and empty', async (key) => {
  await configOf(await boot(agentBlock(MINIMAL, `${key}: []\n`)));
});

test('variables are resolved everywhere, with fallbacks and escapes', async () => {
  const server = await boot(
    `server: { api: { port: "\${PORT_TO_USE}" } }
agent:
  type: "\${KIND}"
  config:
    name: "\${NAME}-desk"
    graph_definition: "\${FOLDER:-.}/agent.\${EXT}:graph"
    checkpointer: { type: "\${MEMORY:-memory}" }
    settings:
      plain: "\${NAME}"
      twice: "\${NAME}/\${NAME}"
      fallback: "\${NOT_SET:-a fallback}"
      empty_fallback: "\${NOT_SET:-}"
      of_empty: "\${EMPTY:-used}"
      empty: "[\${EMPTY}]"
      escaped: "$\${NAME}"
      url: "\${NOT_SET:-http://localhost:1/x?y=1}"
      list: ["\${NAME}", { deep: "\${NAME}" }]
      dollar: "costs $5 {NAME} $NAME"
prompts: [ { prompt_id: "\${NAME}", version: 1, content: "for \${NAME}" } ]
`,
    { KIND: 'LANGGRAPH', NAME: 'my', EXT: 'ts', PORT_TO_USE: '8124', EMPTY: '' },
  );
  expect(await configOf(server)).toMatchObject({
    name: 'my-desk',
    graph_definition: './agent.ts:graph',
    checkpointer: { type: 'memory' },
    settings: {
      plain: 'my',
      twice: 'my/my',
      fallback: 'a fallback',
      empty_fallback: '',
      of_empty: 'used',
      empty: '[]',
      escaped: `\${NAME}`,
      url: 'http://localhost:1/x?y=1',
      list: ['my', { deep: 'my' }],
      dollar: 'costs $5 {NAME} $NAME',
    },
  });
  const { config } = server.app.services.holder.current?.engine ?? {};
  expect(config?.server?.api?.port).toBe(8124);
  expect(config?.prompts).toMatchObject([{ promptId: 'my', content: 'for my' }]);
});

test('a variable’s value that looks like a variable is not resolved a second time', async () => {
  const server = await boot(agentBlock(`${MINIMAL}, settings: { a: "\${OUTER}" }`), {
    OUTER: `\${INNER}`,
    INNER: SECRET,
  });
  expect(await configOf(server)).toMatchObject({ settings: { a: `\${INNER}` } });
});

test('every variable that is not set is named with its line', async () => {
  const reason = await reasonFor(`agent:
  type: LANGGRAPH
  config:
    name: "\${MISSING_ONE}"
    graph_definition: agent.ts
    settings:
      list:
        - fine
        - "\${MISSING_TWO}"
`);
  expect(reason).toMatch(/line 4.*MISSING_ONE/);
  expect(reason).toMatch(/line 9.*MISSING_TWO/);
});

test('the file is taken over at a reload that names it', async () => {
  const { app, root } = await boot(agentBlock(`name: "\${NOT_THERE:-first}", graph_definition: agent.ts`));
  writeFileSync(join(root, 'config.yaml'), agentBlock('name: second, graph_definition: agent.ts'));
  // The database rules once it holds an agent; the file has to be named to be taken over.
  expect((await app.inject({ method: 'POST', url: '/reload' })).statusCode).toBe(200);
  expect((await app.inject('/health')).json()).toMatchObject({ agent_name: 'first' });
  const named = await app.inject({ method: 'POST', url: '/reload', payload: { path: 'config.yaml' } });
  expect(named.statusCode, named.body).toBe(200);
  expect((await app.inject('/health')).json()).toMatchObject({ agent_name: 'second' });
});

test.each([
  ['bad indentation', 'agent:\n  type: LANGGRAPH\n config: 1\n', 3],
  ['an open bracket', 'agent:\n  type: [\n', 3],
  ['a tab', 'agent:\n\ttype: LANGGRAPH\n', 2],
  ['an unclosed quote', 'agent:\n  type: "LANGGRAPH\n', undefined],
  ['two documents', `${agentBlock(MINIMAL)}---\nagent: {}\n`, 4],
])('YAML with %s is named with its line', async (_name, text, line) => {
  const reason = await reasonFor(text);
  expect(reason).toMatch(/line \d+/);
  if (line !== undefined) expect(Number(/line (\d+)/.exec(reason)?.[1])).toBeGreaterThanOrEqual(line - 1);
});

test('a key given twice is a fault with its line', async () => {
  const reason = await reasonFor(`agent:\n  type: LANGGRAPH\n  type: LANGGRAPH\n  config: { ${MINIMAL} }\n`);
  expect(reason).toMatch(/line 3/);
  expect(reason).toMatch(/twice|unique|DUPLICATE/i);
});

test('anchors and aliases work; a bomb of them is refused at once', async () => {
  const server = await boot(
    `shared: &shared { tone: warm }\n${agentBlock(`${MINIMAL}, settings: { a: *shared, b: *shared }`)}`,
  );
  expect(await configOf(server)).toMatchObject({ settings: { a: { tone: 'warm' }, b: { tone: 'warm' } } });

  const levels = Array.from(
    { length: 30 },
    (_, index) => `  l${index + 1}: &l${index + 1} [${Array(10).fill(`*l${index}`).join(', ')}]`,
  );
  const startedAt = performance.now();
  const reason = await reasonFor(`x:\n  l0: &l0 [boom]\n${levels.join('\n')}\n${agentBlock(MINIMAL)}`);
  expect(performance.now() - startedAt).toBeLessThan(3_000);
  expect(reason).toMatch(/anchor|alias/);
});

test('an alias that refers to itself is refused, not followed forever', async () => {
  const { app } = await boot(agentBlock(`${MINIMAL}, settings: &me { again: *me }`));
  const health = (await app.inject('/health')).json() as { status: string };
  expect(['ok', 'degraded']).toContain(health.status);
  expect((await app.inject('/agent/config')).statusCode).toBeLessThan(504);
});

test.each([
  ['an empty file', ''],
  ['only comments', '# nothing\n'],
  ['a list', '- agent\n'],
  ['a word', 'agent\n'],
  ['null', 'null\n'],
])('%s holds no configuration', async (_name, text) => {
  await reasonFor(text);
});

test('unknown keys warn and are ignored', async () => {
  const server = await boot(agentBlock(MINIMAL, 'agnt: 1\nx-mine: { a: 1 }\n'));
  await configOf(server);
  const warnings = server.logs.filter(({ level }) => level === 40).map(({ msg }) => String(msg));
  expect(warnings.some((text) => text.includes('agnt'))).toBe(true);
});

test.each([
  [
    'guardrails',
    'guardrails: { output: [ { config_id: ban_list, banned_words: [x] } ] }',
    /Output guardrails are not supported/,
  ],
  [
    'mcp_servers',
    'mcp_servers: [ { name: files, transport: websocket, url: "ws://x" } ]',
    /websocket is not supported/,
  ],
  ['mcpServers', 'mcpServers: [ { name: files } ]', /needs a url/],
  ['observability', 'observability: [ { provider: DATADOG, enabled: true, config: {} } ]', /not supported/],
  ['sso', 'sso: { issuer: "https://id.example.org" }', /clientId/],
  ['integrations', 'integrations: [ { provider: SLACK, enabled: true } ]', /not supported/],
])('%s is refused in a sentence with its line, never ignored', async (_name, layer, sentence) => {
  const reason = await reasonFor(agentBlock(MINIMAL, `${layer}\n`));
  expect(reason).toMatch(sentence);
  expect(reason).toMatch(/line 4/);
});

test('every fault is told, not only the first', async () => {
  const reason = await reasonFor('agent:\n  type: LANGGRAPH\n  config: { }\nprompts: [ { version: 0, content: 1 } ]\n');
  for (const word of ['name', 'graph_definition', 'version', 'content']) expect(reason).toContain(word);
});

test.each([
  ['missing agent', 'prompts: []\n', /agent/],
  ['empty name', agentBlock('name: "", graph_definition: agent.ts'), /name/],
  ['no definition', agentBlock('name: desk'), /graph_definition/],
  ['an unknown store', agentBlock(`${MINIMAL}, store: { type: redis }`), /store/],
  ['a port out of range', `server: { api: { port: 70000 } }\n${agentBlock(MINIMAL)}`, /port/],
])('a configuration with a fault: %s', async (_name, text, expected) => {
  expect(await reasonFor(text)).toMatch(expected);
});

test('missing fields are called missing', async () => {
  const reason = await reasonFor(agentBlock('name: desk'));
  expect(reason).toMatch(/missing|required/i);
});

test.each(['ADK', 'CREWAI', 'CUSTOM', 'NONSENSE', 'langgraph'])(
  'the framework %s is refused by name, with what works',
  async (type) => {
    const reason = await reasonFor(`agent:\n  type: ${type}\n  config: { name: desk, agent: "x.ts:y" }\n`);
    expect(reason).toMatch(/line 2/);
    expect(reason).toContain('LANGGRAPH');
  },
);

test.each(['mysql', 'redis', '', 'SQLITE'])('the checkpointer kind %j is refused with what works', async (type) => {
  const reason = await reasonFor(
    agentBlock(`${MINIMAL}, checkpointer: { type: "${type}", db_url: "postgres://app:${SECRET}@db/agents" }`),
  );
  expect(reason).toMatch(/line 3/);
  expect(reason).toMatch(/memory/);
  expect(reason).toMatch(/sqlite/);
  expect(reason).toMatch(/postgres/);
});

test.each(['chat.db', 'mysql://x', `postgres://app:${SECRET}@db/x`, 'sqlite:/chat.db', ''])(
  'the db_url %j is refused with how one looks',
  async (url) => {
    const reason = await reasonFor(agentBlock(`${MINIMAL}, checkpointer: { type: sqlite, db_url: "${url}" }`));
    expect(reason).toMatch(/db_url/);
    expect(reason).toMatch(/sqlite:\/\/\//);
  },
);

test('an sqlite checkpointer without its db_url is told so', async () => {
  expect(await reasonFor(agentBlock(`${MINIMAL}, checkpointer: { type: sqlite }`))).toMatch(/db_url/);
});

test('an SQLite file that cannot be opened is a boot error that says what to check', async () => {
  const server = await createTestApp({
    files: {
      'agent.ts': ECHO,
      'config.yaml': agentBlock(`${MINIMAL}, checkpointer: { type: sqlite, db_url: "sqlite:///./agent.ts/chat.db" }`),
    },
  });
  const { status, reason = '' } = (await server.app.inject('/health')).json() as { status: string; reason?: string };
  expect(status).toBe('degraded');
  expect(reason).toMatch(/memory cannot be opened.*db_url/);
  expect(reason).not.toContain(server.root);
  // Mended, it boots.
  writeFiles(server.root, { 'config.yaml': agentBlock(MINIMAL) });
  const mended = await server.app.inject({ method: 'POST', url: '/reload', payload: { path: 'config.yaml' } });
  expect(mended.statusCode, mended.body).toBe(200);
});

test('a file that is no SQLite database is a boot error too', async () => {
  const server = await createTestApp({
    files: {
      'agent.ts': ECHO,
      'chat.db': 'this is text, not a database. '.repeat(100),
      'config.yaml': agentBlock(`${MINIMAL}, checkpointer: { type: sqlite, db_url: "sqlite:///./chat.db" }`),
    },
  });
  const { status } = (await server.app.inject('/health')).json() as { status: string };
  expect(status).toBe('degraded');
});

test.each([
  ['memory', '{ type: memory }', true],
  ['sqlite', '{ type: sqlite, db_url: "sqlite:///./data/deep/chat.db" }', true],
  ['sqlite in memory', '{ type: sqlite, db_url: "sqlite:///:memory:" }', true],
  ['null', 'null', true],
])('the checkpointer %s keeps conversations', async (_name, checkpointer, keeps) => {
  const server = await boot(agentBlock(`${MINIMAL}, checkpointer: ${checkpointer}`));
  const input = runInput('one');
  await runEvents(server.app, input);
  await runEvents(server.app, runInput('two', { threadId: input.threadId }));
  const detail = (await server.app.inject(`/agent/sessions/${input.threadId}`)).json() as { messages: unknown[] };
  expect(detail.messages.length === 4).toBe(keeps);
});

test('a configuration file in another place is found by SERVICE_CONFIG_PATH, agents count from the working folder', async () => {
  const { app } = await boot(agentBlock(MINIMAL), { SERVICE_CONFIG_PATH: './other.yaml' }, 'other.yaml');
  expect((await app.inject('/health')).json()).toMatchObject({ status: 'ok', agent_name: 'desk' });
});

test('a byte order mark and CRLF in the file are no fault', async () => {
  const server = await boot(`\uFEFF${agentBlock(MINIMAL).replaceAll('\n', '\r\n')}`);
  expect(await configOf(server)).toMatchObject({ name: 'desk' });
});

test('prototype keys in the file change nothing', async () => {
  const { app } = await boot(agentBlock(`${MINIMAL}, settings: { __proto__: { polluted: true } }`));
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  expect((await app.inject('/health')).statusCode).toBe(200);
});
