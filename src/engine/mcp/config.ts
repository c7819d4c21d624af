import { z } from 'zod';
import { camelise } from '../../spelling.ts';

const seconds = z.number().positive().max(86_400).nullable().default(null);
const map = z.record(z.string().min(1), z.string()).default({}).meta({ secret: 'named' });
const toolNames = z.array(z.string().min(1).max(255)).max(1_000);

/** How to reach a tool server (admin contract, section 9), and which of its tools an agent gets on what terms. */
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
    toolAllowList: toolNames
      .nullable()
      .default(null)
      .describe("The tools the agent gets, by the server's names for them; null for all."),
    requireApproval: z
      .union([z.boolean(), toolNames])
      .default(false)
      .describe('Whether the user must approve a call before it is made: of all tools, of none, or of those named.'),
  })
  .refine(({ transport, command }) => transport !== 'stdio' || (command !== null && command !== ''), {
    error: 'transport stdio needs a command',
  })
  .refine(({ transport, url }) => transport === 'stdio' || isHttp(transport, url), {
    error: 'this transport needs a url: http(s) for sse and streamable_http, ws(s) for websocket',
  })
  .meta({ id: 'McpServerConfig' });
export type McpServerConfig = z.infer<typeof McpServerConfig>;

/**
 * `mcpServers` of the engine's configuration: the enabled servers, in either spelling. The SDK's websocket transport
 * needs a global WebSocket, which Node 20 lacks, and cannot be stopped while it connects; so it is refused.
 */
export const McpServers = z.preprocess(
  (list) => (Array.isArray(list) ? list.filter(isEnabled).map(camelise) : (list ?? [])),
  z
    .array(
      McpServerConfig.refine(({ transport }) => transport !== 'websocket', {
        path: ['transport'],
        error: 'websocket is not supported by this version: use streamable_http or sse',
      }),
    )
    .superRefine((servers, context) => {
      const names = servers.map(({ name }) => name);
      for (const [index, name] of names.entries()) {
        if (names.indexOf(name) === index) continue;
        context.addIssue({
          code: 'custom',
          path: [index, 'name'],
          message: 'another enabled MCP server has this name',
        });
      }
    }),
);

function isEnabled(entry: unknown): boolean {
  return (entry as { enabled?: unknown } | null)?.enabled !== false;
}

function isHttp(transport: string, url: string | null): boolean {
  if (url === null) return false;
  // A reference to a variable is checked when it is resolved.
  if (url.startsWith('${')) return true;
  if (!URL.canParse(url)) return false;
  return (transport === 'websocket' ? ['ws:', 'wss:'] : ['http:', 'https:']).includes(new URL(url).protocol);
}
