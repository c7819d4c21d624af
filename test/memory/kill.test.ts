import { describe, expect, test } from 'vitest';
import { GATED } from '../cli/agents.ts';
import { inTime, type Server, startServer } from '../cli/command.ts';
import { webGate } from '../cli/web.ts';
import { endOf } from '../runs/support.ts';
import { tempFolder } from '../support/app.ts';
import { GRAPH_FILES } from '../support/graphs.ts';
import { LASTING } from '../support/memories.ts';
import { usePostgres } from '../support/postgres.ts';
import { PASSWORD } from '../support/postgres-cluster.ts';
import { parseEvents, runInput } from '../support/runs.ts';

const postgres = await usePostgres();

const CONFIG = `
agent:
  type: LANGGRAPH
  config:
    name: keeper
    graph_definition: "./agent.ts:graph"
    checkpointer: { type: "\${KIND}", db_url: "\${CHAT_DB}" }
`;
const FILES = { ...GRAPH_FILES, 'agent.ts': GATED, 'config.yaml': CONFIG };

async function textsOf(server: Server, threadId: string): Promise<string[]> {
  const { body } = await server.get(`/agent/sessions/${threadId}`);
  return (body.messages as { content: string }[]).map(({ content }) => content);
}

test.each(LASTING)(
  'kill -9 in the middle of a run, old steps being deleted: all that was said is there (%s)',
  async (_, memory) => {
    const checkpointer = (await memory()) as { type: string; db_url: string };
    const cwd = tempFolder(FILES);
    const env = { KIND: checkpointer.type, CHAT_DB: checkpointer.db_url, SERVICE_CHECKPOINT_KEEP: '2' };
    const said: string[] = [];
    for (let round = 1; round <= 3; round += 1) {
      const server = await startServer(['serve'], { cwd, env });
      for (let turn = 0; turn < 3; turn += 1) {
        const heard = said.filter((_one, at) => at % 2 === 0).length + 1;
        expect(endOf(await server.say('one more', 'th'))).toBe('success');
        said.push('one more', `heard ${heard}`);
      }
      const gate = await webGate();
      const lost = server.post('/agent/run', runInput(gate.url, { threadId: 'lost' })).then((answer) => answer.text());
      await inTime(gate.reached, () => 'the run to be under way');
      server.signal('SIGKILL');
      await expect(lost).rejects.toThrow();
      await server.exited;
      gate.open();
      const next = await startServer(['serve'], { cwd, env });
      expect(await textsOf(next, 'th')).toEqual(said);
      expect(endOf(await next.say('after the kill', 'lost'))).toBe('success');
      next.signal('SIGKILL');
      await next.exited;
    }
  },
  90_000,
);

describe.skipIf(postgres === undefined)('PostgreSQL', () => {
  test('stops under a server in the middle of a run and comes back: the process lives and shows no password', async () => {
    const cluster = await (postgres as NonNullable<typeof postgres>).cluster();
    const cwd = tempFolder(FILES);
    const env = { KIND: 'postgres', CHAT_DB: cluster.url('postgres'), SERVICE_CHECKPOINT_KEEP: '2' };
    const server = await startServer(['serve'], { cwd, env });
    await server.say('hello', 'th');
    const gate = await webGate();
    const running = server.post('/agent/run', runInput(gate.url, { threadId: 'th' })).then((answer) => answer.text());
    await inTime(gate.reached, () => 'the run to be under way');
    cluster.stop();
    gate.open();
    expect(endOf(parseEvents(await running))).toBe('FRAMEWORK_ERROR');
    expect(endOf(await server.say('while it is away', 'th'))).toBe('FRAMEWORK_ERROR');
    const { body } = await server.get('/admin/api/v1/storage');
    expect(body.memory).toMatchObject({
      backend: 'postgres',
      bytes: null,
      error: expect.stringMatching(/cannot be asked/),
    });
    await cluster.start();
    expect(endOf(await server.say('back again', 'th'))).toBe('success');
    expect(await textsOf(server, 'th')).toContain('back again');
    expect((await server.get('/admin/api/v1/storage')).body.memory).toMatchObject({ backend: 'postgres', error: null });
    const output = server.output();
    expect(output).not.toContain(PASSWORD);
    expect(output).not.toContain('nobody handled');
    server.signal('SIGTERM');
    expect(await inTime(server.exited, () => 'the exit')).toBe(0);
  });
});
