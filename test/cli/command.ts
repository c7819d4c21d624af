import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { parseEvents, runInput, type WireEvent } from '../support/runs.ts';

/** The built executable; `npm test` builds it first. */
const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

/** How long a test waits for what must happen soon. */
const DEADLINE_MS = 20_000;

/** A line of the server's log. */
export type LogLine = Record<string, unknown> & { msg: string };

interface Started {
  child: ChildProcess;
  stdout: () => string;
  stderr: () => string;
  exited: Promise<number | null>;
}

function start(args: string[], cwd: string, env: Record<string, string>): Started {
  // None of the settings of whoever runs the tests: a clean environment.
  const { PATH = '', HOME = '', SystemRoot = '' } = process.env;
  const child = spawn(process.execPath, [MAIN, ...args], { cwd, env: { PATH, HOME, SystemRoot, ...env } });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const exited = new Promise<number | null>((resolve) => child.on('close', (code) => resolve(code)));
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  return { child, stdout: () => stdout, stderr: () => stderr, exited };
}

/** Runs a command that ends by itself. */
export async function command(
  args: string[],
  options: { cwd: string; env?: Record<string, string>; input?: string },
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const { child, stdout, stderr, exited } = start(args, options.cwd, options.env ?? {});
  child.stdin?.end(options.input ?? '');
  const code = await inTime(exited, () => `the command to end: ${stdout()}${stderr()}`);
  return { code, stdout: stdout(), stderr: stderr() };
}

/** A server in a process of its own. */
export interface Server {
  address: string;
  /** The log's first line that satisfies `test`, also one already written. */
  logged(test: (line: LogLine) => boolean): Promise<LogLine>;
  /** All of standard output up to now. */
  output(): string;
  signal(name: NodeJS.Signals): void;
  /** The exit code, once the process has ended. */
  exited: Promise<number | null>;
  get(path: string, headers?: Record<string, string>): Promise<{ status: number; body: Record<string, unknown> }>;
  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<Response>;
  /** Says something to the agent on a thread and gives the events of the run. */
  say(text: string, threadId?: string): Promise<WireEvent[]>;
}

/** Starts a server, on a free port unless told otherwise, and waits until it listens. */
export async function startServer(
  args: string[],
  options: { cwd: string; env?: Record<string, string> },
): Promise<Server> {
  const { child, stdout, stderr, exited } = start(args, options.cwd, { SERVICE_PORT: '0', ...options.env });
  const lines: LogLine[] = [];
  const waiting = new Set<() => void>();
  if (child.stdout === null) throw new Error('no standard output');
  createInterface({ input: child.stdout }).on('line', (text) => {
    if (!text.startsWith('{')) return;
    lines.push(JSON.parse(text) as LogLine);
    for (const look of [...waiting]) look();
  });
  const logged = (test: (line: LogLine) => boolean): Promise<LogLine> => {
    const found = new Promise<LogLine>((resolve, reject) => {
      const look = (): void => {
        const line = lines.find(test);
        if (line === undefined) return;
        waiting.delete(look);
        resolve(line);
      };
      waiting.add(look);
      look();
      void exited.then((code) => reject(new Error(`the server ended with ${code}: ${stdout()}${stderr()}`)));
    });
    return inTime(found, () => `a line in the log: ${stdout()}${stderr()}`);
  };
  const { msg } = await logged((line) => line.msg.startsWith('Server listening at '));
  const address = msg.replace('Server listening at ', '');
  const post: Server['post'] = (path, body, headers = {}) =>
    fetch(address + path, {
      method: 'POST',
      headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  return {
    address,
    logged,
    output: stdout,
    signal: (name) => void child.kill(name),
    exited,
    async get(path, headers = {}) {
      const response = await fetch(address + path, { headers });
      return { status: response.status, body: (await response.json()) as Record<string, unknown> };
    },
    post,
    async say(text, threadId) {
      const response = await post('/agent/run', runInput(text, threadId === undefined ? {} : { threadId }));
      const answer = await response.text();
      if (response.status !== 200) throw new Error(`${response.status} ${answer}`);
      return parseEvents(answer);
    },
  };
}

/** Waits for a promise, but not for ever. @param what named in the error when it took too long. */
export function inTime<T>(promise: Promise<T>, what: () => string): Promise<T> {
  const late = new Promise<never>((_, reject) => {
    AbortSignal.timeout(DEADLINE_MS).addEventListener('abort', () => reject(new Error(`waited in vain for ${what()}`)));
  });
  return Promise.race([promise, late]);
}

/** The path of a file in the package. */
export function packageFile(path: string): string {
  return join(fileURLToPath(new URL('../../', import.meta.url)), path);
}
