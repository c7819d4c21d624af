import { expect, test } from 'vitest';
import { adminOf } from '../admin/support.ts';
import { createTestApp } from '../support/app.ts';
import { GRAPH_FILES } from '../support/graphs.ts';
import { EVERYTHING, TOOL_CALLER } from '../support/mcp.ts';
import { startOidcProvider } from '../support/oidc.ts';
import { spanOf, startReceiver } from '../support/otlp.ts';
import { usePostgres } from '../support/postgres.ts';
import { runInput } from '../support/runs.ts';
import { runTraced } from './support.ts';

/** The same, with the words of a stored prompt before what the tools have answered. */
const AGENT = `import { getPrompt } from 'agent-engine-server/agent';\n${TOOL_CALLER}`.replace(
  "return ['done: '",
  "return [getPrompt('closing').format() + ': '",
);

const postgres = await usePostgres();

test.skipIf(postgres === undefined)(
  'a user, a prompt, a tool server, PostgreSQL and a collector in one run',
  async () => {
    const database = (await postgres?.database()) ?? expect.unreachable();
    const provider = await startOidcProvider();
    const receiver = await startReceiver();
    const config = {
      agent: {
        type: 'LANGGRAPH',
        config: {
          name: 'desk',
          graph_definition: 'agent.ts:graph',
          checkpointer: { type: 'postgres', db_url: database },
        },
      },
      sso: { issuer: provider.issuer, client_id: 'agent' },
      prompts: [
        { prompt_id: 'closing', version: 1, content: 'old', tags: [] },
        { prompt_id: 'closing', version: 2, content: 'The tools say', tags: [] },
      ],
      mcp_servers: [{ name: 'everything', transport: 'stdio', command: process.execPath, args: [EVERYTHING, 'stdio'] }],
      observability: [{ provider: 'OTLP', config: { endpoint: receiver.url } }],
    };
    const files = { ...GRAPH_FILES, 'agent.ts': AGENT, 'config.yaml': JSON.stringify(config) };
    const server = await createTestApp({ files });
    const bearer = async (email: string) => ({ authorization: `Bearer ${await provider.token({ email })}` });

    const input = runInput('echo {"message":"tea"}');
    expect((await server.app.inject({ method: 'POST', url: '/agent/run', payload: input })).statusCode).toBe(401);
    const ana = await bearer('ana@example.org');
    const { events, spans } = await runTraced(server, receiver, input, { ...ana, 'x-service-user-id': 'eve' });
    const said = events.map(({ type, delta }) => (type === 'TEXT_MESSAGE_CONTENT' ? String(delta) : '')).join('');
    expect(said).toBe('The tools say: Echo: tea');

    const root = spanOf(spans, 'AGENT');
    expect(root.attributes).toMatchObject({ 'user.id': 'ana@example.org', 'service.prompts': ['closing@2'] });
    expect(spanOf(spans, 'TOOL', 'echo').attributes).toMatchObject({ 'service.mcp_server': 'everything' });
    for (const secret of [ana.authorization.split(' ')[1] ?? '', new URL(database).password]) {
      expect(receiver.text).not.toContain(secret);
      expect(JSON.stringify(server.logs)).not.toContain(secret);
    }

    const path = `/agent/sessions/${input.threadId}`;
    const get = async (email: string) =>
      (await server.app.inject({ url: path, headers: await bearer(email) })).statusCode;
    expect([await get('ana@example.org'), await get('eve@example.org')]).toEqual([200, 404]);
    const storage = (await adminOf(server.app).get('/storage')).body;
    expect(storage.memory).toMatchObject({ backend: 'postgres', threads: 1 });
  },
);
