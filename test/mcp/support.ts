import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TestAppOptions } from '../support/app.ts';
import type { ClientRun } from '../support/client.ts';
import { configWith, TOOLS_PROGRAM } from '../support/mcp.ts';

/** A server whose agent is made in `agent.ts` and has these tool servers. */
export function agentOptions(mcpServers: object[], more: TestAppOptions = {}): TestAppOptions {
  const files = { 'config.yaml': configWith(mcpServers), 'tools.mjs': TOOLS_PROGRAM, ...more.files };
  return { agent: undefined, ...more, files } as TestAppOptions;
}

/** The results a run told of, by the call's id. */
export function resultsOf({ events }: Pick<ClientRun, 'events'>): Record<string, unknown> {
  const results = events.filter(({ type }) => type === 'TOOL_CALL_RESULT');
  return Object.fromEntries(results.map(({ toolCallId, content }) => [toolCallId, content]));
}

/** What the agent said. */
export function textsOf({ events }: Pick<ClientRun, 'events'>): string {
  return events.map(({ type, delta }) => (type === 'TEXT_MESSAGE_CONTENT' ? String(delta) : '')).join('');
}

/** Answers as an MCP server with one tool, `clock`, does; its answer may be too long, as JSON or as an event stream. */
export function answerMcp(request: IncomingMessage, response: ServerResponse, { long = false } = {}): void {
  if (request.method !== 'POST') return void response.writeHead(405).end();
  let text = '';
  request.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  request.on('end', () => {
    const { id, method, params } = JSON.parse(text) as { id?: number; method: string; params: Record<string, unknown> };
    if (id === undefined) return void response.writeHead(202).end();
    const asEvents = (params?.arguments as { as?: string } | undefined)?.as === 'events';
    const serverInfo = { name: 'small', version: '1' };
    const results: Record<string, object> = {
      initialize: { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo },
      'tools/list': { tools: [{ name: 'clock', inputSchema: { type: 'object' } }] },
      'tools/call': { content: [{ type: 'text', text: long ? 'x'.repeat(9_000_000) : 'noon' }] },
    };
    const answer = JSON.stringify({ jsonrpc: '2.0', id, result: results[method] ?? {} });
    response.writeHead(200, { 'content-type': asEvents ? 'text/event-stream' : 'application/json' });
    response.end(asEvents ? `data: ${answer}\n\n` : answer);
  });
}
