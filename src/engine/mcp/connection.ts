import { isDeepStrictEqual } from 'node:util';
import type { CallToolResult, Tool } from '@modelcontextprotocol/sdk/types.js';
import { ConnectionFailure, tellFailure } from '../../outbound/failure.ts';
import { isGone, wasNotTaken } from './call-faults.ts';
import type { McpServerConfig } from './config.ts';
import { secretsOf } from './secrets.ts';
import { type McpProgress, type McpSession, openSession } from './session.ts';
import { createStderrLog } from './stderr-log.ts';
import type { McpWay } from './transport.ts';

/** How a server that is gone is tried again. */
const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 60_000;

/** A connection that lasted so long was a good one: trying again starts from the beginning. */
const LASTED_MS = 10_000;

/** A call to a server that is gone tries it at once, unless that was just done. */
const JUST_TRIED_MS = 1_000;

/** How often a server on the network is asked whether it is there, while nothing else is asked of it. */
const PING_MS = 30_000;

/** How long servers may go on saying that their tools have changed before somebody looks. */
const LIST_DELAY_MS = 100;

export type McpState = 'connecting' | 'connected' | 'failed';

/** How a call tells of itself while it goes on. */
export interface McpCall {
  signal: AbortSignal;
  onProgress(progress: McpProgress): void;
  /** The server asked the user something in the course of it, and was told that nobody answers. */
  onElicited(request: { message: string; requestedSchema: unknown }): void;
}

/** A tool server that is kept connected. */
export interface McpConnection {
  readonly state: McpState;
  /** Why it is not connected, in one line without secrets. */
  readonly reason: string | undefined;
  /** When the state last changed; epoch milliseconds. */
  readonly since: number;
  /** The server's tools as it last listed them, also while it is gone. */
  readonly tools: readonly Tool[];
  /** Counts up with each change of `tools`. */
  readonly revision: number;
  /** Resolves when the first attempt has ended, well or not. */
  readonly tried: Promise<void>;
  /** @throws ConnectionFailure, in words for the model, or the signal's reason. */
  call(tool: string, args: Record<string, unknown>, call: McpCall): Promise<CallToolResult>;
  close(): Promise<void>;
}

type Log = Record<'debug' | 'info' | 'warn', (details: object, message: string) => void>;

