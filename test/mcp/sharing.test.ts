import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { adminOf, type Json } from '../admin/support.ts';
import { type Stage, stage } from '../support/client.ts';
import { isAlive } from '../support/machine.ts';
import { configWith, pidsIn, startEverything, TOOL_CALLER, toolsServer, traceOf } from '../support/mcp.ts';
import { parseEvents, runInput } from '../support/runs.ts';
import { agentOptions, resultsOf, textsOf } from './support.ts';

const reload = async ({ app }: Stage, body?: object): Promise<void> => {
  expect((await adminOf(app).call('POST', '//reload', body)).status).toBe(200);
};

/** Puts another configuration into service. */
const serve = async (server: Stage, mcpServers: object[]): Promise<void> => {
  writeFileSync(join(server.root, 'config.yaml'), configWith(mcpServers));
  await reload(server, { path: 'config.yaml' });
};

/** The programs that were started and still run. */
const running = (server: Stage): number[] => pidsIn(server.root).filter(isAlive);

test('a server that is the same keeps its connection; one that is not is replaced; one that is gone is closed', async () => {
  const same = toolsServer('same', { tools: 'pid' });
  const server = await stage(TOOL_CALLER, agentOptions([same, toolsServer('other', { tools: 'repeat' })]));
  const [first, second] = pidsIn(server.root).map(String);
  const said = textsOf(await server.client().say('pid'));
  expect([`done: ${first}`, `done: ${second}`]).toContain(said);
  await serve(server, [same, toolsServer('other', { tools: 'repeat,count' })]);
  await expect.poll(() => running(server)).toHaveLength(2);
  expect(pidsIn(server.root)).toHaveLength(3);
  expect(textsOf(await server.client().say('pid\ncount'))).toBe(`${said} | 1`);
  // What the agent gets of a server is decided without it.
  await serve(server, [{ ...same, tool_allow_list: ['none'] }]);
  await expect.poll(() => running(server)).toHaveLength(1);
  expect(pidsIn(server.root)).toHaveLength(3);
  await serve(server, []);
  await expect.poll(() => running(server)).toEqual([]);
});

test('a reload while a call is under way lets it end', async () => {
  const server = await stage(TOOL_CALLER, agentOptions([toolsServer('slow', { tools: 'wait' })]));
  const running = server.client().say(`wait {"file":"${join(server.root, 'now')}"}`);
  await expect.poll(() => traceOf(server.root)).toContain('waiting');
  await serve(server, []);
  expect(pidsIn(server.root).every(isAlive)).toBe(true);
  writeFileSync(join(server.root, 'now'), '');
  expect(textsOf(await running)).toBe('done: waited');
  await expect.poll(() => pidsIn(server.root).filter(isAlive)).toEqual([]);
});

test('a run that is cancelled takes its call back', async () => {
  const server = await stage(TOOL_CALLER, agentOptions([toolsServer('slow', { tools: 'wait' })]));
  const headers = { 'content-type': 'application/json' };
  const input = runInput('wait {"file":"never"}', { runId: 'run-1', protocolVersion: '1.0' });
  const running = fetch(`${server.base}/agent/run`, { method: 'POST', headers, body: JSON.stringify(input) });
  await expect.poll(() => traceOf(server.root)).toContain('waiting');
  expect((await fetch(`${server.base}/agent/runs/run-1/cancel`, { method: 'POST' })).ok).toBe(true);
  const events = parseEvents(await (await running).text());
  expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'cancelled' } });
  await expect.poll(() => traceOf(server.root)).toContain('cancelled');
});

test('fifty reloads leave no process and no handle behind', { timeout: 120_000 }, async () => {
  const everything = await startEverything('streamableHttp');
  const servers = (turn: number) => [
    toolsServer('same', { tools: 'pid' }),
    toolsServer('changed', { tools: 'repeat', turn: String(turn) }),
    { name: 'every', url: `${everything.url}/mcp`, headers: { 'X-Turn': String(turn) } },
    { name: 'broken', transport: 'stdio', command: process.execPath, args: ['-e', `process.exit(${turn % 7})`] },
  ];
  const server = await stage(TOOL_CALLER, agentOptions(servers(0)));
  const said = textsOf(await server.client().say('pid'));
  const settled = async (turns: number): Promise<void> => {
    await expect.poll(() => running(server), { timeout: 10_000 }).toHaveLength(2);
    expect(server.logs.filter(({ msg }) => msg === 'agent is live').length).toBeGreaterThanOrEqual(turns);
  };
  const handles = (): number => process.getActiveResourcesInfo().filter((name) => name !== 'Timeout').length;
  await serve(server, servers(1));
  await settled(2);
  const before = handles();
  for (let turn = 2; turn <= 51; turn += 1) await serve(server, servers(turn));
  await settled(52);
  await expect.poll(handles, { timeout: 10_000 }).toBeLessThanOrEqual(before + 2);
  // The two programs, and the shell that would end them.
  await expect.poll(() => childrenOf(process.pid)).toHaveLength(3);
  expect(textsOf(await server.client().say('pid\nrepeat'))).toBe(`${said} | {}`);
  expect(pidsIn(server.root)).toHaveLength(1 + 52);
  await server.app.close();
  expect(running(server)).toEqual([]);
  await expect.poll(() => childrenOf(process.pid)).toEqual([]);
});

/** Direct children of a process, the reference server aside; empty where the system does not tell. */
function childrenOf(pid: number): string[] {
  if (!existsSync('/proc/self/stat')) return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
        const parent = /\) \S (\d+)/.exec(stat)?.[1];
        const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ');
        return parent === String(pid) && !command.includes('esbuild') && !command.includes('streamableHttp')
          ? [command]
          : [];
      } catch {
        return [];
      }
    });
}

test('tools of one name get their servers names before it; only what the list allows is there', async () => {
  const server = await stage(
    TOOL_CALLER,
    agentOptions([
      toolsServer('north pole', { tools: 'repeat,count,fail' }, { toolAllowList: ['repeat', 'count'] }),
      toolsServer('south', { tools: 'repeat,pid' }, { tool_allow_list: ['repeat'], require_approval: ['rapeat'] }),
    ]),
  );
  expect(server.logs).toContainEqual(
    expect.objectContaining({ mcpServer: 'south', tools: ['rapeat'], msg: expect.stringContaining('does not have') }),
  );
  const { body } = await adminOf(server.app).get('/mcp-servers/status');
  expect(body.map(({ tools }: Json) => tools)).toEqual([['north_pole_repeat', 'count'], ['south_repeat']]);
  const run = await server.client().say('north_pole_repeat {"x":1}\nsouth_repeat {"x":2}\ncount');
  expect(resultsOf(run)).toEqual({ 'call-1-0': '{"x":1}', 'call-1-1': '{"x":2}', 'call-1-2': '1' });
  const { toolsGiven } = globalThis as unknown as { toolsGiven: Json[] };
  expect(toolsGiven.map(({ metadata }) => metadata.mcpServer)).toEqual(['north pole', 'north pole', 'south']);
  expect(toolsGiven[0].schema.properties.list).toEqual({ type: 'array', items: { type: 'string' } });
});
