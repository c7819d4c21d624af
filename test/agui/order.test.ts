import { randomUUID } from 'node:crypto';
import { EventSchema } from '@ag-ui/core/schemas';
import { expect, test } from 'vitest';
import { type Event, EventType } from '../../src/engine/events.ts';
import { createOrderGuard } from '../../src/engine/order.ts';
import { expectVerified } from '../support/client.ts';
import { randomFrom } from '../support/random.ts';

const KINDS = Object.values(EventType).filter((type) => !type.startsWith('THINKING'));

/** Any event at all, with ids from so small a set that they collide. */
function anyEvent(random: () => number, attributed: boolean): Event {
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
  const type = pick(KINDS);
  const messageId = pick(['m1', 'm2', '']);
  const toolCallId = pick(['c1', 'c2', 'm1']);
  const subagentRunId = pick(['s1', 's2']);
  const owner = attributed && random() < 0.4 ? { subagentRunId } : {};
  const delta = pick(['', 'x', 'yy']);
  const fields: Record<string, unknown> = {
    RUN_STARTED: { threadId: 't', runId: 'r' },
    RUN_FINISHED: { threadId: 't', runId: 'r' },
    RUN_ERROR: { message: 'no' },
    STEP_STARTED: { stepName: pick(['a', 'b']), ...owner },
    STEP_FINISHED: { stepName: pick(['a', 'b']), ...owner },
    TEXT_MESSAGE_START: { messageId, role: 'assistant', ...owner },
    TEXT_MESSAGE_CONTENT: { messageId, delta, ...owner },
    TEXT_MESSAGE_END: { messageId, ...owner },
    TEXT_MESSAGE_CHUNK: { messageId, delta, ...owner },
    TOOL_CALL_START: {
      toolCallId,
      toolCallName: 'look',
      ...(random() < 0.5 && { parentMessageId: messageId }),
      ...owner,
    },
    TOOL_CALL_ARGS: { toolCallId, delta, ...owner },
    TOOL_CALL_END: { toolCallId, ...owner },
    TOOL_CALL_CHUNK: { toolCallId, toolCallName: 'look', delta, ...owner },
    TOOL_CALL_RESULT: { messageId, toolCallId, content: 'ok', ...owner },
    STATE_SNAPSHOT: { snapshot: {}, ...owner },
    STATE_DELTA: { delta: [], ...owner },
    MESSAGES_SNAPSHOT: { messages: [{ id: messageId, role: 'assistant', content: '' }] },
    ACTIVITY_SNAPSHOT: { messageId, activityType: 'plan', content: {}, ...owner },
    ACTIVITY_DELTA: { messageId, activityType: 'plan', patch: [], ...owner },
    REASONING_START: { messageId, ...owner },
    REASONING_END: { messageId, ...owner },
    REASONING_MESSAGE_START: { messageId, role: 'reasoning', ...owner },
    REASONING_MESSAGE_CONTENT: { messageId, delta, ...owner },
    REASONING_MESSAGE_END: { messageId, ...owner },
    REASONING_MESSAGE_CHUNK: { messageId, delta, ...owner },
    REASONING_ENCRYPTED_VALUE: {
      subtype: pick(['message', 'tool-call']),
      entityId: messageId,
      encryptedValue: 'e',
      ...owner,
    },
    SUBAGENT_STARTED: {
      subagentRunId,
      name: 'sub',
      ...(random() < 0.3 && { parentSubagentRunId: pick(['s1', 's2', 's9']) }),
    },
    SUBAGENT_FINISHED: { subagentRunId },
    SUBAGENT_ERROR: { subagentRunId, message: 'no' },
    RAW: { event: {}, ...owner },
    CUSTOM: { name: 'x', value: 1, ...owner },
  }[type] as Record<string, unknown>;
  return { type, ...fields } as Event;
}

/** What comes out of a guard for what goes in, and what it complained of. */
function pass(events: readonly Event[]): { out: Event[]; violations: string[] } {
  const out: Event[] = [];
  const violations: string[] = [];
  const guard = createOrderGuard(
    (event) => out.push(event),
    (rule, event) => violations.push(`${event.type}: ${rule}`),
  );
  for (const event of events) guard.emit(event);
  return { out, violations };
}

/** \`count\` events of any kind between the start and the end of a run, some of them terminal ones too. */
function anyRun(seed: number, attributed: boolean): Event[] {
  const random = randomFrom(seed);
  const events: Event[] = [{ type: EventType.RUN_STARTED, threadId: 't', runId: 'r' }];
  const count = 5 + Math.floor(random() * 60);
  for (let index = 0; index < count; index += 1) {
    const event = anyEvent(random, attributed);
    const ends = event.type === EventType.RUN_FINISHED || event.type === EventType.RUN_ERROR;
    if (!ends || random() < 0.1) events.push(event);
  }
  events.push({ type: EventType.RUN_FINISHED, threadId: 't', runId: 'r' });
  return events;
}

const SEEDS = 400;

test('whatever goes in, what comes out is in order', async () => {
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const { out } = pass(anyRun(seed, false));
    await expectVerified(out).catch((error: unknown) => {
      throw new Error(`seed ${seed}: ${String(error)}\n${out.map((event) => JSON.stringify(event)).join('\n')}`);
    });
    expect(
      out.filter(({ type }) => type === 'RUN_FINISHED' || type === 'RUN_ERROR'),
      `seed ${seed}`,
    ).toEqual([out.at(-1)]);
  }
});

