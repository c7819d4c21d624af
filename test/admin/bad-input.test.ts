import { describe, expect, test } from 'vitest';
import { type Admin, type Answer, banList, empty, guardrail, type Json, mcp, slack } from './support.ts';

const JSON_TYPE = { 'content-type': 'application/json' };
const LANGFUSE = { provider: 'LANGFUSE', enabled: false, config: {} };
const SSO = { enabled: false, issuer: 'https://i.example', clientId: 'c' };

/** A refusal the contract knows: detail and error, and nothing of ours inside. */
function expectRefused(answer: Answer, what: string): void {
  expect(answer.status, what).toBeGreaterThanOrEqual(400);
  expect(answer.status, what).toBeLessThan(500);
  expect(answer.body, what).toMatchObject({
    detail: expect.anything(),
    error: { code: expect.any(String), message: expect.any(String) },
  });
  if (answer.status === 422) {
    expect(answer.body.detail[0], what).toEqual({
      loc: expect.any(Array),
      msg: expect.any(String),
      type: expect.any(String),
    });
    expect(answer.body.error.fieldErrors, what).toHaveLength(answer.body.detail.length);
  }
  expect(answer.headers['x-request-id'], what).toEqual(expect.any(String));
  expect(JSON.stringify(answer.body), what).not.toMatch(/node_modules|\/src\/|at Object|ZodError/);
}

const long = (length: number): string => 'x'.repeat(length);
const sub = (base: Json, path: string, value: unknown): Json => {
  const copy = structuredClone(base);
  const keys = path.split('.');
  const last = keys.pop() as string;
  let place = copy;
  for (const key of keys) place = place[key];
  if (value === undefined) delete place[last];
  else place[last] = value;
  return copy;
};
const whatsapp = { accessToken: 'a', phoneNumberId: '1', verifyToken: 'v' };

/** Bodies that are right, and for each member the values that are not. */
const RESOURCES: { path: string; method: string; good: Json; bad: Record<string, unknown[]> }[] = [
  {
    path: '/guardrails',
    method: 'POST',
    good: guardrail('G'),
    bad: {
      name: [undefined, null, 5, '', '   ', long(256), [], {}],
      enabled: ['true', 1, null, {}],
      position: [undefined, 'INPUT', 'both', 0, null],
      sortOrder: ['5', -1, 1.5, 2 ** 31, 1e300, null, true],
      guardrail: [undefined, null, [], 'x', {}, [banList(['a'])], { banned_words: ['a'] }],
      'guardrail.config_id': [undefined, null, 'BAN_LIST', 1, '__proto__', 'constructor', 'toString'],
      'guardrail.banned_words': [
        undefined,
        null,
        'a',
        [1],
        [null],
        [''],
        [['a']],
        { 0: 'a' },
        [long(201)],
        Array(10_001).fill('a'),
      ],
      'guardrail.reject_message': [5, null, long(1001), {}],
      'guardrail.api_key': [5, null, long(1001)],
    },
  },
  {
    path: '/mcp-servers',
    method: 'POST',
    good: mcp('M'),
    bad: {
      name: [undefined, null, '', long(256)],
      enabled: ['false', 0],
      mcpServer: [undefined, null, [], 'x', {}],
      'mcpServer.name': [undefined, '', 5, long(256)],
      'mcpServer.transport': ['http', 'STDIO', null, 5],
      'mcpServer.url': [
        undefined,
        null,
        '',
        'x',
        'ftp://x',
        'file:///etc/passwd',
        'javascript:1',
        5,
        `https://${long(2000)}`,
      ],
      'mcpServer.args': ['x', [1], { 0: 'x' }],
      'mcpServer.headers': ['x', [], { a: 1 }, { a: null }, { a: {} }],
      'mcpServer.env': ['x', { a: 1 }],
      'mcpServer.encodingErrorHandler': ['loose', 1],
      'mcpServer.timeoutSeconds': [0, -1, '5', 86_401],
      'mcpServer.terminateOnClose': ['yes', 1],
      'mcpServer.sessionKwargs': ['x', [], 5],
    },
  },
  {
    path: '/prompts',
    method: 'POST',
    good: { promptId: 'p', content: 'c' },
    bad: {
      promptId: [undefined, null, '', '  ', 5, long(256), {}],
      content: [undefined, null, 5, {}, [], long(1_000_001)],
      tags: ['a', [1], [null], [''], null, [long(256)], Array(101).fill('a')],
    },
  },
  {
    path: '/integrations',
    method: 'POST',
    good: slack('S'),
    bad: {
      name: [undefined, null, ''],
      integration: [undefined, null, [], {}, 'SLACK'],
      'integration.provider': [undefined, 'slack', 'SIGNAL', null],
      'integration.enabled': ['x', 5],
      'integration.config': [undefined, null, [], {}, whatsapp],
      'integration.config.signingSecret': [undefined, null, '', 5, long(20_001)],
    },
  },
  {
    path: '/memory',
    method: 'PATCH',
    good: { agentFramework: 'LANGGRAPH', memory: { type: 'sqlite', db_url: 'sqlite:///./m.db' } },
    bad: {
      agentFramework: [undefined, null, 'langgraph', 5, 'X'],
      memory: [undefined, null, [], {}, 'memory', { type: 'redis' }, { type: null }],
      'memory.db_url': [undefined, null, 5, 'm.db', 'postgres://x', `sqlite:///${long(2000)}`, { dbUrl: 'x' }],
    },
  },
  {
    path: '/observability',
    method: 'PATCH',
    good: { observability: LANGFUSE },
    bad: {
      observability: [undefined, null, 5, 'x', [5], [null], Array(21).fill(LANGFUSE)],
      'observability.provider': ['langfuse', null, 5],
      'observability.enabled': ['false', 0],
      'observability.config': [undefined, null, [], 'x', { host: 5 }, { secretKey: {} }, { host: long(2001) }],
    },
  },
  {
    path: '/sso',
    method: 'PATCH',
    good: { sso: SSO },
    bad: {
      sso: [undefined, null, [], {}, 'x'],
      'sso.enabled': ['no', 0, null],
      'sso.issuer': [undefined, '', 'x', 'ftp://a', 5],
      'sso.clientId': [undefined, '', 5],
      'sso.allowedDomains': ['a', [1], [''], {}],
      'sso.allowedEmails': ['a', [null]],
      'sso.audience': ['', 5, []],
    },
  },
];