/** Connects to a server, and again whenever that is needed, until it is closed. */
export function createMcpConnection(
  config: McpServerConfig,
  options: Omit<McpWay, 'signal' | 'onStderr'> & { log: Log; onToolsChanged(): void },
): McpConnection {
  const { log, onToolsChanged, ...way } = options;
  const secrets = secretsOf(config);
  const details = { mcpServer: config.name, transport: config.transport };
  const calls = new Set<McpCall>();
  let session: McpSession | undefined;
  let state: McpState = 'connecting';
  let since = Date.now();
  let reason: string | undefined;
  let tools: readonly Tool[] = [];
  let revision = 0;
  let closed = false;
  const closing = new AbortController();
  let failures = 0;
  let triedAt = 0;
  let attempt: Promise<void> | undefined;
  let retry: NodeJS.Timeout | undefined;
  let pinging: NodeJS.Timeout | undefined;
  let listing: NodeJS.Timeout | undefined;
  const endings = new Set<Promise<void>>();

  const become = (next: McpState, why?: string): void => {
    state = next;
    reason = why;
    since = Date.now();
  };
  const take = (found: readonly Tool[]): void => {
    if (isDeepStrictEqual(found, tools)) return;
    tools = found;
    revision += 1;
    onToolsChanged();
  };
  const shut = (old: McpSession): void => {
    const ending = old.close().finally(() => endings.delete(ending));
    endings.add(ending);
  };
  const failed = (error: unknown): void => {
    const delay = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** failures);
    failures += 1;
    become('failed', tellFailure(error, secrets));
    log.warn({ ...details, reason, retryInMs: delay }, 'an MCP server is not there');
    retry = setTimeout(connect, delay);
    retry.unref();
  };
  const lost = (from: McpSession | undefined, error: Error): void => {
    if (closed || session === undefined || session !== from) return;
    session = undefined;
    clearInterval(pinging);
    shut(from);
    if (Date.now() - since >= LASTED_MS) failures = 0;
    failed(error);
  };
  const list = async (): Promise<void> => {
    const asked = session;
    try {
      const found = await asked?.list();
      if (found !== undefined && asked === session) take(found);
    } catch (error) {
      log.warn({ ...details, reason: tellFailure(error, secrets) }, 'an MCP server could not list its tools anew');
    }
  };
  const listSoon = (): void => {
    listing ??= setTimeout(() => {
      listing = undefined;
      void list();
    }, LIST_DELAY_MS);
  };
  const onStderr = createStderrLog(secrets, (line) => log.debug({ ...details, line }, 'an MCP server says'));
  const elicited: McpCall['onElicited'] = (request) => {
    log.warn(details, 'an MCP server asked the user something in mid-call, which cannot be answered: cancelled');
    // With several calls under way nobody knows whose question it is.
    const [only] = calls;
    if (calls.size === 1) only?.onElicited(request);
  };

  const open = async (): Promise<void> => {
    triedAt = Date.now();
    if (state !== 'connecting') become('connecting', reason);
    let opened: McpSession | undefined;
    try {
      opened = await openSession(
        config,
        { ...way, onStderr },
        {
          lost: (error) => lost(opened, error),
          toolsChanged: listSoon,
          elicited,
        },
        closing.signal,
      );
    } catch (error) {
      if (!closed) failed(error);
      return;
    }
    if (closed) return shut(opened);
    session = opened;
    become('connected');
    log.info({ ...details, tools: opened.tools.length }, 'an MCP server is connected');
    take(opened.tools);
    // It may have gone before it was ours to lose.
    if (opened.fault !== undefined) return lost(opened, opened.fault);
    if (config.transport === 'stdio') return;
    pinging = setInterval(() => void pingIdle(), PING_MS);
    pinging.unref();
  };
  const pingIdle = async (): Promise<void> => {
    const asked = session;
    if (asked === undefined || calls.size > 0) return;
    const fault = await asked.ping();
    if (fault !== undefined) lost(asked, fault);
  };
  const connect = (): Promise<void> => {
    clearTimeout(retry);
    attempt ??= open().finally(() => {
      attempt = undefined;
    });
    return attempt;
  };
  const ready = async (signal: AbortSignal): Promise<McpSession> => {
    if (session === undefined && (attempt !== undefined || Date.now() - triedAt >= JUST_TRIED_MS)) {
      await untilAborted(connect(), signal);
    }
    signal.throwIfAborted();
    if (session === undefined || closed) throw new ConnectionFailure(`it is not there: ${reason ?? 'it was removed'}`);
    return session;
  };

  const tried = connect();
  return {
    get state() {
      return state;
    },
    get reason() {
      return reason;
    },
    get since() {
      return since;
    },
    get tools() {
      return tools;
    },
    get revision() {
      return revision;
    },
    tried,
    async call(tool, args, call) {
      calls.add(call);
      try {
        for (let repeats = 0; ; repeats += 1) {
          const used = await ready(call.signal);
          try {
            return await used.call(tool, args, call);
          } catch (error) {
            call.signal.throwIfAborted();
            if (!isGone(error)) throw new ConnectionFailure(tellFailure(error, secrets), { cause: error });
            lost(used, error as Error);
            if (repeats > 0 || !wasNotTaken(error)) {
              throw new ConnectionFailure(`it was lost in mid-call: ${tellFailure(error, secrets)}`, { cause: error });
            }
            triedAt = 0;
          }
        }
      } finally {
        calls.delete(call);
      }
    },
    async close() {
      closed = true;
      closing.abort();
      for (const timer of [retry, listing]) clearTimeout(timer);
      clearInterval(pinging);
      if (session !== undefined) shut(session);
      session = undefined;
      // What is about to open closes itself.
      await attempt;
      await Promise.all(endings);
    },
  };
}

/** Waits for `work`, but not once the signal says so. */
async function untilAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  let onAbort: (() => void) | undefined;
  const aborted = new Promise<void>((resolve) => {
    onAbort = resolve;
    signal.addEventListener('abort', onAbort, { once: true });
  });
  await Promise.race([work, aborted]);
  if (onAbort !== undefined) signal.removeEventListener('abort', onAbort);
}
