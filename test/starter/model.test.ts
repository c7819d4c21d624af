import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { HumanMessage } from '@langchain/core/messages';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createPrompts } from '../../src/engine/prompts/prompts.ts';
import { chooseModel } from '../../src/starter/model.ts';
import { OfflineModel } from '../../src/starter/offline-model.ts';
import { startConversation } from './starter.ts';

vi.mock('agent-engine-server/agent', () => import('../../src/agent.ts'));

type Answer = (body: Record<string, unknown>, send: (delta: object) => void) => Promise<void> | void;

/** A local server that speaks as much of the OpenAI protocol as the starter needs. */
async function openAIServer(models: string[] | undefined, answer: Answer) {
  const requests: { url: string; key: string | undefined; body: Record<string, unknown> }[] = [];
  async function handle(request: IncomingMessage, response: ServerResponse) {
    const body = JSON.parse((await text(request)) || '{}') as Record<string, unknown>;
    requests.push({ url: request.url ?? '', key: request.headers.authorization, body });
    if (request.url === '/v1/models') {
      response.writeHead(models === undefined ? 404 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ data: models?.map((id) => ({ id })) }));
      return;
    }
    const frame = { id: `c${requests.length}`, created: 1, model: body.model };
    if (body.stream !== true) {
      response.setHeader('content-type', 'application/json');
      await answer(
        body,
        (message) => void response.end(JSON.stringify({ ...frame, choices: [{ index: 0, message }] })),
      );
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    await answer(body, (delta) => {
      response.write(`data: ${JSON.stringify({ ...frame, choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`);
    });
    response.end('data: [DONE]\n\n');
  }
  const server = createServer((request, response) => void handle(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { requests, baseURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` };
}

describe('choosing a model', () => {
  it.each([[{}], [{ AGENT_MODEL: 'offline', OPENAI_API_KEY: 'k' }], [{ OPENAI_API_KEY: '' }]])(
    'stays offline with %j',
    async (env) => {
      expect(await chooseModel(env)).toBeInstanceOf(OfflineModel);
    },
  );

  it('takes the pause of the offline model from the settings', async () => {
    expect(await chooseModel({}, { delayMs: 3 })).toMatchObject({ delayMs: 3 });
    expect(await chooseModel({}, { delayMs: 'fast' })).toMatchObject({ delayMs: 12 });
  });

  it.each([
    [{ OPENAI_API_KEY: 'k' }, 'gpt-5-mini'],
    [{ OPENAI_API_KEY: 'k', AGENT_MODEL: 'openai:gpt-4o' }, 'gpt-4o'],
  ])('uses OpenAI with %j', async (env, model) => {
    vi.stubEnv('OPENAI_API_KEY', 'k');
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(await chooseModel(env)).toMatchObject({ model });
  });

  it.each([
    [{ ANTHROPIC_API_KEY: 'k' }, 'npm install --save-exact @langchain/anthropic@1.5.11'],
    [{ AGENT_MODEL: 'google-genai:gemini-2.5-flash' }, 'npm install --save-exact @langchain/google-genai@2.3.2'],
    [{ AGENT_MODEL: 'groq:llama' }, 'npm install --save-exact @langchain/groq '],
  ])('says what to install for %j', async (env, command) => {
    await expect(chooseModel(env)).rejects.toThrow(command);
  });

  it('refuses a provider nobody knows', async () => {
    await expect(chooseModel({ AGENT_MODEL: 'nobody' })).rejects.toThrow(/nobody/);
  });
});

describe('an OpenAI-compatible server', () => {
  it('streams: the first word is there before the server sends the second', async () => {
    let sawFirst = () => {};
    const firstSeen = new Promise<void>((resolve) => {
      sawFirst = resolve;
    });
    const { baseURL, requests } = await openAIServer(['llama3.2'], async (_, send) => {
      send({ role: 'assistant', content: 'One' });
      await firstSeen;
      send({ content: ' two' });
    });
    const { compiled, config } = startConversation({}, { OPENAI_BASE_URL: baseURL });
    const words: string[] = [];
    const stream = await compiled.stream(
      { messages: [new HumanMessage('Count')] },
      { ...config, streamMode: 'messages' as const },
    );
    for await (const [chunk] of stream) {
      if (chunk.text === 'One') sawFirst();
      if (chunk.text !== '') words.push(chunk.text);
    }
    expect(words).toEqual(['One', ' two']);
    expect(requests.map(({ url, key }) => ({ url, key }))).toEqual([
      { url: '/v1/models', key: 'Bearer none' },
      { url: '/v1/chat/completions', key: 'Bearer none' },
    ]);
    expect(requests[1]?.body).toMatchObject({ model: 'llama3.2', stream: true });
  });

  it('gets our tools and those of the UI, and its calls are answered', async () => {
    const { baseURL, requests } = await openAIServer(undefined, ({ messages }, send) => {
      const results = (messages as { role: string }[]).filter((message) => message.role === 'tool');
      if (results.length > 0) return send({ role: 'assistant', content: 'It is 42.' });
      const call = { id: 'c1', type: 'function', function: { name: 'calculate', arguments: '{"expression":"6*7"}' } };
      send({ role: 'assistant', content: null, tool_calls: [{ index: 0, ...call }] });
    });
    const env = { OPENAI_BASE_URL: baseURL, AGENT_MODEL: 'openai:llama3.2', OPENAI_API_KEY: 'secret' };
    const { answer } = await startConversation({}, env).say('6 times 7?', [{ name: 'confetti', description: 'Fun' }]);
    expect(answer).toBe('It is 42.');
    expect(requests.map(({ key }) => key)).toEqual(['Bearer secret', 'Bearer secret']);
    const offered = requests[0]?.body.tools as { function: { name: string } }[];
    expect(offered.map((tool) => tool.function.name)).toEqual([
      'current_time',
      'calculate',
      'search_knowledge',
      'take_note',
      'read_notes',
      'clear_notes',
      'confetti',
    ]);
    expect(requests[1]?.body.messages).toMatchObject([
      { role: 'system' },
      { role: 'user' },
      { role: 'assistant' },
      { role: 'tool', content: '6*7 = 42' },
    ]);
  });

  it('is told the stored instructions in place of the built-in ones', async () => {
    const { baseURL, requests } = await openAIServer(undefined, (_, send) =>
      send({ role: 'assistant', content: 'Ahoy' }),
    );
    const prompt = {
      promptId: 'starter',
      version: 2,
      content: 'Talk like a pirate to {{ user }}, with {{ tools | length }} tools.',
      tags: [],
    };
    await startConversation({ prompts: createPrompts([prompt]) }, { OPENAI_BASE_URL: baseURL }).say('Hi');
    expect(requests.at(-1)?.body.messages).toMatchObject([
      { content: 'Talk like a pirate to standalone, with 6 tools.' },
      { role: 'user' },
    ]);
    expect(requests.at(-1)?.body.model).toBe('gpt-5-mini');
  });
});