const stored = async (admin: Admin, path: string): Promise<unknown> => {
  const { status, body } = await admin.get(path);
  return status === 404 ? [] : body;
};

describe.each(RESOURCES)('$method $path', ({ path, method, good, bad }) => {
  test('the right body is right', async () => {
    const { admin } = await empty();
    expect((await admin.call(method, path, good)).status).toBeLessThan(300);
  });

  test.each(Object.entries(bad))('%s', async (member, values) => {
    const { admin } = await empty();
    for (const value of values) {
      const answer = await admin.call(method, path, sub(good, member, value));
      const what = `${member} = ${JSON.stringify(value)?.slice(0, 60)}`;
      expect(answer.status, what).toBe(422);
      expectRefused(answer, what);
    }
    expect(await admin.revision()).toBe(0);
    expect(await stored(admin, path)).toEqual([]);
  });

  test('bodies that are no record', async () => {
    const { admin } = await empty();
    const deep = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
    const bodies: [string, Record<string, string>, number][] = [
      ['', JSON_TYPE, 422],
      ['null', JSON_TYPE, 422],
      ['[]', JSON_TYPE, 422],
      ['"x"', JSON_TYPE, 422],
      ['5', JSON_TYPE, 422],
      ['{"a":', JSON_TYPE, 422],
      ['{"__proto__": {"name": "x"}}', JSON_TYPE, 422],
      ['{"constructor": {"prototype": {"name": "x"}}}', JSON_TYPE, 422],
      [deep(100_000), JSON_TYPE, 422],
      [`${JSON.stringify(good).slice(0, -1)},"x":${deep(5_000)}}`, JSON_TYPE, 422],
      ['x', { 'content-type': 'text/plain' }, 415],
      ['a=b', { 'content-type': 'application/x-www-form-urlencoded' }, 415],
      [JSON.stringify({ ...good, filler: long(12_000_000) }), JSON_TYPE, 413],
    ];
    for (const [body, headers, status] of bodies) {
      const answer = await admin.call(method, path, body, headers);
      expectRefused(answer, body.slice(0, 60));
      expect(answer.status, body.slice(0, 60)).toBe(status);
    }
    expect(await admin.revision()).toBe(0);
    expect(await stored(admin, path)).toEqual([]);
    expect(({} as Json).name).toBeUndefined();
  });
});

test('of keys that come twice the last one counts', async () => {
  const { admin } = await empty();
  const body = '{"promptId":"a","promptId":"b","content":"c"}';
  expect((await admin.call('POST', '/prompts', body, JSON_TYPE)).body.data.promptId).toBe('b');
});

test('odd texts and keys come back as they were sent', async () => {
  const { admin } = await empty();
  for (const text of [
    '\u0000',
    '\u202e rtl',
    '😀'.repeat(50),
    'e\u0301',
    '\ud800',
    '<script>',
    '${',
    '$${A}',
    "'; drop table x; --",
  ]) {
    const made = await admin.post('/prompts', { promptId: `p ${text}`, content: text, tags: [text] });
    expect(made.status, JSON.stringify(text)).toBe(201);
    expect((await admin.get(`/prompts/${made.body.data.id}`)).body, JSON.stringify(text)).toEqual(made.body.data);
  }
  const headers = { constructor: 'a', toString: 'b', hasOwnProperty: 'c', '': 'd' };
  const { '': _empty, ...fine } = headers;
  const made = await admin.post('/mcp-servers', mcp('m', { headers: fine, sessionKwargs: { snake_key: { a_b: 1 } } }));
  expect(made.body.data.mcpServer).toMatchObject({ headers: fine, sessionKwargs: { snake_key: { a_b: 1 } } });
  expect((await admin.post('/mcp-servers', mcp('m', { headers }))).status).toBe(422);
});
