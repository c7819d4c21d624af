import { resolve } from 'node:path';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { ConnectionFailure } from '../../outbound/failure.ts';
import { createFetch } from '../../outbound/fetch.ts';
import type { Targets } from '../../outbound/targets.ts';
import type { McpServerConfig } from './config.ts';
import { boundEvents } from './event-bound.ts';
import type { McpProgram } from './stdio.ts';

/** What one answer or one message of an event stream may have. */
const ANSWER_BYTES = 8 * 1024 * 1024;

/** A way to a tool server, not yet connected. */
export interface McpRoute {
  transport: Transport;
  /** Why the server ended the connection, where that is known. */
  fault?: () => Error | undefined;
  /** Says goodbye, where the protocol has one. */
  leave?: () => Promise<void>;
}

/** How servers are reached. */
export interface McpWay extends Pick<McpProgram, 'onStderr' | 'onStarted'> {
  /** Folder a relative `cwd` counts from. */
  root: string;
  /** Where a server may be. */
  targets: Targets;
  /** Ends everything at once. */
  signal: AbortSignal;
}

/** Makes the transport a record asks for. The SDK is loaded here, since few servers need it when they start. */
export async function routeTo(config: McpServerConfig, way: McpWay): Promise<McpRoute> {
  switch (config.transport) {
    case 'stdio': {
      const { McpStdioTransport } = await import('./stdio.ts');
      const { command, args, env, cwd } = config;
      const { onStderr, onStarted } = way;
      const program = { command: command ?? '', args, env, cwd: resolve(way.root, cwd ?? '.'), onStderr, onStarted };
      const transport = new McpStdioTransport(program, way.signal);
      return { transport, fault: () => transport.fault };
    }
    case 'sse': {
      const { SSEClientTransport } = await import('@modelcontextprotocol/sdk/client/sse.js');
      const { url, headers } = withoutCredentials(config);
      return { transport: new SSEClientTransport(url, { fetch: fetchOf(way), requestInit: { headers } }) };
    }
    case 'streamable_http': {
      const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
      const { url, headers } = withoutCredentials(config);
      const transport = new StreamableHTTPClientTransport(url, {
        fetch: fetchOf(way),
        requestInit: { headers },
        // Proxies cut the event stream of a healthy server now and then; a server that is gone does not come back by this.
        reconnectionOptions: {
          initialReconnectionDelay: 500,
          maxReconnectionDelay: 2_000,
          reconnectionDelayGrowFactor: 2,
          maxRetries: 2,
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
      throw new ConnectionFailure('Transport websocket is not supported by this version: use streamable_http or sse');
  }
}

/** Event streams that are asked for live as long as the connection; only what one message has is bounded in them. */
function fetchOf({ targets, signal }: McpWay): typeof fetch {
  const bounded = createFetch({ targets, signal, maxBytes: ANSWER_BYTES });
  const unbounded = createFetch({ targets, signal });
  return async (url, init) =>
    (init?.method ?? 'GET') === 'GET' ? boundEvents(await unbounded(url, init), ANSWER_BYTES) : bounded(url, init);
}

/** HTTP knows credentials only as a header. */
function withoutCredentials(config: McpServerConfig) {
  const url = new URL(config.url ?? '');
  const { username, password } = url;
  if (username === '' && password === '') return { url, headers: config.headers };
  url.username = '';
  url.password = '';
  const given = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  const authorization = `Basic ${Buffer.from(given).toString('base64')}`;
  return { url, headers: { authorization, ...config.headers } };
}
