import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { closedPort } from './machine.ts';

/** The program of the reference server; its argument is the transport. */
export const EVERYTHING = join(
  dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/package.json')),
  'dist/index.js',
);

/** A reference server on the network. */
export interface EverythingServer {
  url: string;
  port: number;
  kill(): Promise<void>;
}

/** Starts the reference server, on a port that was free a moment ago unless told otherwise. */
export async function startEverything(mode: 'sse' | 'streamableHttp', at?: number): Promise<EverythingServer> {
  const port = at ?? (await closedPort());
  const child: ChildProcess = spawn(process.execPath, [EVERYTHING, mode], {
    env: { ...process.env, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await ended;
  };
  onTestFinished(kill);
  await new Promise<void>((resolve, reject) => {
    child.stderr?.on('data', (text: Buffer) => text.includes(`port ${port}`) && resolve());
    void ended.then(() => reject(new Error('The reference server has ended.')));
  });
  return { url: `http://127.0.0.1:${port}`, port, kill };
}

/**
 * A tool server in one file, `tools.mjs`, without any library. It appends a line `start <pid>` to the file `trace` when it
 * starts, and one `call <tool> <arguments>` for each call. Its arguments are `name=value`: `tools` lists its tools by
 * name (`a,b`), and `mode` says how it misbehaves. Tools: `count` says how often it was called, `die` ends the program,
 * `flood` answers with as many characters as its argument `length` says, `wait` answers once there is a file named by its
 * argument `file`, `grow` adds a tool and says that the list has changed, `garbage` answers with what is no result,
 * `fail` with an error, `pid` with the process's id; all others repeat their arguments.
 */
export const TOOLS_PROGRAM = `
import { appendFileSync, existsSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
const options = Object.fromEntries(process.argv.slice(2).map((word) => word.split('=')));
const names = (options.tools ?? 'repeat').split(',');
const trace = (...words) => appendFileSync('trace', words.join(' ') + '\\n');
trace('start', process.pid);
if (options.mode === 'stubborn') {
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => {});
  setInterval(() => {}, 1000);
  const staying = spawn(process.execPath, ['-e', "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)"]);
  trace('start', staying.pid);
}
if (options.mode === 'hang') setInterval(() => {}, 1000);
if (options.mode === 'exit') { console.error('Error: no licence for ' + process.env.LICENCE_KEY); process.exit(3); }
if (options.mode === 'absent' && !existsSync('present')) { console.error('Error: not yet'); process.exit(4); }
const write = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
let count = 0;
const text = (words) => ({ content: [{ type: 'text', text: String(words) }] });
const schema = { type: 'object', properties: { list: { type: 'array' } } };
const handle = async (name, args, id) => {
  switch (name) {
    case 'count': return text(++count);
    case 'pid': return text(process.pid);
    case 'die': process.exit(9);
    case 'flood': return text('x'.repeat(args.length ?? 10));
    case 'fail': return { ...text('no such thing'), isError: true };
    case 'garbage': return { content: 'nonsense' };
    case 'grow':
      names.push('grown');
      write({ method: 'notifications/tools/list_changed' });
      return text('grown');
    case 'wait':
      trace('waiting');
      while (!existsSync(args.file)) await new Promise((go) => setTimeout(go, 10));
      return text('waited');
    default: return text(JSON.stringify(args));
  }
};
createInterface({ input: process.stdin }).on('line', async (line) => {
  const { id, method, params } = JSON.parse(line);
  if (options.mode === 'hang') return;
  if (options.mode === 'garbage') return void process.stdout.write('Welcome to the tools!\\n'.repeat(5000));
  if (method === 'initialize') {
    const serverInfo = { name: 'tools', version: '1' };
    write({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: { listChanged: true } }, serverInfo } });
  } else if (method === 'tools/list') {
    write({ id, result: { tools: names.map((name) => ({ name, description: name, inputSchema: schema })) } });
  } else if (method === 'tools/call') {
    trace('call', params.name, JSON.stringify(params.arguments));
    const result = await handle(params.name, params.arguments ?? {}, id);
    write({ id, result });
  } else if (method === 'notifications/cancelled') trace('cancelled');
  else if (id !== undefined) write({ id, result: {} });
});
`;

/** The entry of a configuration for {@link TOOLS_PROGRAM}, which lies in the server's folder. */
export function toolsServer(name: string, options: Record<string, string> = {}, more: object = {}) {
  const args = ['tools.mjs', ...Object.entries(options).map(([key, value]) => `${key}=${value}`)];
  return { name, transport: 'stdio', command: process.execPath, args, ...more };
}

/** What the programs in a folder have done, in order. */
export function traceOf(root: string): string[] {
  const file = join(root, 'trace');
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
}

/** The processes that the programs in a folder were. */
export function pidsIn(root: string): number[] {
  return traceOf(root).flatMap((line) => (line.startsWith('start ') ? Number(line.slice(6)) : []));
}

/** A configuration file with tool servers, and an agent in `agent.ts`. JSON is YAML. */
export function configWith(mcpServers: object[], more: object = {}): string {
  return JSON.stringify({
    agent: { type: 'LANGGRAPH', config: { name: 'desk', graph_definition: 'agent.ts:graph' } },
    mcp_servers: mcpServers,
    ...more,
  });
}

/**
 * An agent whose model calls the tools its user names: `name {"some":"arguments"}`, one call to a line, all at once.
 * Then it says `done: ` and what the tools answered.
 */
export const TOOL_CALLER = `
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { ToolNode } from '@langchain/langgraph/prebuilt';
import { ScriptedModel, call } from './scripted.ts';
const answer = (messages) => {
  const last = messages.at(-1);
  if (last.getType() === 'human') {
    const turn = messages.length;
    return last.content.split('\\n').map((line, index) => {
      const [name, ...args] = line.split(' ');
      return call(index, 'call-' + turn + '-' + index, name, args.join(' ') || '{}');
    });
  }
  const said = [];
  for (const message of messages.toReversed()) {
    if (message.getType() !== 'tool') break;
    said.unshift(typeof message.content === 'string' ? message.content : JSON.stringify(message.content));
  }
  return ['done: ' + said.join(' | ').slice(0, 500)];
};
export const graph = async ({ tools }) => {
  const model = new ScriptedModel([answer]);
  globalThis.toolsGiven = tools;
  return new StateGraph(MessagesAnnotation)
    .addNode('model', async (state) => ({ messages: [await model.invoke(state.messages)] }))
    .addNode('tools', new ToolNode(tools))
    .addEdge(START, 'model')
    .addConditionalEdges('model', (state) => (state.messages.at(-1).tool_calls?.length > 0 ? 'tools' : END))
    .addEdge('tools', 'model');
};
`;
