import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { browserCommand } from '../../src/cli/browser.ts';
import { tempFolder } from '../support/app.ts';
import { ofType, textOf } from '../support/runs.ts';
import { command, packageFile, startServer } from './command.ts';
import { serveWeb } from './web.ts';

const FILES = ['.env.example', '.gitignore', 'README.md', 'agent.ts', 'config.yaml', 'package.json'];

test('init makes a project that talks, keeps its conversations and reloads', async () => {
  const cwd = tempFolder();
  // A setting wins over the configuration that init writes, so this test needs no port of its own.
  const server = await startServer(['init', 'My Agent', '--port', '0', '--no-browser'], { cwd });
  const project = join(cwd, 'My Agent');
  expect(readdirSync(project).sort()).toEqual([...FILES, 'data'].sort());
  expect(server.output()).toContain(`in ${project}`);

  expect((await server.get('/health')).body).toMatchObject({ status: 'ok', agent_name: 'my-agent' });
  expect(textOf(await server.say('hello', 'thread-1'))).toMatch(
    /^You said: "hello" \(message 1 of this conversation\)/,
  );
  expect(textOf(await server.say('again', 'thread-1'))).toContain('message 2');
  expect(readdirSync(join(project, 'data')).filter((file) => file.endsWith('.db'))).toEqual([
    'conversations.db',
    'service.db',
  ]);
});

test('the agent that init writes uses a model, and its tool, once one is set', async () => {
  const asked: { model: string; tools: { function: { name: string } }[]; messages: { role: string }[] }[] = [];
  const modelServer = await serveWeb(async (request, response) => {
    const body = JSON.parse(await text(request)) as (typeof asked)[number];
    asked.push(body);
    const call = {
      index: 0,
      id: 'call-1',
      type: 'function',
      function: { name: 'current_time', arguments: '{"timeZone":"UTC"}' },
    };
    const answer = body.messages.at(-1)?.role === 'tool' ? { content: 'Now you know.' } : { tool_calls: [call] };
    const delta = { role: 'assistant', ...answer };
    const chunk = {
      id: `c${asked.length}`,
      object: 'chat.completion.chunk',
      model: body.model,
      choices: [{ index: 0, delta }],
    };
    response.setHeader('content-type', 'text/event-stream').end(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`);
  });
  const cwd = tempFolder({ 'agent.ts': readFileSync(packageFile('src/cli/template/agent.ts'), 'utf8') });
  const env = { OPENAI_BASE_URL: `${modelServer}/v1`, AGENT_MODEL: 'openai:local-1' };
  const server = await startServer(['serve', 'agent.ts'], { cwd, env });
  const events = await server.say('What time is it?');
  expect(ofType(events, 'TOOL_CALL_RESULT')).toMatchObject([{ content: expect.stringContaining('UTC') }]);
  expect(textOf(events)).toBe('Now you know.');
  expect(asked).toHaveLength(2);
  expect(asked[0]).toMatchObject({ model: 'local-1', tools: [{ function: { name: 'current_time' } }] });
});

test('init writes the port, the name and the packages into the project', async () => {
  const cwd = tempFolder();
  // The bad setting ends the command right after the files are written.
  const env = { SERVICE_LOG_LEVEL: 'loud' };
  expect((await command(['init', '42', '--port', '8123'], { cwd, env })).code).toBe(1);
  const read = (file: string): string => readFileSync(join(cwd, '42', file), 'utf8');
  expect(read('config.yaml')).toContain('port: 8123');
  expect(read('config.yaml')).toContain('name: "42"');
  expect(read('README.md')).toContain('http://127.0.0.1:8123/agent/run');
  expect(read('.env.example')).toBe(readFileSync(packageFile('.env.example'), 'utf8'));
  const own = JSON.parse(readFileSync(packageFile('package.json'), 'utf8')) as { dependencies: Record<string, string> };
  expect(JSON.parse(read('package.json'))).toMatchObject({
    name: '42',
    type: 'module',
    dependencies: { '@langchain/langgraph': own.dependencies['@langchain/langgraph'] },
  });
  for (const file of FILES) expect(read(file)).not.toContain('{{');
});

test('init refuses to overwrite anything, naming it, and writes nothing', async () => {
  const cwd = tempFolder({ 'agent.ts': 'mine', 'README.md': 'mine' });
  const { code, stderr } = await command(['init'], { cwd });
  expect(code).toBe(1);
  expect(stderr).toMatch(/already holds agent\.ts, README\.md\. Nothing was written\.\n/);
  expect(readdirSync(cwd).sort()).toEqual(['README.md', 'agent.ts']);
  expect(readFileSync(join(cwd, 'agent.ts'), 'utf8')).toBe('mine');
});

test('init refuses a name that is a file', async () => {
  const { code, stderr } = await command(['init', 'taken'], { cwd: tempFolder({ taken: '' }) });
  expect(code).toBe(1);
  expect(stderr).toMatch(/taken is a file\. Name another folder/);
});

test.each([
  ['darwin', {}, 'open'],
  ['win32', {}, 'cmd'],
  ['linux', { DISPLAY: ':0' }, 'xdg-open'],
  ['linux', { WAYLAND_DISPLAY: 'wayland-0' }, 'xdg-open'],
  ['linux', {}, undefined],
  ['darwin', { CI: 'true' }, undefined],
] as const)('on %s with %o the browser is opened by %s', (platform, variables, expected) => {
  expect(browserCommand('http://127.0.0.1:8000', { platform, variables, isTTY: true })?.[0]).toBe(expected);
  expect(browserCommand('http://127.0.0.1:8000', { platform, variables, isTTY: false })).toBeUndefined();
});
