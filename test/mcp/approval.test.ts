import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ResumeEntry } from '@ag-ui/core';
import { expect, test } from 'vitest';
import { adminOf } from '../admin/support.ts';
import { interruptsOf, type Stage, stage } from '../support/client.ts';
import { TOOL_CALLER, toolsServer, traceOf } from '../support/mcp.ts';
import { agentOptions, resultsOf, textsOf } from './support.ts';

const start = (requireApproval: unknown = true, tools = 'repeat,count'): Promise<Stage> =>
  stage(TOOL_CALLER, agentOptions([toolsServer('bank', { tools }, { requireApproval })]));

const answer = (interruptId: string | undefined, payload: unknown): { resume: ResumeEntry[] } => ({
  resume: [{ interruptId: interruptId ?? '', status: 'resolved', payload }],
});

const callsIn = (server: Stage): string[] => traceOf(server.root).filter((line) => line.startsWith('call '));

test('the user is asked before the call, which is made once when approved', async () => {
  const server = await start();
  const user = server.client();
  const asked = await user.say('repeat {"list":["a"]}');
  const [interrupt] = interruptsOf(asked);
  expect(interrupt).toMatchObject({
    reason: 'tool_call',
    message: 'The tool repeat of the MCP server bank requires approval.',
    toolCallId: 'call-1-0',
    responseSchema: { required: ['approved'], properties: { approved: { type: 'boolean' } } },
    metadata: { server: 'bank', tool: 'repeat', arguments: { list: ['a'] } },
  });
  expect(callsIn(server)).toEqual([]);
  const run = await user.run(answer(interrupt?.id, { approved: true }));
  expect(resultsOf(run)).toEqual({ 'call-1-0': '{"list":["a"]}' });
  expect(callsIn(server)).toEqual(['call repeat {"list":["a"]}']);
});

test.each([
  ['denied', { approved: false, message: 'Too much.' }, /did not approve.*They say: Too much\./],
  ['answered with something else', { approved: false }, /did not approve this call; it was not made\.$/],
])('a call that is %s is not made, and the model is told', async (_, payload, told) => {
  const server = await start();
  const user = server.client();
  const [interrupt] = interruptsOf(await user.say('repeat'));
  const run = await user.run(answer(interrupt?.id, payload));
  expect(resultsOf(run)['call-1-0']).toMatch(told);
  expect(textsOf(run)).toMatch(/^done: /);
  expect(callsIn(server)).toEqual([]);
});

test('a question that is cancelled, or answered in no known way, is no consent', async () => {
  const server = await start();
  const user = server.client();
  const [interrupt] = interruptsOf(await user.say('repeat'));
  const run = await user.run({ resume: [{ interruptId: interrupt?.id ?? '', status: 'cancelled' }] });
  expect(resultsOf(run)['call-1-0']).toMatch(/did not approve/);
  const older = server.client({ old: true });
  await older.say('repeat');
  const yes = await older.run({ forwardedProps: { command: { resume: 'yes' } } });
  expect(resultsOf(yes)['call-1-0']).toMatch(/did not approve/);
  expect(callsIn(server)).toEqual([]);
});

test('arguments can be edited, as long as they fit', async () => {
  const server = await start();
  const user = server.client();
  const [first] = interruptsOf(await user.say('repeat {"list":["a"]}'));
  const run = await user.run(answer(first?.id, { approved: true, editedArgs: { list: ['b'] } }));
  expect(resultsOf(run)['call-1-0']).toMatch(
    /The user changed the arguments to \{"list":\["b"\]\}\.\)\n\{"list":\["b"\]\}$/,
  );
  const [second] = interruptsOf(await user.say('repeat {"list":["a"]}'));
  const refused = await user.run(answer(second?.id, { approved: true, editedArgs: { list: 7 } }));
  expect(Object.values(resultsOf(refused))[0]).toMatch(/do not fit the tool/);
  expect(callsIn(server)).toEqual(['call repeat {"list":["b"]}']);
});

test('only the tools that are named need approval', async () => {
  const server = await start(['count']);
  const user = server.client();
  expect(resultsOf(await user.say('repeat'))).toEqual({ 'call-1-0': '{}' });
  expect(interruptsOf(await user.say('count'))).toHaveLength(1);
});

test('of several calls in one step each is made once, however often the step begins anew', async () => {
  const server = await start(['one', 'two'], 'count,one,two');
  const user = server.client();
  const [first] = interruptsOf(await user.say('count\none {"list":["1"]}\ntwo {"list":["2"]}'));
  const [second] = interruptsOf(await user.run(answer(first?.id, { approved: true })));
  expect(second?.metadata).toMatchObject({ tool: 'two' });
  const run = await user.run(answer(second?.id, { approved: true }));
  expect(textsOf(run)).toBe('done: 1 | {"list":["1"]} | {"list":["2"]}');
  expect(callsIn(server).toSorted()).toEqual(['call count {}', 'call one {"list":["1"]}', 'call two {"list":["2"]}']);
  // The same words in another turn are another call.
  const again = await user.say('count');
  expect(textsOf(again)).toBe('done: 2');
});

test('a call that is still under way when another one asks goes on, and is not made again', async () => {
  const server = await start(['one'], 'wait,one');
  const user = server.client();
  const [interrupt] = interruptsOf(await user.say(`wait {"file":"${join(server.root, 'now')}"}\none`));
  await expect.poll(() => traceOf(server.root)).toContain('waiting');
  const answered = user.run(answer(interrupt?.id, { approved: true }));
  await expect.poll(() => callsIn(server)).toContain('call one {}');
  writeFileSync(join(server.root, 'now'), '');
  expect(textsOf(await answered)).toBe('done: waited | {}');
  expect(callsIn(server)).toHaveLength(2);
  expect(traceOf(server.root)).not.toContain('cancelled');
});

test('a question outlives a reload', async () => {
  const server = await start();
  const user = server.client();
  const [interrupt] = interruptsOf(await user.say('repeat'));
  const admin = adminOf(server.app);
  expect((await admin.call('POST', '//reload')).status).toBe(200);
  await user.run(answer(interrupt?.id, { approved: true }));
  expect(callsIn(server)).toHaveLength(1);
});

test('an agent that keeps no conversation cannot ask, so nothing is called', async () => {
  const source = TOOL_CALLER.replace(
    "addEdge('tools', 'model');",
    "addEdge('tools', 'model').compile({ checkpointer: false });",
  );
  const server = await stage(source, agentOptions([toolsServer('bank', {}, { requireApproval: true })]));
  const run = await server.client().say('repeat');
  expect(resultsOf(run)['call-1-0']).toMatch(/Nobody can be asked/);
  expect(callsIn(server)).toEqual([]);
});
