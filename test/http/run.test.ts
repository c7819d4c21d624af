import { expect, test } from 'vitest';
import { ECHO, modelAgent, SCRIPTED_MODEL } from '../support/agents.ts';
import { createTestApp } from '../support/app.ts';
import { ofType, runEvents, runInput, shape, textOf } from '../support/runs.ts';

test('streams the tokens of a model between RUN_STARTED and RUN_FINISHED', async () => {
  const files = { 'scripted.ts': SCRIPTED_MODEL, 'agent.ts': modelAgent("[['Hel', 'lo', '', ' there']]") };
  const { app } = await createTestApp({ files, agent: 'agent.ts' });
  const events = await runEvents(app, runInput('hi'));
  expect(shape(events)).toEqual([
    'RUN_STARTED',
    'STEP_STARTED',
    'TEXT_MESSAGE_START',
    'TEXT_MESSAGE_CONTENT',
    'TEXT_MESSAGE_END',
    'STEP_FINISHED',
    'STATE_SNAPSHOT',
    'MESSAGES_SNAPSHOT',
    'RUN_FINISHED',
  ]);
  expect(textOf(events)).toBe('Hello there');
  expect(ofType(events, 'TEXT_MESSAGE_CONTENT')).toHaveLength(3);
});

test('a message a node makes without a model is streamed too', async () => {
  const { app } = await createTestApp({ files: { 'agent.ts': ECHO }, agent: 'agent.ts' });
  expect(textOf(await runEvents(app, runInput('hi')))).toBe('you said: hi');
});
