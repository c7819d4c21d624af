import { setMaxListeners } from 'node:events';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { CallToolResult, Tool } from '@modelcontextprotocol/sdk/types.js';
import { ConnectionFailure } from '../../outbound/failure.ts';
import { soon } from '../soon.ts';
import type { McpServerConfig } from './config.ts';
import { listTools } from './list-tools.ts';
import { keepOrder } from './message-order.ts';
import { type McpRoute, type McpWay, routeTo } from './transport.ts';

/** Longest a handshake takes, the list of tools included. */
const HANDSHAKE_SECONDS = 10;

/** Longest a call waits for an answer or a sign of progress, unless the record says otherwise. */
const CALL_SECONDS = 60;

/** How long a ping waits. */
const PING_MS = 5_000;

/** What saying goodbye may take. */
const LEAVE_MS = 500;

/** How far a call has come, as its server tells it. */
export interface McpProgress {
  progress: number;
  total: number | null;
  message: string | null;
}

/** What the owner of a session hears. */
export interface SessionEvents {
  /** The connection is of no more use. Called once, not after `close`. */
  lost(error: Error): void;
  /** The server says that its tools are others by now. */
  toolsChanged(): void;
  /** The server asks the user something. */
  elicited(request: { message: string; requestedSchema: unknown }): void;
}

/** A connection to a tool server for as long as it lasts. */
export interface McpSession {
  readonly tools: readonly Tool[];
  /** Why it was lost; undefined as long as it is not. */
  readonly fault: Error | undefined;
  list(): Promise<Tool[]>;
  call(
    tool: string,
    args: Record<string, unknown>,
    options: { signal: AbortSignal; onProgress(progress: McpProgress): void },
  ): Promise<CallToolResult>;
  /** Whether the server can be reached. One that only takes its time can. */
  ping(): Promise<Error | undefined>;
  close(): Promise<void>;
}

/**
 * Connects to a server and lists its tools.
 *
 * @param giveUp ends the attempt; of no more use once there is a session.
 * @throws what failed, within the limit for handshakes.
 */
export async function openSession(
  config: McpServerConfig,
  way: Omit<McpWay, 'signal'>,
  events: SessionEvents,
  giveUp: AbortSignal,
): Promise<McpSession> {
  const controller = new AbortController();
  const { signal } = controller;
  // Every request listens to it.
  setMaxListeners(0, signal);
  const given = [config.timeoutSeconds, config.sseReadTimeoutSeconds].filter((seconds) => seconds !== null);
  const handshake = Math.min(HANDSHAKE_SECONDS, ...given) * 1_000;
  const late = new ConnectionFailure(`No answer within ${handshake / 1_000} seconds`);
  let timer: NodeJS.Timeout | undefined;
  let stop: (() => void) | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late), handshake);
    stop = () => reject(new ConnectionFailure('It is not wanted any more'));
    giveUp.addEventListener('abort', stop, { once: true });
  });
  limit.catch(() => {});
  let route: McpRoute | undefined;
  let client: Client | undefined;
  try {
    const { Client: SdkClient } = await import('@modelcontextprotocol/sdk/client/index.js');
    route = await routeTo(config, { ...way, signal });
    client = new SdkClient(
      { name: 'agent-engine-server', version: '1' },
      { capabilities: { elicitation: { form: {} } } },
    );
    keepOrder(route.transport);
    await listen(client, events);
    const limits = { timeout: handshake, signal };
    await Promise.race([client.connect(route.transport, limits), limit]);
    const tools = await Promise.race([listTools(client, limits), limit]);
    return live(client, route, { tools, controller, config, events });
  } catch (error) {
    const fault = route?.fault?.();
    await end(client, route, controller);
    throw fault ?? error;
  } finally {
    clearTimeout(timer);
    if (stop !== undefined) giveUp.removeEventListener('abort', stop);
  }
}

/** Takes what the server asks and tells by itself. */
async function listen(client: Client, events: SessionEvents): Promise<void> {
  const { ElicitRequestSchema, ToolListChangedNotificationSchema } = await import('@modelcontextprotocol/sdk/types.js');
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => events.toolsChanged());
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    events.elicited({
      message: params.message,
      requestedSchema: 'requestedSchema' in params ? params.requestedSchema : null,
    });
    // Nobody was asked, so nobody has declined.
    return { action: 'cancel' as const };
  });
}

function live(
  client: Client,
  route: McpRoute,
  made: { tools: Tool[]; controller: AbortController; config: McpServerConfig; events: SessionEvents },
): McpSession {
  const { controller, config, events } = made;
  const given = [config.timeoutSeconds, config.sseReadTimeoutSeconds].filter((seconds) => seconds !== null);
  const timeout = (given.length === 0 ? CALL_SECONDS : Math.max(...given)) * 1_000;
  let over = false;
  let why: Error | undefined;
  let closing: Promise<void> | undefined;
  const lose = (error: Error): void => {
    if (over) return;
    over = true;
    why = route.fault?.() ?? error;
    events.lost(why);
  };
  const session: McpSession = {
    tools: made.tools,
    get fault() {
      return why;
    },
    list: () => listTools(client, { timeout: HANDSHAKE_SECONDS * 1_000, signal: controller.signal }),
    async call(tool, args, { signal, onProgress }) {
      const { CallToolResultSchema } = await import('@modelcontextprotocol/sdk/types.js');
      try {
        return (await client.request(
          { method: 'tools/call', params: { name: tool, arguments: args } },
          CallToolResultSchema,
          {
            signal,
            timeout,
            resetTimeoutOnProgress: true,
            onprogress: ({ progress, total, message }) =>
              onProgress({ progress, total: total ?? null, message: message ?? null }),
          },
        )) as CallToolResult;
      } catch (error) {
        throw why ?? error;
      }
    },
    async ping() {
      try {
        await client.ping({ timeout: PING_MS, signal: controller.signal });
        return undefined;
      } catch (error) {
        const { code } = error as { code?: unknown };
        // It answers that it knows no ping, or is busy: it is there.
        return code === REQUEST_TIMEOUT || code === METHOD_NOT_FOUND ? undefined : (error as Error);
      }
    },
    close() {
      over = true;
      closing ??= end(client, route, controller);
      return closing;
    },
  };
  client.onclose = () => lose(new ConnectionFailure('The server closed the connection'));
  let checking = false;
  client.onerror = (error) => {
    if (over || checking || config.transport === 'stdio') return;
    // An event source that breaks comes back as another session, which knows nothing of this one.
    if (config.transport === 'sse' && 'event' in error)
      return lose(new ConnectionFailure('The event stream broke off'));
    // The SDK goes on waiting for what stood in the rest of it.
    if (error.message.includes(TOO_LONG)) return lose(new ConnectionFailure(TOO_LONG));
    // What broke may have been one stream of many.
    checking = true;
    void session.ping().then((fault) => {
      checking = false;
      if (fault !== undefined) lose(fault);
    });
  };
  return session;
}

/** What `outbound` says of an answer that is over its bound. */
const TOO_LONG = 'The answer is too long';

const REQUEST_TIMEOUT = -32001;
const METHOD_NOT_FOUND = -32601;

async function end(
  client: Client | undefined,
  route: McpRoute | undefined,
  controller: AbortController,
): Promise<void> {
  if (client?.transport !== undefined && route?.leave !== undefined) await soon(route.leave(), LEAVE_MS);
  // The client closes only what it has connected.
  await client?.close().catch(() => {});
  await route?.transport.close().catch(() => {});
  controller.abort();
}
