import type { FastifyInstance } from 'fastify';
import { ECHO } from '../support/agents.ts';
import { createTestApp, type TestApp, type TestAppOptions } from '../support/app.ts';

// Bodies are read as whatever the test expects of them.
// biome-ignore lint/suspicious/noExplicitAny: see above
export type Json = any;

/** What the admin surface answered. */
export interface Answer {
  status: number;
  body: Json;
  headers: Record<string, unknown>;
}

/** The admin surface of a server. Paths count from `/admin/api/v1`, unless they begin with `//`. */
export interface Admin {
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  get(path: string): Promise<Answer>;
  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  patch(path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  del(path: string, headers?: Record<string, string>): Promise<Answer>;
  /** Number of the newest revision. */
  revision(): Promise<number>;
}

export function adminOf(app: FastifyInstance): Admin {
  const call: Admin['call'] = async (method, path, body, headers = {}) => {
    const response = await app.inject({
      method: method as 'GET',
      url: path.startsWith('//') ? path.slice(1) : `/admin/api/v1${path}`,
      headers,
      ...(body !== undefined && { payload: body as object }),
    });
    let parsed: Json = response.body;
    if (String(response.headers['content-type']).includes('json')) parsed = response.json();
    return { status: response.statusCode, body: parsed, headers: response.headers };
  };
  return {
    call,
    get: (path) => call('GET', path),
    post: (path, body, headers) => call('POST', path, body, headers),
    patch: (path, body, headers) => call('PATCH', path, body, headers),
    del: (path, headers) => call('DELETE', path, undefined, headers),
    async revision() {
      const { body } = await call('GET', '/revisions?limit=1');
      return body.items[0]?.number ?? 0;
    },
  };
}

/** A server with an echo agent. */
export async function withAgent(options: TestAppOptions = {}): Promise<TestApp & { admin: Admin }> {
  const files = { 'agent.ts': ECHO, ...options.files };
  const server = await createTestApp({ agent: 'agent.ts:graph', ...options, files });
  return { ...server, admin: adminOf(server.app) };
}

/** A server that nobody has configured yet. */
export async function empty(options: TestAppOptions = {}): Promise<TestApp & { admin: Admin }> {
  const server = await createTestApp(options);
  return { ...server, admin: adminOf(server.app) };
}

export const UNKNOWN_ID = '7f9c1b5e-3a5d-4c57-9d38-2f6f4b8f0c11';

export const banList = (words: string[], more: object = {}) => ({
  config_id: 'ban_list',
  banned_words: words,
  ...more,
});

export const guardrail = (name: string, words: string[] = ['alpha'], more: object = {}) => ({
  name,
  position: 'input',
  guardrail: banList(words),
  ...more,
});

export const mcp = (name: string, more: object = {}) => ({
  name,
  enabled: false,
  mcpServer: { name: 'tools', url: 'https://tools.example.org/mcp', ...more },
});

export const slack = (name: string, more: object = {}) => ({
  name,
  enabled: false,
  integration: { provider: 'SLACK', config: { botToken: 'xoxb-1', signingSecret: 's3' } },
  ...more,
});

/** A reference to a variable, as a configuration has it. */
export const ref = (name: string): string => `\${${name}}`;
