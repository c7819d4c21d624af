import { AIMessage, HumanMessage, SystemMessage, ToolMessage } from '@langchain/core/messages';
import { describe, expect, it, vi } from 'vitest';
import { modelInput } from '../../src/starter/conversation.ts';
import { calls, startConversation } from './starter.ts';

vi.mock('agent-engine-server/agent', () => import('../../src/agent.ts'));

const setColor = {
  name: 'set_background_color',
  description: 'Changes the background of the page.',
  parameters: { type: 'object', properties: { color: { type: 'string' } }, required: ['color'] },
};

const rollDice = {
  name: 'rollDice',
  description: 'Rolls dice on the screen.',
  parameters: {
    type: 'object',
    properties: { sides: { type: 'integer' }, look: { enum: ['plain', 'golden'] }, loud: { type: 'boolean' } },
    required: ['sides', 'look'],
  },
};

const confetti = { name: 'confetti', description: 'Throws confetti.' };

/** Id of the call the conversation ended with. */
function openCall(message: unknown): string {
  return (message as AIMessage).tool_calls?.[0]?.id ?? '';
}

describe('a tool of the UI', () => {
  it('ends the run unanswered, and its result continues the conversation', async () => {
    const conversation = startConversation();
    const asked = await conversation.say('Change the background color to blue', [setColor]);
    expect(calls(asked.messages)).toEqual([{ name: 'set_background_color', args: { color: 'blue' } }]);
    expect(asked.messages.map((message) => message.type)).toEqual(['human', 'ai']);

    const result = new ToolMessage('The page is blue.', openCall(asked.messages[1]));
    const { answer } = await conversation.run({ messages: [result] }, [setColor]);
    expect(answer).toContain('`set_background_color` answered: The page is blue.');
  });

  it('lets the server tools of the same turn run first', async () => {
    const conversation = startConversation();
    const asked = await conversation.say('Throw confetti and what is 6 * 7?', [confetti]);
    expect(asked.messages.map((message) => message.type)).toEqual(['human', 'ai', 'tool']);

    const result = new ToolMessage('', openCall(asked.messages[1]));
    const { answer } = await conversation.run({ messages: [result] }, [confetti]);
    expect(answer).toMatch(/`confetti` is done\.\n\n6 \* 7 = 42/);
  });

  it.each([
    ['Roll golden dice with 20 sides', { sides: 20, look: 'golden' }],
    ['use rollDice, not loud', { sides: 0, look: 'plain', loud: false }],
  ])('is called with arguments that fit its schema: %s', async (text, args) => {
    expect(calls((await startConversation().say(text, [rollDice])).messages)).toEqual([{ name: 'rollDice', args }]);
  });

  it('cannot take the place of a tool of the server', async () => {
    const impostor = { name: 'calculate', description: 'Something else' };
    expect((await startConversation().say('What is 2+2?', [impostor])).answer).toMatch('2+2 = 4');
  });

  it('may stay unanswered when the user writes on', async () => {
    const conversation = startConversation();
    await conversation.say('Throw confetti', [confetti]);
    expect((await conversation.say('What is 2+2?', [confetti])).answer).toBe('2+2 = 4');
  });
});

it('shows a model every call with its answer right behind it', () => {
  const request = new AIMessage({
    content: '',
    tool_calls: [
      { id: 'a', name: 'calculate', args: {} },
      { id: 'b', name: 'confetti', args: {} },
    ],
  });
  const late = new ToolMessage({ content: '4', tool_call_id: 'a' });
  const orphan = new ToolMessage({ content: '?', tool_call_id: 'nobody' });
  const seen = modelInput([request, new HumanMessage('hello?'), late, orphan]).slice(1);
  expect(seen.map((message) => message.text)).toEqual(['', '4', 'This call was never answered.', 'hello?']);
});

it('shows a model one system message, whatever the UI adds', () => {
  const seen = modelInput([new HumanMessage('hi'), new SystemMessage('Be kind.')], 'Be brief.');
  expect(seen.map(({ type, text }) => ({ type, text }))).toEqual([
    { type: 'system', text: 'Be brief.\n\nBe kind.' },
    { type: 'human', text: 'hi' },
  ]);
});
