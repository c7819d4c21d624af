import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { packageRoot } from '../../package-info.ts';
import type { ParseAnswer, ParseRequest } from './parse-worker.ts';
import type { ExportedAgent } from './source-agents.ts';

/** Reads what somebody wrote, off the event loop, and gives up on what takes too long. Broken text reads as undefined. */
export interface Parser {
  agents(path: string, text: string): Promise<ExportedAgent[] | undefined>;
  yaml(text: string): Promise<unknown>;
  /** Whether anything was given up. */
  readonly gaveUp: boolean;
  close(): Promise<void>;
}

/** A text can need far more memory than its length suggests; only its worker ends then. */
const MEMORY_MB = 256;

/**
 * Makes a parser. Some texts of few characters take a parser hours, which nothing but the end of its thread can stop;
 * and a large file would hold up every open stream. The thread and the parser are loaded when they are first needed.
 *
 * @param milliseconds time for one text.
 * @param remaining milliseconds left for all of them.
 */
export function createParser(milliseconds: number, remaining: () => number): Parser {
  let worker: Worker | undefined;
  let gaveUp = false;

  const stop = async (): Promise<void> => {
    const stopped = worker;
    worker = undefined;
    await stopped?.terminate();
  };

  async function ask(request: ParseRequest): Promise<unknown> {
    try {
      if (worker === undefined) {
        worker = start();
        await answerOf(worker, remaining());
      }
      worker.postMessage(request);
      return ((await answerOf(worker, Math.min(milliseconds, remaining()))) as ParseAnswer).value;
    } catch (error) {
      await stop();
      if (!isGivenUp(error)) throw error;
      gaveUp = true;
      return undefined;
    }
  }

  return {
    agents: (path, text) => ask({ kind: 'module', path, text }) as Promise<ExportedAgent[] | undefined>,
    yaml: (text) => ask({ kind: 'yaml', text }),
    get gaveUp() {
      return gaveUp;
    },
    close: stop,
  };
}

function start(): Worker {
  const resourceLimits = { maxOldGenerationSizeMb: MEMORY_MB };
  const file = fileURLToPath(import.meta.url);
  const cache = join(packageRoot, 'node_modules/.cache/agent-engine-server');
  const worker = file.endsWith('.ts')
    ? new Worker(FROM_SOURCE, { resourceLimits, execArgv: [], eval: true, workerData: { file, cache } })
    : new Worker(new URL('./parse-worker.js', import.meta.url), { resourceLimits, execArgv: [] });
  // A failure while nobody waits for an answer must not end the process; the next question then goes unanswered.
  worker.on('error', () => undefined);
  return worker;
}

/** Starts the worker where the program runs from source, in development and tests. */
const FROM_SOURCE = `
const { createRequire } = require('node:module');
const { file, cache } = require('node:worker_threads').workerData;
const { createJiti } = createRequire(file)('jiti');
createJiti(file, { fsCache: cache, nativeModules: ['@babel/parser', 'yaml'] }).import('./parse-worker.ts');
`;

async function answerOf(worker: Worker, milliseconds: number): Promise<unknown> {
  const signal = AbortSignal.timeout(Math.max(0, Math.ceil(milliseconds)));
  const [answer] = (await once(worker, 'message', { signal })) as [unknown];
  return answer;
}

function isGivenUp(error: unknown): boolean {
  const { name, code } = error as { name?: unknown; code?: unknown };
  return name === 'AbortError' || code === 'ERR_WORKER_OUT_OF_MEMORY';
}
