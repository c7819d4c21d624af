import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { createTestApp, tempFolder, writeFiles } from '../support/app.ts';
import { createGate, gatedAgent, until } from '../support/gates.ts';
import { runEvents, runInput, textOf } from '../support/runs.ts';
import { openRun } from '../support/streams.ts';

test('two servers in one process share nothing', async () => {
  const one = await createTestApp({ files: { 'agent.ts': gatedAgent('one') }, agent: 'agent.ts' });
  const two = await createTestApp({ files: { 'agent.ts': gatedAgent('two') }, agent: 'agent.ts' });
  const [first, second] = [await one.listen(), await two.listen()];
  const threadId = randomUUID();
  const gate = createGate();

  // The same thread is busy on one and free on the other, and belongs to two users.
  const running = await openRun(first, runInput(gate.name, { threadId }), { 'x-service-user-id': 'ana' });
  await running.event(({ name }) => name === 'working');
  const free = await openRun(second, runInput('hi', { threadId }), { 'x-service-user-id': 'bob' });
  expect(textOf(await free.all())).toBe('two: hi');
  const sessions = async (base: string, user: string): Promise<unknown[]> => {
    const response = await fetch(`${base}/agent/sessions`, { headers: { 'x-service-user-id': user } });
    return (await response.json()) as unknown[];
  };
  expect(await sessions(first, 'bob')).toEqual([]);
  expect(await sessions(second, 'ana')).toEqual([]);
  expect(await sessions(second, 'bob')).toHaveLength(1);

  // A reload, an observer and a close of one are nothing to the other.
  const seen: string[] = [];
  two.app.services.observers.add((event) => void seen.push(event.type));
  writeFiles(two.root, { 'agent.ts': gatedAgent('two again') });
  expect((await fetch(`${second}/reload`, { method: 'POST' })).status).toBe(200);
  expect(one.app.services.holder.current?.generation).toBe(1);
  expect(two.app.services.holder.current?.generation).toBe(2);
  await two.app.close();
  gate.open();
  expect(textOf(await running.all())).toBe(`one: ${gate.name}`);
  expect(seen).toEqual([]);
  expect(textOf(await runEvents(one.app, runInput('still here')))).toBe('one: still here');
  expect(one.logs.some(({ msg }) => msg === 'agent is closed')).toBe(false);
});

test('two servers of one folder each have their own evaluation of the agent’s module', async () => {
  const agent = `let count = 0;\n${gatedAgent('any')}`.replace(
    'await globalThis.testGates.pass(text);',
    'count += 1; emitCustom("count", count);',
  );
  const root = tempFolder({ 'agent.ts': agent });
  const one = await createTestApp({ root, agent: 'agent.ts', env: { DATABASE_URL: 'sqlite:///./one.db' } });
  const two = await createTestApp({ root, agent: 'agent.ts', env: { DATABASE_URL: 'sqlite:///./two.db' } });
  const countOf = async ({ app }: typeof one): Promise<unknown> =>
    (await runEvents(app, runInput('hi'))).find(({ name }) => name === 'count')?.value;
  expect([await countOf(one), await countOf(one), await countOf(two)]).toEqual([1, 2, 1]);
  await one.app.close();
  expect(await countOf(two)).toBe(2);
  await until(() => one.logs.some(({ msg }) => msg === 'agent is closed'));
});
