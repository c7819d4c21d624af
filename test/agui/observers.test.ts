import { expect, test } from 'vitest';
import { brief, stage } from '../support/client.ts';
import { oneModel } from '../support/graphs.ts';
import type { WireEvent } from '../support/runs.ts';

const HELLO = oneModel(`new ScriptedModel([[{ id: 'a1', content: 'Hel' }, 'lo'], [new Error('x')]])`);

test('an observer sees every event of every run, errors included, with the run it belongs to', async () => {
  const { app, client } = await stage(HELLO);
  const seen: WireEvent[] = [];
  const runs = new Set<string>();
  app.services.observers.add((event, run) => {
    seen.push(structuredClone(event) as unknown as WireEvent);
    runs.add(`${run.threadId} ${run.runId}`);
  });
  const user = client({ threadId: 'th-1' });
  const first = await user.say('hi', { runId: 'run-1' });
  const second = await user.say('again', { runId: 'run-2' });
  expect(second.lines.at(-1)).toBe('RUN_ERROR FRAMEWORK_ERROR');
  expect(seen).toEqual([...first.events, ...second.events]);
  expect([...runs]).toEqual(['th-1 run-1', 'th-1 run-2']);
});

test.each([
  [
    'throws',
    () => {
      throw new Error('observer');
    },
  ],
  [
    'rejects',
    async () => {
      throw new Error('observer');
    },
  ],
  ['never settles', () => new Promise<void>(() => undefined)],
])('an observer that %s disturbs nothing', async (name, observer) => {
  const { app, client, logs } = await stage(HELLO);
  const seen: WireEvent[] = [];
  app.services.observers.add(observer);
  app.services.observers.add((event) => void seen.push(event as unknown as WireEvent));
  const { lines } = await client().say('hi');
  expect(lines.at(-1)).toBe('RUN_FINISHED success');
  expect(brief(seen)).toEqual(lines);
  if (name !== 'never settles') expect(logs.some(({ msg }) => msg === 'a run observer failed')).toBe(true);
});

test('an observer that is removed sees nothing more', async () => {
  const { app, client } = await stage(HELLO);
  let count = 0;
  const remove = app.services.observers.add(() => {
    count += 1;
  });
  const user = client();
  const { events } = await user.say('hi');
  remove();
  await user.say('again');
  expect(count).toBe(events.length);
});

test('observers see the runs of the deprecated routes too', async () => {
  const { app, base } = await stage(HELLO);
  const types: string[] = [];
  app.services.observers.add(({ type }) => void types.push(type));
  await fetch(`${base}/agent/invoke`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ session_id: 'th-1', query: 'hi' }),
  });
  expect(types.at(0)).toBe('RUN_STARTED');
  expect(types.at(-1)).toBe('RUN_FINISHED');
});

test('a refused run is seen whole as well', async () => {
  const { app, client } = await stage(HELLO);
  const seen: WireEvent[] = [];
  app.services.observers.add((event) => void seen.push(event as unknown as WireEvent));
  const { lines } = await client().run({ resume: [{ interruptId: 'nosuch', status: 'cancelled' }] });
  expect(lines).toEqual(['RUN_STARTED', 'RUN_ERROR INTERRUPT_UNKNOWN']);
  expect(brief(seen)).toEqual(lines);
});
