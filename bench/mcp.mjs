/**
 * `npm run bench:mcp`: what reloads leave in memory, with tool servers and without.
 *
 * @module
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { table } from './report.mjs';

const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url));

const { values: options } = parseArgs({
  options: { reloads: { type: 'string', default: '50' }, rounds: { type: 'string', default: '4' } },
});
const [reloads, rounds] = [options.reloads, options.rounds].map(Number);

/** Code that has run a few times only keeps more than it will. */
const WARM_UP = 30;

/** Says what the process holds, after all garbage is gone. */
const AGENT = `
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { AIMessage } from '@langchain/core/messages';
export const graph = ({ tools }) => new StateGraph(MessagesAnnotation)
  .addNode('measure', async () => {
    for (const tool of tools) await tool.invoke({});
    for (let turn = 0; turn < 5; turn += 1) {
      globalThis.gc();
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const { heapUsed, rss } = process.memoryUsage();
    const said = { heapUsed, rss, handles: process.getActiveResourcesInfo().length, tools: tools.length };
    return { messages: [new AIMessage('said ' + JSON.stringify(said))] };
  })
  .addEdge(START, 'measure')
  .addEdge('measure', END);
`;

const TOOLS = `
import { createInterface } from 'node:readline';
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const results = {
    initialize: { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'b', version: '1' } },
    'tools/list': { tools: Array.from({ length: 20 }, (_, n) => ({ name: 'tool' + n, inputSchema: { type: 'object' } })) },
    'tools/call': { content: [{ type: 'text', text: 'x'.repeat(1000) }] },
  };
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result: results[method] ?? {} }) + '\\n');
});
`;

const program = (name, ...args) => ({
  name,
  transport: 'stdio',
  command: process.execPath,
  args: ['tools.mjs', ...args],
});

/** A program that stays, one that is another each time, a server on the network that is another each time, a broken one. */
const serversAt = (turn, url) => [
  program('same'),
  program('changed', `turn=${turn}`),
  { name: 'network', url, headers: { 'X-Turn': String(turn) } },
  { name: 'broken', transport: 'stdio', command: process.execPath, args: ['-e', `process.exit(${turn % 2})`] },
];

let runs = 0;
const rows = [];
const network = await startNetwork();
try {
  for (const [label, servers] of [
    ['no tool servers', () => []],
    ['four tool servers', (turn) => serversAt(turn, network.url)],
  ]) {
    rows.push(...(await measure(label, servers)));
  }
} finally {
  network.stop();
}
console.log(table(['', 'reloads', 'heap (MB)', 'a reload (KB)', 'rss (MB)', 'handles', 'child processes'], rows));

async function measure(label, servers) {
  const folder = mkdtempSync(join(tmpdir(), 'bench-mcp-'));
  let turn = 0;
  const write = () => {
    const agent = { type: 'LANGGRAPH', config: { name: 'bench', graph_definition: 'agent.ts:graph' } };
    writeFileSync(join(folder, 'config.yaml'), JSON.stringify({ agent, mcp_servers: servers(turn) }));
    turn += 1;
  };
  writeFileSync(join(folder, 'agent.ts'), AGENT);
  writeFileSync(join(folder, 'tools.mjs'), TOOLS);
  write();
  const child = spawn(process.execPath, ['--expose-gc', MAIN, 'serve', '--port', '0'], {
    cwd: folder,
    env: { PATH: process.env.PATH, SERVICE_LOG_LEVEL: 'info' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  try {
    const base = await addressOf(child);
    const reload = async () => {
      write();
      const response = await post(`${base}/reload`, { path: 'config.yaml' });
      if (!response.ok) throw new Error(await response.text());
    };
    for (let n = 0; n < WARM_UP; n++) await reload();
    const found = [await ask(base)];
    for (let round = 0; round < rounds; round++) {
      for (let n = 0; n < reloads; n++) await reload();
      found.push(await ask(base));
    }
    const children = childrenOf(child.pid);
    const mb = (bytes) => (bytes / 1024 / 1024).toFixed(1);
    return found.map((one, n) => [
      n === 0 ? label : '',
      String(WARM_UP + n * reloads),
      mb(one.heapUsed),
      n === 0 ? '' : ((one.heapUsed - found[n - 1].heapUsed) / 1024 / reloads).toFixed(1),
      mb(one.rss),
      String(one.handles),
      n === found.length - 1 ? String(children) : '',
    ]);
  } finally {
    child.kill('SIGTERM');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  }
}

function addressOf(child) {
  return new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const address = /Server listening at (http:[^"]+)/.exec(line)?.[1];
      if (address !== undefined) resolve(address);
    });
    child.once('exit', () => reject(new Error('the server has ended')));
  });
}

function post(url, body) {
  return fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
}

async function ask(base) {
  runs += 1;
  const messages = [{ id: `m${runs}`, role: 'user', content: 'measure' }];
  const response = await post(`${base}/agent/run`, { threadId: `t${runs}`, runId: `r${runs}`, messages });
  const text = await response.text();
  const said = /said (\{[^}]*\})/.exec(text.replaceAll('\\"', '"'))?.[1];
  if (said === undefined) throw new Error(text);
  return JSON.parse(said);
}

function childrenOf(pid) {
  return readdirSync('/proc').filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      return (
        / [^Z] /.test(readFileSync(`/proc/${name}/stat`, 'utf8')) &&
        /\) \S (\d+)/.exec(readFileSync(`/proc/${name}/stat`, 'utf8'))?.[1] === String(pid)
      );
    } catch {
      return false;
    }
  }).length;
}

/** A tool server on the network, in this process. */
async function startNetwork() {
  const server = createServer((request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end();
    let text = '';
    request.on('data', (chunk) => {
      text += chunk;
    });
    request.on('end', () => {
      const { id, method, params } = JSON.parse(text);
      if (id === undefined) return void response.writeHead(202).end();
      const serverInfo = { name: 'network', version: '1' };
      const results = {
        initialize: { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo },
        'tools/list': { tools: [{ name: 'clock', inputSchema: { type: 'object' } }] },
        'tools/call': { content: [{ type: 'text', text: 'noon' }] },
      };
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result: results[method] ?? {} }));
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${server.address().port}/mcp`, stop: () => server.close() };
}
