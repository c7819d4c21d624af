import { z } from 'zod';
import { McpServerConfig } from '../../engine/mcp/config.ts';
import { problem } from '../../problems.ts';
import { defineCollection } from './define.ts';

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
