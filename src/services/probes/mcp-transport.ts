import { resolve } from 'node:path';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { z } from 'zod';
import { createFetch } from '../../outbound/fetch.ts';
import type { Targets } from '../../outbound/targets.ts';
import type { McpServerConfig } from '../resources/mcp-servers.ts';
import { ProbeFailure } from './failure.ts';

/** What one answer may have. */
const ANSWER_BYTES = 4 * 1024 * 1024;

/** A way to a tool server, not yet connected. */
export interface McpRoute {
  transport: Transport;
  /** Why the server ended the connection, where that is known. */
  fault?: () => Error | undefined;
  /** Says goodbye, where the protocol has one. */
  leave?: () => Promise<void>;
}

/**
 * Makes the transport a record asks for. The SDK is loaded here, since few servers need it when they start.
 *
 * @param options.root folder a relative `cwd` counts from.
 * @param options.signal ends everything at once.
 */
export async function routeTo(
  config: z.infer<typeof McpServerConfig>,
  { root, targets, signal }: { root: string; targets: Targets; signal: AbortSignal },
): Promise<McpRoute> {
  const fetch = createFetch({ targets, signal, maxBytes: ANSWER_BYTES });
  switch (config.transport) {
    case 'stdio': {
      const { McpStdioTransport } = await import('./mcp-stdio.ts');
      const { command, args, env, cwd } = config;
      const program = { command: command ?? '', args, env, cwd: resolve(root, cwd ?? '.') };
      const transport = new McpStdioTransport(program, signal);
      return { transport, fault: () => transport.fault };
    }
    case 'sse': {
      const { SSEClientTransport } = await import('@modelcontextprotocol/sdk/client/sse.js');
      const { url, headers } = withoutCredentials(config);
      return { transport: new SSEClientTransport(url, { fetch, requestInit: { headers } }) };
    }
    case 'streamable_http': {
      const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
      const { url, headers } = withoutCredentials(config);
      const transport = new StreamableHTTPClientTransport(url, {
        fetch,
        requestInit: { headers },
        reconnectionOptions: {
          initialReconnectionDelay: 1_000,
          maxReconnectionDelay: 1_000,
          reconnectionDelayGrowFactor: 1,
          maxRetries: 0,
        },
      });
      return {
        // Its `sessionId` may be undefined, which the interface does not say.
        transport: transport as Transport,
        ...(config.terminateOnClose !== false && { leave: () => transport.terminateSession() }),
      };
    }
    case 'websocket':
      // The SDK's transport needs a global WebSocket, which Node 20 lacks and which cannot be stopped while it connects.
      throw new ProbeFailure('Transport websocket is not supported by this version: use streamable_http or sse');
  }
}

/** HTTP knows credentials only as a header. */
function withoutCredentials(config: { url: string | null; headers: Record<string, string> }) {
  const url = new URL(config.url ?? '');
  const { username, password } = url;
  if (username === '' && password === '') return { url, headers: config.headers };
  url.username = '';
  url.password = '';
  const given = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  const authorization = `Basic ${Buffer.from(given).toString('base64')}`;
  return { url, headers: { authorization, ...config.headers } };
}
