import { tool } from '@langchain/core/tools';
import { describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { calls, results, startConversation } from './starter.ts';

// The agent imports the package by its name, which is the build; here it gets the same module from source.
vi.mock('agent-engine-server/agent', () => import('../../src/agent.ts'));

const NOTICE = /offline demonstration model/;

describe('small talk', () => {
  it('says at once what it is, what it can do and how to get a real model', async () => {
    const { answer, messages } = await startConversation().say('Hello!');
    expect(answer).toMatch(NOTICE);
    expect(answer).toMatch(/OPENAI_API_KEY.*AGENT_MODEL/s);
    expect(calls(messages)).toEqual([]);
  });

  it('mentions the demonstration once in a conversation', async () => {
    const conversation = startConversation();
    expect((await conversation.say('What is 1 + 1?')).answer).toMatch(NOTICE);
    expect((await conversation.say('What is 2 + 2?')).answer).toBe('2 + 2 = 4');
  });

  it('remembers the conversation', async () => {
    const conversation = startConversation();
    await conversation.say('My name is Ada');
    await conversation.say('What is 3 * 3?');
    expect((await conversation.say('What did I just ask?')).answer).toBe('You said: "What is 3 * 3?"');
    expect((await conversation.say('What is my name?')).answer).toBe('Your name is Ada.');
  });
});

describe('time', () => {
  it.each([
    ['What time is it in Tokyo?', ['Asia/Tokyo']],
    ['time in San Francisco', ['America/Los_Angeles']],
    ["What's the time in London and New York?", ['Europe/London', 'America/New_York']],
    ['What is the current time in America/Argentina/Ushuaia?', ['America/Argentina/Ushuaia']],
  ])('%s', async (question, zones) => {
    const { messages, answer } = await startConversation().say(question);
    expect(calls(messages)).toEqual(zones.map((timeZone) => ({ name: 'current_time', args: { timeZone } })));
    for (const zone of zones) expect(answer).toContain(`(${zone})`);
  });

  it('converts correctly', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: new Date('2026-01-05T15:04:05Z') });
    const { answer } = await startConversation().say('What time is it in Tokyo?');
    vi.useRealTimers();
    expect(answer).toContain('Tuesday, 6 January 2026 at 00:04:05');
  });

  it('goes on after a place nobody knows', async () => {
    const conversation = startConversation();
    const { messages, answer } = await conversation.say('What time is it in Atlantis?');
    expect(results(messages)).toEqual([{ text: expect.stringContaining('Atlantis'), status: 'error' }]);
    expect(answer).toMatch(/failed: "Atlantis" is not an IANA time zone/);
    expect((await conversation.say('What time is it in Rome?')).answer).toContain('Europe/Rome');
  });
});

describe('arithmetic', () => {
  it.each([
    ['What is 12 * 7?', '12 * 7 = 84'],
    ["what's 15% of 80?", '15 / 100 * 80 = 12'],
    ['calculate (3 + 4) * 2 ^ 3', '(3 + 4) * 2 ^ 3 = 56'],
    ['How much is 1,000 divided by 8', '1000 / 8 = 125'],
    ['square root of 144', 'sqrt(144) = 12'],
    ['can you tell me what 2.5 * 4 is?', '2.5 * 4 = 10'],
  ])('%s', async (question, answer) => {
    expect((await startConversation().say(question)).answer).toMatch(answer);
  });

  it.each([
    ['calculate 1/0', 'Division by zero'],
    ['calculate 2**99999', 'too large'],
    ['calculate constructor', 'not known'],
    ['calculate 3 apples', 'not an arithmetic expression'],
    [`calculate ${'1+'.repeat(50_000)}1`, 'longer than 200 characters'],
  ])('admits it cannot work out %.30s', async (question, reason) => {
    const { messages, answer } = await startConversation().say(question);
    expect(results(messages)).toEqual([{ text: expect.stringContaining(reason), status: 'error' }]);
    expect(answer).toContain('The tool `calculate` failed: ');
    expect(answer).toContain(reason);
    expect(answer).not.toContain('Please fix your mistakes');
  });

  it('takes no date or model name for a sum', async () => {
    const { messages } = await startConversation().say('Does gpt-5-mini know about 2026-11-20?');
    expect(calls(messages).map((call) => call.name)).toEqual(['search_knowledge']);
  });
});

