import { describe, expect, test } from 'vitest';
import { adminOf, type Json } from '../admin/support.ts';
import { serve } from '../services/probes/support.ts';
import { type Stage, stage } from '../support/client.ts';
import { closedPort } from '../support/machine.ts';
import { startEverything, TOOL_CALLER } from '../support/mcp.ts';
import { agentOptions, answerMcp, resultsOf, textsOf } from './support.ts';

const statusOf = async (server: Stage): Promise<Json> => (await adminOf(server.app).get('/mcp-servers/status')).body[0];

const HELLO = 'echo {"message":"hello"}';

describe.each(['sse', 'streamable_http'])('a server over %s', (transport) => {
  const mode = transport === 'sse' ? 'sse' : 'streamableHttp';
  const path = transport === 'sse' ? '/sse' : '/mcp';

  test('that is gone costs its calls, and is used again when it is back', async () => {
    const first = await startEverything(mode);
    const server = await stage(TOOL_CALLER, agentOptions([{ name: 'every', transport, url: first.url + path }]));
    expect(textsOf(await server.client().say(HELLO))).toBe('done: Echo: hello');
    await first.kill();
    const gone = await server.client().say(HELLO);
    expect(resultsOf(gone)['call-1-0']).toMatch(/could not be called: it (is not there|was lost in mid-call): The /);
    expect(textsOf(gone)).toMatch(/^done: /);
    await expect.poll(async () => (await statusOf(server)).reason).toBe('The connection was refused');
    expect((await statusOf(server)).tools).toContain('echo');
    await startEverything(mode, first.port);
    await expect.poll(async () => (await statusOf(server)).state, { timeout: 20_000 }).toBe('connected');
    expect(textsOf(await server.client().say(HELLO))).toBe('done: Echo: hello');
  });

  test('that was started anew between two calls is asked again at once', async () => {
    const first = await startEverything(mode);
    const server = await stage(TOOL_CALLER, agentOptions([{ name: 'every', transport, url: first.url + path }]));
    await first.kill();
    await startEverything(mode, first.port);
    await expect
      .poll(async () => textsOf(await server.client().say(HELLO)), { timeout: 20_000 })
      .toBe('done: Echo: hello');
  });

  test('that dies in mid-call costs that call, not its time limit', async () => {
    const { url, kill } = await startEverything(mode);
    const server = await stage(TOOL_CALLER, agentOptions([{ name: 'every', transport, url: url + path }]));
    const user = server.client();
    const running = user.say('trigger-long-running-operation {"duration":600,"steps":12000}');
    await expect.poll(() => user.messages.length).toBeGreaterThan(1);
    await kill();
    const run = await running;
    expect(resultsOf(run)['call-1-0']).toMatch(/could not be called: it (was lost in mid-call|is not there)/);
    expect(run.lines.at(-1)).toBe('RUN_FINISHED success');
  });

  test('that comes only after the start', async () => {
    const port = await closedPort();
    const url = `http://127.0.0.1:${port}${path}`;
    const server = await stage(TOOL_CALLER, agentOptions([{ name: 'every', transport, url }]));
    expect(await statusOf(server)).toMatchObject({ tools: [], reason: 'The connection was refused' });
    await startEverything(mode, port);
    await expect.poll(async () => (await statusOf(server)).tools, { timeout: 20_000 }).toContain('echo');
    expect(textsOf(await server.client().say(HELLO))).toBe('done: Echo: hello');
  });
});

test('headers and credentials go along, and only where the operator allows', async () => {
  const seen: Record<string, unknown>[] = [];
  const { url } = await serve((request, response) => {
    seen.push(request.headers);
    answerMcp(request, response);
  });
  const entry = {
    name: 'small',
    url: url.replace('//', '//me:p%40ss-word@'),
    headers: { 'X-Tenant': 'acme' },
  };
  const server = await stage(TOOL_CALLER, agentOptions([entry]));
  expect(textsOf(await server.client().say('clock'))).toBe('done: noon');
  const authorization = `Basic ${Buffer.from('me:p@ss-word').toString('base64')}`;
  for (const headers of seen) expect(headers).toMatchObject({ 'x-tenant': 'acme', authorization });
  const before = seen.length;
  const barred = await stage(
    TOOL_CALLER,
    agentOptions([entry], { env: { SERVICE_ALLOW_PRIVATE_TARGETS: '10.0.0.1' } }),
  );
  expect(await statusOf(barred)).toMatchObject({
    state: 'failed',
    reason: expect.stringContaining('SERVICE_ALLOW_PRIVATE_TARGETS'),
  });
  expect(seen).toHaveLength(before);
  expect(JSON.stringify([server.logs, barred.logs])).not.toContain('ss-word');
});

test('an answer that is too long is an error, soon', async () => {
  const { url } = await serve((request, response) => answerMcp(request, response, { long: true }));
  const server = await stage(TOOL_CALLER, agentOptions([{ name: 'small', url }]));
  for (const kind of ['json', 'events']) {
    const run = await server.client().say(`clock {"as":"${kind}"}`);
    expect(resultsOf(run)['call-1-0']).toMatch(/The answer is too long/);
  }
});
