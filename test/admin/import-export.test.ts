import { describe, expect, test } from 'vitest';
import { ECHO } from '../support/agents.ts';
import { createGate, gatedAgent } from '../support/gates.ts';
import { runInput, textOf } from '../support/runs.ts';
import { openRun } from '../support/streams.ts';
import { type Admin, banList, empty, guardrail, type Json, mcp, ref, slack, withAgent } from './support.ts';

const AGENT = 'agent: {type: LANGGRAPH, config: {name: desk, graph_definition: "agent.ts:graph"}}\n';
const LISTS = [
  '/guardrails',
  '/mcp-servers',
  '/integrations',
  '/prompts',
  '/observability',
  '/sso',
  '/memory',
  '/agent',
];

/** What a new server does not have in common with the old one. */
const OWN = new Set(['id', 'createdAt', 'updatedAt']);
const strip = (value: Json): Json =>
  JSON.parse(JSON.stringify(value, (key, entry) => (OWN.has(key) ? undefined : entry)));
const everything = async (admin: Admin): Promise<Json> =>
  strip(await Promise.all(LISTS.map(async (path) => (await admin.get(path)).body)));

/** Whether a text is a secret, masked or as the export names it; an address counts whole. */
const isMasked = (value: unknown): boolean =>
  typeof value === 'string' && /^\$\{[A-Z0-9_]{6,}\}$|^https:.*\*\*\*/.test(value);

const CONTENTS = [
  'a\r\nb\r\n',
  'yes',
  '1e3',
  '\ta\n  b \n\n',
  '\u0085\u2028\u0007',
  '# no',
  '"q\' ä 😀 日本',
  `{{ a }} $${ref('B')} ${ref('C')}`,
  '',
  '---\n...\n',
];

async function fill(admin: Admin): Promise<void> {
  const rail = (name: string, sortOrder: number, more: Json = {}) => ({
    ...guardrail(name, [`wort-${name}`]),
    sortOrder,
    ...more,
  });
  const answers = [
    await admin.post('/guardrails', rail('Zweite Regel', 4)),
    await admin.post('/guardrails', rail('Erste Regel', 2, { guardrail: banList(['ß, 日本'], { api_key: 'K1' }) })),
    await admin.post('/guardrails', rail('Aus', 4, { enabled: false })),
    await admin.post('/guardrails', rail('Hinaus', 0, { position: 'output', enabled: false })),
    await admin.post(
      '/mcp-servers',
      mcp('Uhr', {
        headers: { Authorization: 'Bearer K2', Accept: 'x' },
        env: { A_TOKEN: 'K3' },
        sessionKwargs: { some_key: { nested_key: [1, null, true] } },
      }),
    ),
    await admin.post('/mcp-servers', mcp('Uhr', { url: 'https://u:K4@x.example/?token=K5' })),
    await admin.post('/integrations', slack('Töam')),
    await admin.patch('/sso', {
      sso: { enabled: false, issuer: 'https://i.example', clientId: 'c', allowedEmails: ['ä@b.example'] },
    }),
    await admin.patch('/memory', {
      agentFramework: 'LANGGRAPH',
      memory: { type: 'sqlite', db_url: 'sqlite:///./m.db' },
    }),
    await admin.patch('/agent', {
      name: 'Büro',
      description: 'line\nline',
      version: '007',
      baseUrl: 'https://b.example',
    }),
    ...(await Promise.all(
      CONTENTS.map((content) => admin.post('/prompts', { promptId: 'größe', content, tags: ['t', 'ü'] })),
    )),
  ];
  expect(answers.map(({ status }) => status).filter((status) => status > 201)).toEqual([]);
}

