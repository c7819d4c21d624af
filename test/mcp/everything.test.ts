import { describe, expect, test } from 'vitest';
import { stage } from '../support/client.ts';
import { EVERYTHING, startEverything, TOOL_CALLER } from '../support/mcp.ts';
import { agentOptions, resultsOf, textsOf } from './support.ts';

async function serverOver(transport: string): Promise<object> {
  if (transport === 'stdio') return { name: 'every', transport, command: process.execPath, args: [EVERYTHING] };
  const { url } = await startEverything(transport === 'sse' ? 'sse' : 'streamableHttp');
  return { name: 'every', transport, url: `${url}/${transport === 'sse' ? 'sse' : 'mcp'}` };
}

describe.each(['stdio', 'sse', 'streamable_http'])('the reference server over %s', (transport) => {
  test('an agent calls its tools, and the client sees calls and results', async () => {
    const server = await stage(TOOL_CALLER, agentOptions([await serverOver(transport)]));
    const run = await server.client().say('echo {"message":"hello"}\nget-sum {"a":2,"b":3}');
    expect(run.lines).toEqual([
      'RUN_STARTED',
      'STEP_STARTED model',
      'TOOL_CALL_START call-1-0 echo in #1',
      'TOOL_CALL_ARGS call-1-0 {"message":"hello"}',
      'TOOL_CALL_START call-1-1 get-sum in #1',
      'TOOL_CALL_ARGS call-1-1 {"a":2,"b":3}',
      'TOOL_CALL_END call-1-0',
      'TOOL_CALL_END call-1-1',
      'STEP_FINISHED model',
      'STEP_STARTED tools',
      expect.stringMatching(/^TOOL_CALL_RESULT call-1-/),
      expect.stringMatching(/^TOOL_CALL_RESULT call-1-/),
      'STEP_FINISHED tools',
      'STEP_STARTED model',
      expect.stringMatching(/^TEXT_MESSAGE_START/),
      expect.stringContaining('done: Echo: hello | The sum of 2 and 3 is 5.'),
      expect.stringMatching(/^TEXT_MESSAGE_END/),
      'STEP_FINISHED model',
      'STATE_SNAPSHOT',
      expect.stringMatching(/^MESSAGES_SNAPSHOT u1/),
      'RUN_FINISHED success',
    ]);
    expect(resultsOf(run)).toEqual({ 'call-1-0': 'Echo: hello', 'call-1-1': 'The sum of 2 and 3 is 5.' });
  });

  test('progress is told while a call goes on', async () => {
    const server = await stage(TOOL_CALLER, agentOptions([await serverOver(transport)]));
    const run = await server.client().say('trigger-long-running-operation {"duration":0.2,"steps":2}');
    const about = { server: 'every', tool: 'trigger-long-running-operation', total: 2, message: null };
    const told = run.events.filter(({ name }) => name === 'mcp_progress').map(({ value }) => value);
    expect(told).toEqual([
      { ...about, progress: 1 },
      { ...about, progress: 2 },
    ]);
    expect(textsOf(run)).toContain('Long running operation completed');
  });

  test('a question in mid-call is cancelled, and the client is told of it', async () => {
    const server = await stage(TOOL_CALLER, agentOptions([await serverOver(transport)]));
    const user = server.client();
    // The reference server has this tool only once it knows what its client can do.
    await expect.poll(() => toolNames()).toContain('trigger-elicitation-request');
    const run = await user.say('trigger-elicitation-request');
    const [asked] = run.events.filter(({ name }) => name === 'mcp_elicitation').map(({ value }) => value);
    expect(asked).toMatchObject({
      server: 'every',
      tool: 'trigger-elicitation-request',
      message: expect.stringMatching(/./),
      requestedSchema: { type: 'object' },
      action: 'cancel',
    });
    expect(textsOf(run)).toMatch(/cancel/);
    expect(server.logs.map(({ msg }) => msg)).toContainEqual(expect.stringContaining('asked the user something'));
  });
});

/** The tools the newest agent was made with. */
function toolNames(): string[] {
  const { toolsGiven } = globalThis as unknown as { toolsGiven: { name: string }[] };
  return toolsGiven.map(({ name }) => name);
}

test('every kind of content reaches model and client', async () => {
  const server = await stage(TOOL_CALLER, agentOptions([await serverOver('stdio')]));
  const user = server.client();
  const run = await user.say(
    [
      'get-structured-content {"location":"Chicago"}',
      'get-tiny-image',
      'get-resource-links {"count":2}',
      'get-resource-reference {"resourceType":"Text","resourceId":1}',
      'get-resource-reference {"resourceType":"Blob","resourceId":1}',
      'echo {}',
    ].join('\n'),
  );
  const results = resultsOf(run);
  expect(JSON.parse(String(results['call-1-0']))).toMatchObject({ conditions: 'Light rain / drizzle' });
  expect(results['call-1-1']).toEqual([
    { type: 'text', text: expect.any(String) },
    { type: 'image', source: { type: 'data', value: expect.stringMatching(/^iVBOR/), mimeType: 'image/png' } },
    { type: 'text', text: expect.any(String) },
  ]);
  expect(results['call-1-2']).toMatch(/\[Text Resource 2\]\(demo:\/\/[^)]+\) \(text\/plain; Resource 2/);
  expect(results['call-1-3']).toMatch(/Resource 1: This is a plaintext resource/);
  expect(results['call-1-4']).toMatch(/\[The file demo:\S+: text\/plain, \d+ bytes\]/);
  // The model gave arguments that do not fit: it hears of it, and the run goes on.
  expect(results['call-1-5']).toMatch(/schema|Invalid arguments/);
  const message = user.messages.find((one) => one.role === 'tool' && one.toolCallId === 'call-1-5');
  expect(message).toHaveProperty('error');
});