describe('several things at once', () => {
  it('calls both tools in one message and reports both results', async () => {
    const { messages, answer } = await startConversation().say('What time is it in Berlin and what is 12*7?');
    expect(messages.map((message) => message.type)).toEqual(['human', 'ai', 'tool', 'tool', 'ai']);
    expect(answer).toMatch(/Europe\/Berlin.*12\*7 = 84/s);
  });

  it('keeps what belongs to a note together', async () => {
    const { notes, answer } = await startConversation().say('Note: buy milk and eggs; then tell me the time in Rome');
    expect(notes).toEqual(['buy milk and eggs']);
    expect(answer).toContain('Europe/Rome');
  });

  it('searches for the question that is left', async () => {
    const { messages } = await startConversation().say('What is 2+2, and how do I write my own agent?');
    expect(calls(messages).map((call) => call.name)).toEqual(['calculate', 'search_knowledge']);
  });
});

describe('search', () => {
  it('answers from the documents and shows where it looked', async () => {
    const { answer, lastSources } = await startConversation().say('Where are conversations stored?');
    expect(answer).toContain('data/conversations.db');
    expect(lastSources).toContain('conversations.md');
  });

  it('admits that it found nothing', async () => {
    const { answer, lastSources } = await startConversation().say('Tell me a joke about cats');
    expect(answer).toMatch(/^Nothing in the documents fits/);
    expect(lastSources).toEqual([]);
  });
});

describe('notes', () => {
  it('are state that the UI can write, too', async () => {
    const conversation = startConversation();
    expect((await conversation.say('Remember to water the plants')).notes).toEqual(['water the plants']);
    expect((await conversation.run({ notes: ['edited in the UI'], messages: [] })).notes).toEqual(['edited in the UI']);
    expect((await conversation.say('note one. note two')).notes).toEqual(['edited in the UI', 'one', 'two']);
    expect((await conversation.say('What are my notes?')).answer).toBe('3 notes:\n1. edited in the UI\n2. one\n3. two');
  });

  it('survive nonsense from a UI', async () => {
    const conversation = startConversation();
    await conversation.say('note one');
    const { notes } = await conversation.run({ notes: 'x' as never, messages: [] });
    expect(notes).toEqual(['one']);
  });

  it('can be written without a word being said', async () => {
    const conversation = startConversation();
    const { messages } = await conversation.say('note one');
    expect((await conversation.run({ notes: [], messages })).messages).toEqual(messages);
  });

  async function askedToClear() {
    const conversation = startConversation();
    await conversation.say('note one. note two');
    const { interrupts } = await conversation.say('What time is it in Rome, and clear my notes');
    expect(interrupts.map(({ value }) => value)).toEqual([
      {
        reason: 'confirmation',
        message: 'Delete all 2 notes?',
        responseSchema: { type: 'object', properties: { approved: { type: 'boolean' } }, required: ['approved'] },
      },
    ]);
    return conversation;
  }

  it('are deleted after a yes', async () => {
    const { notes, answer, interrupts } = await (await askedToClear()).resume({ approved: true });
    expect(notes).toEqual([]);
    expect(answer).toMatch(/Europe\/Rome.*Deleted 2 notes\./s);
    expect(interrupts).toEqual([]);
  });

  it.each([[{ approved: false }], [{ __agui_cancelled__: true }], ['yes'], [{ approved: 'true' }], [false]])(
    'are kept after %j',
    async (reply) => {
      const { notes, answer } = await (await askedToClear()).resume(reply);
      expect(notes).toEqual(['one', 'two']);
      expect(answer).toMatch(/Kept 2 notes/);
    },
  );

  it('are not asked about when there are none', async () => {
    const { interrupts, answer } = await startConversation().say('clear my notes');
    expect(interrupts).toEqual([]);
    expect(answer).toContain('There are no notes to delete.');
  });
});

it('uses the tools of MCP servers, and survives one that fails', async () => {
  const weather = tool(
    ({ city }) => {
      if (city === 'Nowhere') throw new Error('No such city.');
      return `Sunny in ${city}`;
    },
    { name: 'get_weather', description: 'The weather', schema: z.object({ city: z.string() }) },
  );
  const conversation = startConversation({ tools: [weather] });
  expect((await conversation.say('How is the weather in Lyon?')).answer).toContain(
    '`get_weather` answered: Sunny in Lyon',
  );
  expect((await conversation.say('And the weather in Nowhere?')).answer).toBe(
    'The tool `get_weather` failed: No such city.',
  );
});
