import type { EngineHolder } from '../engine/holder.ts';
import type { McpPool } from '../engine/mcp/pool.ts';

/** How long tool servers may go on changing before the agent is built anew. */
const DEBOUNCE_MS = 200;

/** When it is looked again whether an engine that is only now going into service has all tools. */
const LOOK_AGAIN_MS = 500;

/** Longest wait after builds that failed, and for servers whose tools are never the same. */
const LONGEST_MS = 300_000;

/** Builds in a row, each within a minute of the one before, that are made without waiting longer each time. */
const PATIENCE = 5;
const MINUTE_MS = 60_000;

/** Builds the agent anew whenever its tool servers have other tools than it was built with. */
export interface ToolRefresh {
  close(): void;
}

/**
 * Makes the refresh. A graph is made with the tools there are, so other tools need another graph; it goes into service
 * as after any reload, under the runs there are, and what comes next gets the new tools.
 *
 * @param options.rebuild builds the configuration that is in service once more.
 */
export function createToolRefresh(options: {
  pool: Pick<McpPool, 'stale' | 'onToolsChanged'>;
  holder: EngineHolder;
  rebuild(): Promise<unknown>;
  log: Record<'info' | 'warn', (details: object, message: string) => void>;
}): ToolRefresh {
  const { pool, holder, rebuild, log } = options;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;
  let failures = 0;
  let builtAt = 0;
  let inARow = 0;

  const later = (ms: number): void => {
    if (closed || timer !== undefined) return;
    timer = setTimeout(() => {
      timer = undefined;
      void look();
    }, ms);
    timer.unref();
  };
  const look = async (): Promise<void> => {
    if (!pool.stale) return;
    if (holder.current?.engine.mcp.stale !== true) return later(LOOK_AGAIN_MS);
    try {
      log.info({}, 'the tools of an MCP server have changed: the agent is built anew');
      inARow = Date.now() - builtAt < MINUTE_MS ? inARow + 1 : 0;
      builtAt = Date.now();
      await rebuild();
      failures = 0;
    } catch {
      // The pipeline has logged why.
      failures += 1;
      log.warn({}, 'the agent keeps the tools it has, until it can be built');
    }
    later(failures === 0 ? LOOK_AGAIN_MS : Math.min(LONGEST_MS, LOOK_AGAIN_MS * 2 ** failures));
  };

  pool.onToolsChanged(() => later(Math.min(LONGEST_MS, DEBOUNCE_MS * 2 ** Math.max(0, inARow - PATIENCE))));
  return {
    close() {
      closed = true;
      clearTimeout(timer);
    },
  };
}