describe('export, import into an empty server, export', () => {
  const provider = { provider: 'LANGFUSE', enabled: false, config: { secretKey: 'K9' } };
  test.each([
    ['one exporter', provider],
    ['a list of exporters', [provider, { provider: 'PHOENIX', enabled: false, config: {} }]],
  ])('gives the same, with %s', async (_, observability) => {
    const { admin } = await withAgent();
    await fill(admin);
    expect((await admin.patch('/observability', { observability })).status).toBe(200);
    const yaml = (await admin.get('/config/export')).body as string;
    expect(yaml).not.toMatch(/\bK\d\b|xoxb-1|s3\b/);
    const names = [...yaml.matchAll(/^# Set (\w+) in the environment/gm)].map(([, name]) => name as string);
    expect(names.length).toBeGreaterThanOrEqual(7);
    const other = await empty({
      files: { 'agent.ts': ECHO },
      env: Object.fromEntries(names.map((name) => [name, `value of ${name}`])),
    });
    const imported = await other.admin.post('/config/import', { yaml });
    expect(imported, JSON.stringify(imported.body)).toMatchObject({
      status: 200,
      body: { data: { dryRun: false, revision: 1 } },
    });
    // Secrets are references there, and shown as such.
    const masked = (value: Json): Json =>
      JSON.parse(JSON.stringify(value, (_key, entry) => (isMasked(entry) ? '***' : entry)));
    expect(masked(await everything(other.admin))).toEqual(masked(await everything(admin)));
    const again = (await other.admin.get('/config/export')).body as string;
    expect(again.replace(/^# Set .*\n/gm, '')).toBe(yaml.replace(/^# Set .*\n/gm, ''));
    expect((await other.admin.post('//agent/invoke', { query: '日本', session_id: 's' })).status).toBe(429);
  });
});

test('a dry run and a validation build, and change nothing', async () => {
  const { admin } = await withAgent();
  await admin.post('/guardrails', guardrail('a'));
  const before = [await everything(admin), await admin.revision(), (await admin.get('/runtime/status')).body];
  expect(await admin.post('/config/import?dry_run=true', { yaml: AGENT })).toMatchObject({
    status: 200,
    body: { data: { dryRun: true } },
  });
  expect(await admin.post('/validate', { yaml: AGENT })).toMatchObject({ status: 200, body: { ok: true } });
  const broken = { yaml: AGENT.replace('agent.ts:graph', 'nowhere.ts:graph') };
  for (const path of ['/validate', '/config/import?dry_run=true', '/config/import?dry_run=1']) {
    expect(await admin.post(path, broken), path).toMatchObject({
      status: 422,
      body: { error: { code: 'reload_failed' } },
    });
  }
  expect((await admin.post('/config/import?dry_run=perhaps', { yaml: AGENT })).status).toBe(422);
  expect([await everything(admin), await admin.revision(), (await admin.get('/runtime/status')).body]).toEqual(before);
});

test('a configuration may be sent as an object, in the spelling of the file', async () => {
  const { admin } = await withAgent();
  const config = {
    agent: {
      type: 'LANGGRAPH',
      config: { name: 'desk', graph_definition: 'agent.ts:graph', settings: { some_key: 1 } },
    },
    guardrails: { input: [{ config_id: 'ban_list', banned_words: ['a'], display_name: 'Rail', sort_order: 7 }] },
    prompts: [{ prompt_id: 'p', version: 3, content: 'c' }],
    mcp_servers: [{ name: 'm', url: 'https://x.example', enabled: false, headers: { X_y_z: '1' } }],
  };
  expect((await admin.post('/validate', { config })).body).toEqual({ ok: true });
  expect((await admin.post('/config/import', { config })).status).toBe(200);
  expect((await admin.get('/guardrails')).body).toMatchObject([{ name: 'Rail', slug: 'rail', sortOrder: 7 }]);
  expect((await admin.get('/mcp-servers')).body).toMatchObject([{ mcpServer: { headers: { X_y_z: '1' } } }]);
  expect((await admin.get('/prompts')).body).toMatchObject([{ promptId: 'p', version: 3 }]);
});

const rails = (entry: string) => `${AGENT}guardrails:\n  input:\n    - ${entry}\n`;
test.each<[string, string, RegExp]>([
  ['a bad type', rails('{config_id: ban_list, banned_words: 5}'), /line 4/],
  ['an unknown kind', rails('{config_id: nope}'), /line 4/],
  ['a bad order', rails('{config_id: ban_list, banned_words: [a], sort_order: -1}'), /line 4|sort/],
  ['a mask', rails('{config_id: ban_list, banned_words: [a], api_key: "***"}'), /mask/],
  ['broken YAML', `${AGENT}x: [\n`, /line [23]/],
  ['a key twice', `${AGENT}${AGENT}`, /line 2/],
  ['an unset variable', AGENT.replace('desk', `"${ref('NOT_THERE')}"`), /line 1.*NOT_THERE|NOT_THERE.*line 1/],
  ['no agent', 'prompts: []\n', /agent/],
  ['text', 'hello', /configuration/],
  ['nothing', '', /configuration/],
  ['a number for the memory', `${AGENT}memory: 5\n`, /memory/],
  [
    'two prompts of one version',
    `${AGENT}prompts: [{prompt_id: p, version: 1, content: a}, {prompt_id: p, version: 1, content: b}]\n`,
    /version/,
  ],
  [
    'a bomb',
    `${AGENT}a: &a [x,x,x,x,x,x,x,x,x]\n${'bcdefghij'
      .split('')
      .map((name, index) => `${name}: &${name} [${Array(9).fill(`*${'abcdefghi'[index]}`).join(',')}]`)
      .join('\n')}\n`,
    /anchor/,
  ],
  ['a deep one', `${AGENT}x: ${'['.repeat(5_000)}${']'.repeat(5_000)}\n`, /./],
])('%s is 422, says where, and changes nothing', async (_, yaml, says) => {
  const { admin } = await withAgent();
  await admin.post('/guardrails', guardrail('a'));
  const before = [await everything(admin), await admin.revision()];
  for (const path of ['/config/import', '/validate']) {
    const refused = await admin.post(path, { yaml });
    expect(refused, path).toMatchObject({ status: 422, body: { error: { code: 'validation_failed' } } });
    expect(JSON.stringify(refused.body.detail), path).toMatch(says);
  }
  expect([await everything(admin), await admin.revision()]).toEqual(before);
});

test('an import while streams run cuts nobody off', async () => {
  const { admin, listen } = await withAgent({ files: { 'agent.ts': gatedAgent('one'), 'two.ts': gatedAgent('two') } });
  const base = await listen();
  const gate = createGate();
  const stream = await openRun(base, runInput(gate.name));
  await stream.event(({ type }) => type === 'CUSTOM');
  expect((await admin.post('/config/import', { yaml: AGENT.replace('agent.ts', 'two.ts') })).status).toBe(200);
  expect(textOf(await (await openRun(base, runInput('x'))).all())).toBe('two: x');
  gate.open();
  expect(textOf(await stream.all())).toBe(`one: ${gate.name}`);
});
