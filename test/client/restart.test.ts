import { expect, test } from 'vitest';
import type { Event } from '../../src/engine/events.ts';
import { createProjection } from '../../src/engine/run-log/projection.ts';
import { stage } from '../support/client.ts';
import { EVERYTHING } from './agents.ts';
import { held, resumable, watchTexts } from './support.ts';

const QUESTION = { id: 'u1', role: 'user', content: 'Which train?' } as const;

const frames = (events: readonly object[], id: (index: number) => number | undefined): string =>
  events
    .map((event, index) => {
      const number = id(index);
      return `${number === undefined ? '' : `id: ${number}\n`}data: ${JSON.stringify(event)}\n\n`;
    })
    .join('');

test('a run that was lost anywhere and found again anywhere later ends as if it was never lost', {
  timeout: 120_000,
}, async () => {
  const { base } = await stage(EVERYTHING);
  const reference = await held(resumable(`${base}/agent/run`, { initialMessages: [QUESTION] }));
  const { events } = reference;

  /** What the server would send to somebody who joins after `count` events. */
  const projections = Array.from({ length: events.length + 1 }, (_, count) => {
    const projection = createProjection();
    for (const event of events.slice(0, count)) projection.apply(structuredClone(event) as unknown as Event);
    return projection.catchUp({ messages: [QUESTION], state: { found: null } });
  });

  const check = async (lost: number, found: number): Promise<void> => {
    const prefix = projections[found] ?? [];
    const bodies = [
      frames(events.slice(0, lost), (index) => index + 1),
      frames(prefix, (index) => (index === prefix.length - 1 ? found : undefined)) +
        frames(events.slice(found), (index) => found + index + 1),
    ];
    const agent = resumable('http://localhost/agent/run', {
      initialMessages: [QUESTION],
      reconnect: { initialDelayMs: 0 },
      fetch: async () => new Response(bodies.shift() ?? null, { headers: { 'content-type': 'text/event-stream' } }),
    });
    const expectPrefixes = watchTexts(agent);
    const result = await held(agent);
    const where = `lost after ${lost}, found after ${found} of ${events.length}`;
    expect(result.messages, where).toEqual(reference.messages);
    expect(result.state, where).toEqual(reference.state);
    expectPrefixes(result);
    expect(bodies, where).toEqual([]);
  };
  for (let lost = 1; lost < events.length; lost += 1) {
    const later = Array.from({ length: events.length - lost + 1 }, (_, index) => lost + index);
    await Promise.all(later.map((found) => check(lost, found)));
  }
});
