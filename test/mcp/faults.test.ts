import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { adminOf, type Json } from '../admin/support.ts';
import { type Stage, stage } from '../support/client.ts';
import { isAlive } from '../support/machine.ts';
import { pidsIn, TOOL_CALLER, toolsServer, traceOf } from '../support/mcp.ts';
import { agentOptions, resultsOf, textsOf } from './support.ts';

const statusOf = async (server: Stage, name: string): Promise<Json> => {
  const { body } = await adminOf(server.app).get('/mcp-servers/status');
  return body.find((one: Json) => one.name === name);
};

test('servers that cannot be used are told, and fail neither start nor reload nor run', async () => {
  const gone = { name: 'gone', transport: 'stdio', command: 'no-such-program' };
  const server = await stage(
    TOOL_CALLER,
    agentOptions([
      toolsServer('good'),
      toolsServer('hang', { mode: 'hang' }, { timeoutSeconds: 0.5 }),
      toolsServer('garbage', { mode: 'garbage' }),
      toolsServer('exit', { mode: 'exit' }, { env: { LICENCE_KEY: 'sk-123456' } }),
      gone,
    ]),
  );
  const admin = adminOf(server.app);
  expect(textsOf(await server.client().say('repeat'))).toBe('done: {}');
  expect((await admin.call('POST', '//reload')).status).toBe(200);
  const { body } = await admin.get('/mcp-servers/status');
  expect(body[0]).toEqual({
    name: 'good',
    transport: 'stdio',
    state: 'connected',
    reason: null,
    since: expect.any(String),
    tools: ['repeat'],
  });
  const failures = [
    { name: 'hang', reason: 'No answer within 0.5 seconds' },
    { name: 'garbage', reason: 'The program prints text that is no MCP message' },
    { name: 'exit', reason: 'The program ended with code 3: Error: no licence for ***' },
    { name: 'gone', reason: 'command: there is no such program' },
  ];
  expect(body.slice(1)).toMatchObject(failures.map((failure) => ({ ...failure, tools: [] })));
  const status = await admin.get('/runtime/status');
  expect(status.body.failures).toEqual(failures.map((failure) => ({ ...failure, kind: 'mcp' })));
  expect((await admin.get('//health')).body).toMatchObject({ status: 'ok', agent_ready: true });
  const warned = server.logs.filter(({ msg }) => msg === 'an MCP server is not there').map((line) => line.mcpServer);
  expect(new Set(warned)).toEqual(new Set(['hang', 'garbage', 'exit', 'gone']));
  expect(JSON.stringify(server.logs)).not.toContain('sk-123456');
});

test('a server that comes later has its tools in the next run, without a reload', async () => {
  const server = await stage(TOOL_CALLER, agentOptions([toolsServer('late', { mode: 'absent' }), toolsServer('good')]));
  expect(await statusOf(server, 'late')).toMatchObject({
    reason: 'The program ended with code 4: Error: not yet',
    tools: [],
  });
  // The name is taken by both once the other is there.
  expect(textsOf(await server.client().say('repeat'))).toBe('done: {}');
  writeFileSync(join(server.root, 'present'), '');
  await expect.poll(async () => (await statusOf(server, 'late')).tools, { timeout: 10_000 }).toEqual(['late_repeat']);
  expect(textsOf(await server.client().say('late_repeat {"a":1}\ngood_repeat'))).toBe('done: {"a":1} | {}');
});

test('a server whose list changes has its new tools in the next run', async () => {
  const server = await stage(TOOL_CALLER, agentOptions([toolsServer('garden', { tools: 'grow,repeat' })]));
  const [pid] = pidsIn(server.root);
  await server.client().say('grow');
  await expect.poll(async () => (await statusOf(server, 'garden')).tools).toContain('grown');
  expect(textsOf(await server.client().say('grown {"a":1}'))).toBe('done: {"a":1}');
  expect(pidsIn(server.root)).toEqual([pid]);
});

test('a server that dies in mid-call costs that call, and is started again', async () => {
  const server = await stage(TOOL_CALLER, agentOptions([toolsServer('frail', { tools: 'die,pid,count' })]));
  const user = server.client();
  const run = await user.say('die');
  expect(resultsOf(run)['call-1-0']).toMatch(
    /^The tool die of the MCP server frail could not be called: it was lost in mid-call: The program ended with code 9$/,
  );
  expect(textsOf(run)).toMatch(/^done: /);
  expect(traceOf(server.root).filter((line) => line === 'call die {}')).toHaveLength(1);
  await expect.poll(async () => (await statusOf(server, 'frail')).state, { timeout: 10_000 }).toBe('connected');
  const [first, second] = pidsIn(server.root);
  expect(textsOf(await server.client().say('pid'))).toBe(`done: ${second}`);
  expect(isAlive(first as number)).toBe(false);
});

test('answers that are garbage, errors or too long reach the model as errors', async () => {
  const server = await stage(TOOL_CALLER, agentOptions([toolsServer('odd', { tools: 'garbage,fail,flood,repeat' })]));
  const [pid] = pidsIn(server.root);
  const user = server.client();
  const run = await user.say('garbage\nfail\nflood {"length":3000000}\nflood {"length":100000}');
  const results = resultsOf(run);
  expect(results['call-1-0']).toMatch(/The answer is not what such a server sends/);
  expect(results['call-1-1']).toBe('no such thing');
  expect(results['call-1-2']).toMatch(/^The result is too long: 3000000 characters, where 2097152 are allowed/);
  expect(results['call-1-3']).toHaveLength(100_000);
  const errors = user.messages.filter((message) => message.role === 'tool' && message.error !== undefined);
  expect(errors).toHaveLength(3);
  expect(textsOf(await server.client().say('repeat'))).toBe('done: {}');
  expect(pidsIn(server.root)).toEqual([pid]);
});

test('one that floods its connection loses it', async () => {
  const server = await stage(TOOL_CALLER, agentOptions([toolsServer('wide', { tools: 'flood,repeat' })]));
  const run = await server.client().say('flood {"length":9000000}');
  expect(resultsOf(run)['call-1-0']).toMatch(/The program prints a message that is too long/);
  await expect.poll(async () => (await statusOf(server, 'wide')).state, { timeout: 10_000 }).toBe('connected');
  expect(textsOf(await server.client().say('repeat'))).toBe('done: {}');
});

test('a call that takes too long is given up', async () => {
  const server = await stage(
    TOOL_CALLER,
    agentOptions([toolsServer('slow', { tools: 'wait,repeat' }, { timeoutSeconds: 2 })]),
  );
  const run = await server.client().say('wait {"file":"never"}');
  expect(resultsOf(run)['call-1-0']).toMatch(/Request timed out/);
  expect(traceOf(server.root)).toContain('cancelled');
  expect(textsOf(await server.client().say('repeat'))).toBe('done: {}');
});

test('a server that hangs holds up neither the start for long, nor the end', { timeout: 20_000 }, async () => {
  const server = await stage(TOOL_CALLER, { ...agentOptions([toolsServer('hang', { mode: 'hang' })]), noBoot: true });
  const { configurator, holder } = server.app.services;
  await configurator.boot();
  expect(holder.current).toBeDefined();
  expect(await statusOf(server, 'hang')).toMatchObject({ state: 'connecting', reason: null });
  expect(pidsIn(server.root)).toHaveLength(1);
  await server.app.close();
  await expect.poll(() => pidsIn(server.root).filter(isAlive)).toEqual([]);
});
