import { expect, test } from 'vitest';
import { SCRIPTED_MODEL } from '../support/agents.ts';
import { tempFolder } from '../support/app.ts';
import { ofType, parseEvents, runInput, textOf } from '../support/runs.ts';
import { GATED, SQLITE_CONFIG } from './agents.ts';
import { inTime, startServer } from './command.ts';
import { webGate } from './web.ts';

const files = { 'agent.ts': GATED, 'scripted.ts': SCRIPTED_MODEL, 'config.yaml': SQLITE_CONFIG };

test('SIGTERM lets a running stream end whole, refuses new runs, and exits with 0', async () => {
  const gate = await webGate();
  const server = await startServer(['serve'], { cwd: tempFolder(files) });
  const running = server.say(gate.url);
  await inTime(gate.reached, () => 'the run to be under way');
  server.signal('SIGTERM');
  await server.logged(({ msg }) => msg.startsWith('stopping'));
  await expect(server.say('too late')).rejects.toThrow();
  gate.open();
  const events = await running;
  expect(textOf(events)).toBe('before after');
  expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED' });
  expect(await inTime(server.exited, () => 'the exit')).toBe(0);
});

test('streams that outlast the drain time end with RUN_ERROR', async () => {
  const gate = await webGate();
  const cwd = tempFolder(files);
  const server = await startServer(['serve'], { cwd, env: { SERVICE_DRAIN_TIMEOUT_SECONDS: '0' } });
  const running = server.say(gate.url);
  await inTime(gate.reached, () => 'the run to be under way');
  server.signal('SIGINT');
  expect((await running).at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'SHUTTING_DOWN' });
  expect(await inTime(server.exited, () => 'the exit')).toBe(0);
});

test('a second signal does not wait', async () => {
  const gate = await webGate();
  const server = await startServer(['serve'], { cwd: tempFolder(files) });
  const running = server.say(gate.url).catch(() => 'cut');
  await inTime(gate.reached, () => 'the run to be under way');
  server.signal('SIGTERM');
  await server.logged(({ msg }) => msg.startsWith('stopping'));
  server.signal('SIGTERM');
  expect(await inTime(server.exited, () => 'the exit')).toBe(1);
  expect(await running).toBe('cut');
});

test('a conversation survives kill -9 in mid-run', async () => {
  const gate = await webGate();
  const cwd = tempFolder(files);
  const first = await startServer(['serve'], { cwd });
  expect(textOf(await first.say('one', 'thread-1'))).toBe('heard 1');
  const cut = first
    .post('/agent/run', runInput(gate.url, { threadId: 'thread-1' }))
    .then((response) => response.text());
  await inTime(gate.reached, () => 'the run to be under way');
  first.signal('SIGKILL');
  await expect(cut).rejects.toThrow();
  await first.exited;

  const second = await startServer(['serve'], { cwd });
  const session = await second.get('/agent/sessions/thread-1');
  expect(session.body).toMatchObject({ messages: [{ content: 'one' }, { content: 'heard 1' }, { content: gate.url }] });
  const answer = parseEvents(
    await (await second.post('/agent/run', runInput('three', { threadId: 'thread-1' }))).text(),
  );
  expect(textOf(answer)).toBe('heard 3');
  expect(ofType(answer, 'RUN_ERROR')).toEqual([]);
  second.signal('SIGTERM');
  expect(await inTime(second.exited, () => 'the exit')).toBe(0);
});
