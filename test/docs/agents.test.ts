import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test, vi } from 'vitest';
import { serveWeb } from '../cli/web.ts';
import { cancelRun } from '../runs/support.ts';
import { type Client, interruptsOf, stage } from '../support/client.ts';
import { configWith, TOOLS_PROGRAM } from '../support/mcp.ts';
import { ofType, runInput, type WireEvent } from '../support/runs.ts';
import { openRun } from '../support/streams.ts';
import { examplesOf } from './examples.ts';

const EXAMPLES = examplesOf('agents.md');

/** What the model of an example was asked: each message as `role: text`. */
type Asked = { messages: string[]; tools: string[] };

/** A model server that answers `Understood.`, or calls the first tool it is offered. */
async function modelServer(): Promise<Asked[]> {
  const asked: Asked[] = [];
  const base = await serveWeb(async (request, response) => {
    const { messages, tools = [] } = JSON.parse(await text(request)) as {
      messages: { role: string; content: string | { text: string }[] }[];
      tools?: { function: { name: string } }[];
    };
    const names = tools.map((tool) => tool.function.name);
    asked.push({
      messages: messages.map(
        ({ role, content }) => `${role}: ${typeof content === 'string' ? content : content[0]?.text}`,
      ),
      tools: names,
    });
    const call = { index: 0, id: 'call-1', type: 'function', function: { name: names[0], arguments: '{}' } };
    // What a tool has answered is answered in words.
    const calls = names.length > 0 && messages.at(-1)?.role !== 'tool';
    const answer = calls ? { tool_calls: [call] } : { content: 'Understood.' };
    const choices = [{ index: 0, delta: { role: 'assistant', ...answer } }];
    const chunk = { id: `c${asked.length}`, object: 'chat.completion.chunk', model: 'gpt-5-mini', choices };
    response.setHeader('content-type', 'text/event-stream').end(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`);
  });
  vi.stubEnv('OPENAI_BASE_URL', `${base}/v1`);
  vi.stubEnv('OPENAI_API_KEY', 'none');
  onTestFinished(() => void vi.unstubAllEnvs());
  return asked;
}

/** Serves the example with the configuration of the document, and gives a client that ana sits at. */
async function serve(file: string, config?: string, files: Record<string, string> = {}): Promise<Client> {
  const source = EXAMPLES.find((example) => example.file === file)?.text ?? expect.unreachable(file);
  const yaml = config ?? EXAMPLES.find((example) => example.file === 'config.yaml')?.text ?? '';
  const { client } = await stage(source, { agent: undefined as never, files: { 'config.yaml': yaml, ...files } });
  return client({ threadId: 'thread-1', headers: { 'x-service-user-id': 'ana' } });
}

const last = (client: Client): unknown => client.messages.at(-1)?.content;
const kinds = (events: WireEvent[]): string[] =>
  events.filter(({ type }) => type === 'CUSTOM' || type === 'STATE_DELTA').map(({ type }) => type);

/** Talks to the example of each file as its text says. */
const TALKS: Record<string, (file: string) => Promise<void>> = {
  async 'echo.ts'(file) {
    const client = await serve(file);
    await client.say('Hello');
    expect(last(client)).toBe('You said: Hello');
  },
  async 'context.ts'(file) {
    const agent = (settings: string): string =>
      `agent: { type: LANGGRAPH, config: { name: desk, graph_definition: './agent.ts', settings: ${settings} } }`;
    for (const [settings, tone] of [
      ['{ tone: formal }', 'Good day'],
      ['{}', 'Hi'],
    ] as const) {
      const client = await serve(file, agent(settings));
      await client.say('Hello');
      expect(last(client)).toBe(`${tone}, ana. I am desk.`);
    }
  },
  async 'prompts.ts'(file) {
    const client = await serve(file);
    await client.say('Hello');
    expect(last(client)).toBe('Hi ana: tea, coffee / Hello ana, how may I help you! / nobody has written a farewell');
  },
  async 'template.ts'(file) {
    const asked = await modelServer();
    const client = await serve(file);
    await client.say('Good morning');
    expect(last(client)).toBe('Understood.');
    expect(asked.map(({ messages }) => messages)).toEqual([
      ['developer: Hello ana, how may I help you!', 'user: Good morning'],
    ]);
  },
  async 'create-agent.ts'(file) {
    const asked = await modelServer();
    const client = await serve(file);
    await client.say('Good morning');
    expect(last(client)).toBe('Understood.');
    expect(asked.map(({ messages }) => messages)).toEqual([['developer: Hi everybody', 'user: Good morning']]);
  },
  async 'notes.ts'(file) {
    const client = await serve(file);
    await client.say('milk');
    await client.say('bread');
    expect(last(client)).toBe('ana has 2 notes, the last one from thread-1.');
  },
  async 'client-tools.ts'(file) {
    const asked = await modelServer();
    const client = await serve(file);
    const context = [{ description: 'page', value: 'invoices' }];
    const tool = { name: 'open_invoice', description: 'Opens one.', parameters: { type: 'object', properties: {} } };
    const { events } = await client.say('Open the newest', { tools: [tool], context });
    expect(asked).toEqual([
      {
        messages: ['developer: Help the user of this page.\npage: invoices', 'user: Open the newest'],
        tools: ['open_invoice'],
      },
    ]);
    expect(events.at(-1)?.outcome).toEqual({ type: 'success', pendingToolCallIds: ['call-1'] });
  },
  async 'tools.ts'(file) {
    const asked = await modelServer();
    const server = {
      name: 'counter',
      transport: 'stdio',
      command: process.execPath,
      args: ['tools.mjs', 'tools=count'],
    };
    const client = await serve(file, configWith([server]), { 'tools.mjs': TOOLS_PROGRAM });
    await client.say('Count');
    expect(asked.map(({ tools }) => tools)).toEqual([['count'], ['count']]);
    expect(asked[1]?.messages.at(-1)).toMatch(/^tool: /);
    expect(last(client)).toBe('Understood.');
  },
  async 'progress.ts'(file) {
    const client = await serve(file);
    const { events } = await client.say('Where is it?');
    expect(kinds(events)).toEqual(['CUSTOM', 'STATE_DELTA', 'CUSTOM', 'STATE_DELTA']);
    expect(ofType(events, 'CUSTOM').map(({ name, value }) => [name, value])).toEqual([
      ['searching', { place: 'attic' }],
      ['searching', { place: 'cellar' }],
    ]);
    expect(client.state.found).toEqual(['a box in the attic', 'a box in the cellar']);
    expect(last(client)).toBe('Found a box in the attic and a box in the cellar.');
  },
  async 'delete.ts'(file) {
    for (const [approved, answer] of [
      [true, 'All gone.'],
      [false, 'Kept.'],
    ] as const) {
      const client = await serve(file);
      const [question] = interruptsOf(await client.say('Clean up'));
      expect(question).toMatchObject({ reason: 'confirmation', message: 'Delete all notes?' });
      await client.run({
        resume: [{ interruptId: question?.id ?? '', status: 'resolved', payload: { approved } }],
      });
      expect(last(client)).toBe(answer);
    }
  },
  async 'slow.ts'(file) {
    const base = new URL('/', (await serve(file)).agent.url).origin;
    const input = runInput('Take your time');
    const stream = await openRun(base, input);
    await stream.event(({ type }) => type === 'STEP_STARTED');
    expect((await cancelRun(base, input.runId)).status).toBe(200);
    expect((await stream.all()).at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'cancelled' } });
  },
  async 'structured.ts'(file) {
    const client = await serve(file);
    const { events } = await client.say('{"words":["tea","coffee","milk"]}');
    expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED', result: { longest: 'coffee' } });
  },
};

const modules = EXAMPLES.filter(({ language }) => language === 'ts');

test('every example of the document is a whole module with a talk of its own', () => {
  expect(modules.map(({ file }) => file)).toEqual(expect.arrayContaining(Object.keys(TALKS)));
  expect(modules.filter(({ file }) => file === undefined)).toEqual([]);
  expect(modules.filter(({ file = '' }) => !(file in TALKS)).map(({ file }) => file)).toEqual([]);
});

test.each(Object.keys(TALKS))('%s does what the document says', async (file) => {
  await TALKS[file]?.(file);
});