test('whatever goes in with sub-agents named on it, what comes out is in order', async () => {
  const broken: string[] = [];
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const { out } = pass(anyRun(seed, true));
    await expectVerified(out).catch((error: unknown) => broken.push(`seed ${seed}: ${String(error)}`));
  }
  expect(broken.slice(0, 5), `${broken.length} of ${SEEDS}`).toEqual([]);
});

test('what comes out fits the schema when what goes in does', () => {
  for (let seed = 1; seed <= 100; seed += 1) {
    for (const event of pass(anyRun(seed, false)).out) EventSchema.parse(event);
  }
});

test('events before RUN_STARTED are dropped', () => {
  const { out, violations } = pass([
    { type: EventType.TEXT_MESSAGE_START, messageId: 'm1', role: 'assistant' },
    { type: EventType.RUN_FINISHED, threadId: 't', runId: 'r' },
    { type: EventType.RUN_STARTED, threadId: 't', runId: 'r' },
  ]);
  expect(out.map(({ type }) => type)).toEqual(['RUN_STARTED']);
  expect(violations).toHaveLength(2);
});

test('RUN_ERROR may come first and ends the run', () => {
  const { out } = pass([
    { type: EventType.RUN_ERROR, message: 'no' },
    { type: EventType.CUSTOM, name: 'late', value: 1 },
    { type: EventType.RUN_FINISHED, threadId: 't', runId: 'r' },
    { type: EventType.RUN_ERROR, message: 'again' },
  ]);
  expect(out.map(({ type }) => type)).toEqual(['RUN_ERROR']);
});

test('text without a start gets one', () => {
  const { out, violations } = pass([
    { type: EventType.RUN_STARTED, threadId: 't', runId: 'r' },
    { type: EventType.TEXT_MESSAGE_CONTENT, messageId: 'm1', delta: 'Hi' },
    { type: EventType.RUN_FINISHED, threadId: 't', runId: 'r' },
  ]);
  expect(out.map(({ type }) => type)).toEqual([
    'RUN_STARTED',
    'TEXT_MESSAGE_START',
    'TEXT_MESSAGE_CONTENT',
    'TEXT_MESSAGE_END',
    'RUN_FINISHED',
  ]);
  expect(violations).toEqual(['TEXT_MESSAGE_CONTENT: not open']);
});

test('RUN_FINISHED closes what is open: calls, text, reasoning, steps from the innermost, sub-agents', () => {
  const id = randomUUID();
  const { out } = pass([
    { type: EventType.RUN_STARTED, threadId: 't', runId: 'r' },
    { type: EventType.SUBAGENT_STARTED, subagentRunId: 's1', name: 'sub' },
    { type: EventType.STEP_STARTED, stepName: 'outer' },
    { type: EventType.STEP_STARTED, stepName: 'inner' },
    { type: EventType.REASONING_START, messageId: id },
    { type: EventType.REASONING_MESSAGE_START, messageId: id, role: 'reasoning' },
    { type: EventType.TEXT_MESSAGE_START, messageId: 'm1', role: 'assistant' },
    { type: EventType.TOOL_CALL_START, toolCallId: 'c1', toolCallName: 'look' },
    { type: EventType.RUN_FINISHED, threadId: 't', runId: 'r' },
  ]);
  expect(out.slice(8)).toEqual([
    { type: 'TOOL_CALL_END', toolCallId: 'c1' },
    { type: 'TEXT_MESSAGE_END', messageId: 'm1' },
    { type: 'REASONING_MESSAGE_END', messageId: id },
    { type: 'REASONING_END', messageId: id },
    { type: 'STEP_FINISHED', stepName: 'inner' },
    { type: 'STEP_FINISHED', stepName: 'outer' },
    { type: 'SUBAGENT_FINISHED', subagentRunId: 's1' },
    { type: 'RUN_FINISHED', threadId: 't', runId: 'r' },
  ]);
});

test('RUN_ERROR leaves open what is open', () => {
  const { out } = pass([
    { type: EventType.RUN_STARTED, threadId: 't', runId: 'r' },
    { type: EventType.TEXT_MESSAGE_START, messageId: 'm1', role: 'assistant' },
    { type: EventType.RUN_ERROR, message: 'no' },
  ]);
  expect(out.map(({ type }) => type)).toEqual(['RUN_STARTED', 'TEXT_MESSAGE_START', 'RUN_ERROR']);
});

test('a step started several times at once is one step, until its last end', () => {
  const start: Event = { type: EventType.STEP_STARTED, stepName: 'work' };
  const end: Event = { type: EventType.STEP_FINISHED, stepName: 'work' };
  const { out, violations } = pass([
    { type: EventType.RUN_STARTED, threadId: 't', runId: 'r' },
    start,
    start,
    end,
    end,
    end,
  ]);
  expect(out.map(({ type }) => type)).toEqual(['RUN_STARTED', 'STEP_STARTED', 'STEP_FINISHED']);
  expect(violations).toEqual(['STEP_FINISHED: not open']);
});

test('a guard knows whether something is being streamed', () => {
  const guard = createOrderGuard(
    () => undefined,
    () => undefined,
  );
  const seen: boolean[] = [];
  const emit = (event: Event): void => {
    guard.emit(event);
    seen.push(guard.streaming);
  };
  emit({ type: EventType.RUN_STARTED, threadId: 't', runId: 'r' });
  emit({ type: EventType.TEXT_MESSAGE_START, messageId: 'm1', role: 'assistant' });
  emit({ type: EventType.TOOL_CALL_START, toolCallId: 'c1', toolCallName: 'look' });
  emit({ type: EventType.TEXT_MESSAGE_END, messageId: 'm1' });
  emit({ type: EventType.TOOL_CALL_END, toolCallId: 'c1' });
  expect(seen).toEqual([false, true, true, true, false]);
});
