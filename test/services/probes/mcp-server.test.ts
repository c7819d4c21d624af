import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ConnectionCheck } from '../../../src/services/probes/connection-check.ts';
import { probeMcpServer } from '../../../src/services/probes/mcp-server.ts';
import { tempFolder } from '../../support/app.ts';
import { closedPort, isAlive } from '../../support/machine.ts';
import { LOCAL, ref, serve, serveTcp } from './support.ts';

const EVERYTHING = join(
  dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/package.json')),
  'dist/index.js',
);

const failed = (error: unknown) => ({ ok: false, details: null, error });

async function probe(
  config: Record<string, unknown>,
  { allowStdio = true, root, ...variables }: Record<string, unknown> = {},
) {
  const check = await probeMcpServer(
    { name: 'tools', ...config },
    {
      allowStdio: allowStdio as boolean,
      targets: LOCAL,
      variables: variables as Record<string, string>,
      ...(root !== undefined && { root: root as string }),
    },
  );
  expect(check.error ?? '').not.toMatch(/\n|\/work\/|\/tmp\//);
  return ConnectionCheck.parse(check);
}

const node = (...args: string[]) => ({ transport: 'stdio', command: process.execPath, args });

describe('the reference server', () => {
  test('over stdio, and its program ends', async () => {
    const root = tempFolder({
      'start.mjs': `
        import { writeFileSync } from 'node:fs';
        writeFileSync('pid', String(process.pid));
        await import(${JSON.stringify(EVERYTHING)});`,
    });
    const check = await probe(node('start.mjs'), { root });
    expectEverything(check, 'stdio');
    expectGone(join(root, 'pid'));
  });

  test('over streamable HTTP', async () => {
    const { url } = await startEverything('streamableHttp');
    expectEverything(await probe({ url: `${url}/mcp` }), 'streamable_http');
    expectEverything(await probe({ url: `${url}/mcp`, terminateOnClose: false, timeoutSeconds: 3 }), 'streamable_http');
  });

  test('over SSE', async () => {
    const { url } = await startEverything('sse');
    expectEverything(await probe({ transport: 'sse', url: `${url}/sse` }), 'sse');
  });
});

/** A server in one file: answers as its argument says, starts a program that stays, and writes down who it is. */
const CROOKED = `
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
const [mode] = process.argv.slice(2);
if (mode !== 'plain') {
  const staying = spawn(process.execPath, ['-e', "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)"]);
  writeFileSync('staying', String(staying.pid));
}
writeFileSync('pid', String(process.pid));
const say = (id, result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
if (mode === 'exit') {
  console.error('at start\\nError: no licence for ' + process.env.LICENCE_KEY + ' in ' + process.cwd() + '/deep/file.js\\n    at main (/a/b.js:1:1)');
  process.exit(3);
}
if (mode === 'garbage') for (let line = 0; line < 5000; line += 1) console.log('Welcome to the tools!');
if (mode === 'endless') for (;;) if (!process.stdout.write('x'.repeat(65536))) await new Promise((go) => process.stdout.once('drain', go));
if (mode === 'stubborn' || mode === 'hang') { process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); }
if (mode === 'banner') console.log('Welcome to the tools!');
createInterface({ input: process.stdin }).on('line', (text) => {
  const { id, method, params } = JSON.parse(text);
  if (mode === 'hang') return;
  if (method === 'initialize' && mode === 'refuse') return console.log(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32000, message: 'go\\naway' } }));
  if (method === 'initialize') {
    const capabilities = mode === 'toolless' ? {} : { tools: {} };
    return say(id, { protocolVersion: params.protocolVersion, capabilities, serverInfo: { name: 'crooked', version: '1' } });
  }
  if (method !== 'tools/list') return;
  if (mode === 'dies') process.exit(0);
  if (mode === 'shapeless') return say(id, { tools: 'many' });
  const page = Number(params?.cursor ?? 0);
  const tool = (name) => ({ name, inputSchema: { type: 'object' } });
  if (mode === 'pages') return say(id, { tools: [tool('c' + page), tool('b'), tool('a')], ...(page < 3 && { nextCursor: String(page + 1) }) });
  if (mode === 'ever') return say(id, { tools: [tool('t' + page)], nextCursor: String(page + 1) });
  if (mode === 'environment') return say(id, { tools: Object.keys(process.env).map(tool) });
  say(id, { tools: [tool(process.cwd().split('/').at(-1))] });
});
`;

async function probeCrooked(mode: string, config: Record<string, unknown> = {}, options: Record<string, unknown> = {}) {
  const root = tempFolder({ 'server.mjs': CROOKED });
  const check = await probe({ ...node('server.mjs', mode), ...config }, { root, ...options });
  expectGone(join(root, 'pid'));
  if (existsSync(join(root, 'staying'))) {
    await expect.poll(() => isAlive(Number(readFileSync(join(root, 'staying'), 'utf8')))).toBe(false);
  }
  return check;
}

describe('a program', () => {
  test('that lists its tools on pages', async () => {
    expect(await probeCrooked('pages')).toMatchObject({
      ok: true,
      details: { name: 'tools', transport: 'stdio', tools: ['a', 'b', 'c0', 'c1', 'c2', 'c3'], toolCount: 6 },
    });
  });

  test('that has no tools', async () => {
    expect(await probeCrooked('toolless')).toMatchObject({ ok: true, details: { tools: [], toolCount: 0 } });
  });

  test('that greets before it speaks, and does not end when asked to', async () => {
    expect(await probeCrooked('banner')).toMatchObject({ ok: true, details: { toolCount: 1 } });
    expect(await probeCrooked('stubborn')).toMatchObject({ ok: true, details: { toolCount: 1 } });
  });

  test('gets few of our variables, and all of the record', async () => {
    process.env.PROBE_TEST_SECRET = 'of the server';
    onTestFinished(() => void delete process.env.PROBE_TEST_SECRET);
    const env = { API_KEY: ref('KEY') };
    const { details } = await probeCrooked('environment', { env }, { KEY: 'sk-123456' });
    expect(details?.tools).toContain('API_KEY');
    expect(details?.tools).toContain('PATH');
    expect(details?.tools).not.toContain('PROBE_TEST_SECRET');
  });

  test('runs in its folder', async () => {
    const root = tempFolder({ 'server.mjs': CROOKED });
    mkdirSync(join(root, 'inside'));
    expect(await probe({ ...node('../server.mjs', 'plain'), cwd: 'inside' }, { root })).toMatchObject({
      details: { tools: ['inside'] },
    });
    expect(await probe({ ...node('x'), cwd: 'missing' }, { root })).toEqual(failed('cwd: is not a folder'));
  });

  test('that hangs is killed with all it started, within five seconds', async () => {
    const start = performance.now();
    expect(await probeCrooked('hang')).toEqual(failed('No answer within 5 seconds'));
    expect(performance.now() - start).toBeLessThan(5_200);
  });

  test('that ends at once says why, without secrets, folders and stack', async () => {
    const check = await probeCrooked('exit', { env: { LICENCE_KEY: 'sk-123456' } });
    expect(check).toEqual(failed('The program ended with code 3: Error: no licence for *** in …/file.js'));
  });

  test.each([
    ['garbage', 'The program prints text that is no MCP message'],
    ['endless', 'The program prints a message that is too long'],
    ['dies', 'The program ended with code 0'],
    ['refuse', 'MCP error -32000: go'],
    ['shapeless', expect.stringMatching(/answer/)],
    ['ever', 'The server lists its tools on more than 100 pages'],
  ])('%s', async (mode, error) => {
    expect(await probeCrooked(mode)).toEqual(failed(error));
  });

  test('that is not there, or may not be run', async () => {
    const root = tempFolder({ 'server.mjs': '' });
    const missing = await probe({ transport: 'stdio', command: 'no-such-program', args: ['x'] }, { root });
    expect(missing).toEqual(failed('command: there is no such program'));
    const barred = await probe({ transport: 'stdio', command: './server.mjs', args: ['x'] }, { root });
    expect(barred).toEqual(failed('command: the program may not be run'));
  });

  test('is not started unless that is allowed', async () => {
    const root = tempFolder({ 'server.mjs': CROOKED });
    const check = await probe(node('server.mjs', 'plain'), { root, allowStdio: false });
    expect(check).toEqual(failed(expect.stringContaining('SERVICE_ALLOW_STDIO_MCP')));
    expect(existsSync(join(root, 'pid'))).toBe(false);
  });

  test('many at once', async () => {
    const checks = await Promise.all(Array.from({ length: 5 }, () => probeCrooked('pages')));
    expect(checks.map(({ ok }) => ok)).toEqual([true, true, true, true, true]);
  });
});

describe.each(['streamable_http', 'sse'])('a URL, over %s', (transport) => {
  test('that refuses the connection', async () => {
    const check = await probe({ transport, url: `http://127.0.0.1:${await closedPort()}/mcp` });
    expect(check).toEqual(failed('The connection was refused'));
  });

  test.each([
    ['a page', 200, 'text/html', '<!doctype html><h1>Welcome</h1>'],
    ['nothing there', 404, 'text/html', '<pre>\n  at main (/srv/app/index.js:1:1)</pre>'],
    ['no entry', 401, 'application/json', '{"error":"bad token sk-123456"}'],
    ['something else', 200, 'application/json', '{"hello":1}'],
    ['no JSON', 200, 'application/json', 'hello'],
    ['broken', 500, 'text/plain', 'Error: sk-123456\n    at main (/srv/app/index.js:1:1)'],
  ])('that is no MCP server: %s', async (_, status, type, body) => {
    const { url, open } = await serve((_request, response) => {
      response.writeHead(status, { 'content-type': type }).end(body);
    });
    const headers = { Authorization: `Bearer ${ref('TOKEN')}` };
    const check = await probe({ transport, url, headers }, { TOKEN: 'sk-123456' });
    expect(check).toEqual(failed(expect.stringMatching(/^[^\n<>]{5,300}$/)));
    expect(check.error).not.toContain('sk-123456');
    if (status >= 400) expect(check.error).toContain(String(status));
    await expect.poll(() => open.size).toBe(0);
  });

  test('that redirects elsewhere', async () => {
    let followed = 0;
    const other = await serve((_, response) => {
      followed += 1;
      response.end();
    });
    const { url } = await serve((_, response) => response.writeHead(307, { location: other.url }).end());
    expect(await probe({ transport, url })).toEqual(failed(expect.stringContaining('not followed')));
    expect(followed).toBe(0);
  });
});

describe('a URL', () => {
  test('that says nothing, or no end of nonsense, fails in five seconds, and its connection is closed', async () => {
    const silent = await serveTcp();
    const senseless = await serve((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('event: endpoint\ndata: /there\n\nevent: message\ndata: {"no":"sense"}\n\n');
    });
    const start = performance.now();
    const checks = await Promise.all(
      [silent, senseless].flatMap(({ url }) => [
        probe({ transport: 'streamable_http', url }),
        probe({ transport: 'sse', url }),
      ]),
    );
    expect(performance.now() - start).toBeLessThan(5_200);
    for (const check of checks) expect(check).toEqual(failed('No answer within 5 seconds'));
    await expect.poll(() => silent.open.size + senseless.open.size).toBe(0);
  });

  test('gets the headers of the record, and credentials as a header', async () => {
    const seen: Record<string, unknown>[] = [];
    const { url } = await serve((request, response) => {
      seen.push(request.headers);
      answerMcp(request, response);
    });
    const check = await probe(
      { url: url.replace('//', '//me:p%40ss@'), headers: { 'X-Tenant': ref('TENANT') } },
      { TENANT: 'acme' },
    );
    expect(check).toMatchObject({ ok: true, details: { tools: ['clock'], toolCount: 1 } });
    for (const headers of seen) {
      expect(headers).toMatchObject({
        'x-tenant': 'acme',
        authorization: `Basic ${Buffer.from('me:p@ss').toString('base64')}`,
      });
    }
  });

  test('a shorter limit of the record holds', async () => {
    const { url } = await serve(() => {});
    const start = performance.now();
    expect(await probe({ url, timeoutSeconds: 0.2 })).toEqual(failed(expect.stringContaining('timed out')));
    expect(performance.now() - start).toBeLessThan(2_000);
  });

  test('a session that cannot be ended is no fault', async () => {
    const { url, open } = await serve((request, response) => {
      if (request.method === 'DELETE') return;
      response.setHeader('mcp-session-id', 'one');
      answerMcp(request, response);
    });
    expect(await probe({ url })).toMatchObject({ ok: true, details: { tools: ['clock'] } });
    await expect.poll(() => open.size).toBe(0);
  });

  test('an answer that is too long', async () => {
    const { url } = await serve((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const more = (): void => {
        while (response.write('[0,'.repeat(65_536)));
      };
      response.on('drain', more);
      more();
    });
    expect(await probe({ url })).toEqual(failed('The answer is too long'));
  });

  test('a variable that is not set, and one that holds no URL', async () => {
    expect(await probe({ url: ref('TOOLS_URL') })).toEqual(failed('The variable TOOLS_URL is not set'));
    const check = await probe({ url: ref('TOOLS_URL') }, { TOOLS_URL: 'hunter22' });
    expect(check).toEqual(failed(expect.stringContaining('needs a url')));
  });

  test.each([undefined, null, 7, {}, { name: 'x' }, { name: 'x', transport: 'pigeon' }])(
    'nonsense: %j',
    async (value) => {
      const check = await probeMcpServer(value, { variables: {}, allowStdio: true, targets: LOCAL });
      expect(check).toEqual(failed(expect.stringMatching(/^[^\n]+$/)));
    },
  );
});

test('a websocket is refused, without connecting', async () => {
  const { url, open } = await serveTcp();
  const check = await probe({ transport: 'websocket', url: url.replace('http', 'ws') });
  expect(check).toEqual(failed(expect.stringContaining('websocket is not supported')));
  expect(open.size).toBe(0);
});

function expectEverything(check: ConnectionCheck, transport: string): void {
  expect(check.error).toBeNull();
  const details = check.details as { tools: string[] };
  expect(details).toEqual({ name: 'tools', transport, tools: details.tools, toolCount: details.tools.length });
  expect(details.tools).toContain('echo');
  expect(details.tools.length).toBeGreaterThan(10);
  expect(details.tools).toEqual([...new Set(details.tools)].sort());
}

function expectGone(file: string): void {
  expect(isAlive(Number(readFileSync(file, 'utf8')))).toBe(false);
}

/** Starts the reference server on a port that was free a moment ago. */
async function startEverything(mode: 'sse' | 'streamableHttp'): Promise<{ url: string }> {
  const port = await closedPort();
  const child: ChildProcess = spawn(process.execPath, [EVERYTHING, mode], {
    env: { ...process.env, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  await new Promise<void>((resolve, reject) => {
    child.stderr?.on('data', (text: Buffer) => text.includes(`port ${port}`) && resolve());
    void ended.then(() => reject(new Error('The reference server has ended.')));
  });
  return { url: `http://127.0.0.1:${port}` };
}

/** The answer of a server with one tool to a message. */
function replyTo(text: string): string | undefined {
  const { id, method, params } = JSON.parse(text) as { id?: number; method: string; params: Record<string, unknown> };
  if (id === undefined) return undefined;
  const tools = [{ name: 'clock', inputSchema: { type: 'object' } }];
  const serverInfo = { name: 'small', version: '1' };
  const hello = { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo };
  return JSON.stringify({ jsonrpc: '2.0', id, result: method === 'initialize' ? hello : { tools } });
}

function answerMcp(request: IncomingMessage, response: ServerResponse): void {
  if (request.method !== 'POST') return void response.writeHead(405).end();
  let text = '';
  request.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  request.on('end', () => {
    const reply = replyTo(text);
    if (reply === undefined) response.writeHead(202).end();
    else response.writeHead(200, { 'content-type': 'application/json' }).end(reply);
  });
}
