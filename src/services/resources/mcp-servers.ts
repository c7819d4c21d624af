import { z } from 'zod';
import { problem } from '../../problems.ts';
import { defineCollection } from './define.ts';

const seconds = z.number().positive().max(86_400).nullable().default(null);
const map = z.record(z.string().min(1), z.string()).default({}).meta({ secret: 'named' });

/** How to reach a tool server (admin contract, section 9). */
export const McpServerConfig = z
  .object({
    name: z.string().trim().min(1).max(255).describe('What the agent knows it by.'),
    transport: z.enum(['stdio', 'sse', 'streamable_http', 'websocket']).default('streamable_http'),
    url: z.string().max(2_000).nullable().default(null).meta({ secret: 'url' }),
    command: z.string().max(2_000).nullable().default(null),
    args: z.array(z.string().max(10_000)).max(1_000).default([]),
    headers: map,
    env: map,
    cwd: z.string().max(2_000).nullable().default(null),
    encoding: z.string().max(100).nullable().default(null),
    encodingErrorHandler: z.enum(['strict', 'ignore', 'replace']).nullable().default(null),
    timeoutSeconds: seconds,
    sseReadTimeoutSeconds: seconds,
    terminateOnClose: z.boolean().nullable().default(null),
    sessionKwargs: z.record(z.string(), z.unknown()).default({}).meta({ secret: 'named' }),
  })
  .refine(({ transport, command }) => transport !== 'stdio' || (command !== null && command !== ''), {
    error: 'transport stdio needs a command',
  })
  .refine(({ transport, url }) => transport === 'stdio' || isHttp(transport, url), {
    error: 'this transport needs a url: http(s) for sse and streamable_http, ws(s) for websocket',
  })
  .meta({ id: 'McpServerConfig' });

const data = z.object({
  name: z.string().trim().min(1).max(255),
  enabled: z.boolean().default(true),
  mcpServer: McpServerConfig,
});

export const mcpServers = defineCollection({
  name: 'mcp-servers',
  title: 'MCP server',
  example: {
    name: 'Clock Tools',
    enabled: false,
    mcpServer: { name: 'clock', transport: 'streamable_http', url: 'http://127.0.0.1:3001/mcp' },
  },
  tag: 'Integrations & Tools',
  idName: 'mcp_id',
  slugged: true,
  data,
  create: data,
  patchable: ['name', 'enabled', 'mcpServer'],
  notNull: ['name'],
  permit: (data, { allowStdio }) => {
    if ((data.mcpServer as { transport: string }).transport !== 'stdio' || allowStdio) return;
    const msg = 'starts a program on this machine: set SERVICE_ALLOW_STDIO_MCP=true to allow that over HTTP';
    throw problem('validation_failed', {
      details: [{ loc: ['body', 'mcpServer', 'transport'], msg, type: 'value_error' }],
    });
  },
  order: () => 0,
});

function isHttp(transport: string, url: string | null): boolean {
  if (url === null) return false;
  // A reference to a variable is checked when it is resolved.
  if (url.startsWith('${')) return true;
  if (!URL.canParse(url)) return false;
  return (transport === 'websocket' ? ['ws:', 'wss:'] : ['http:', 'https:']).includes(new URL(url).protocol);
}
