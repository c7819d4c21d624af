import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { getDefaultEnvironment } from '@modelcontextprotocol/sdk/client/stdio.js';
import { deserializeMessage, serializeMessage } from '@modelcontextprotocol/sdk/shared/stdio.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { ConnectionFailure } from '../../outbound/failure.ts';

/** Program to start. */
export interface McpProgram {
  command: string;
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  cwd: string;
  /** Hears what the program writes to its standard error. */
  onStderr?: ((text: string) => void) | undefined;
  /** Hears of the program's process group, and gives back what is to be called when it has ended. */
  onStarted?: ((pid: number) => () => void) | undefined;
}

/** How long a program that was asked to end may take over it, twice. */
const GRACE_MS = 300;

/** What is kept of the last the program says about itself. */
const COMPLAINT_LENGTH = 4_096;

/** What one message may have. */
const MESSAGE_BYTES = 8 * 1024 * 1024;

const LF = 10;

/** Lines in a row that are no messages, after which the program is taken for something else. */
const STRAY_LINES = 1_000;

/**
 * An MCP connection to a program of its own. Unlike the SDK's, it ends the program together with all that it started,
 * and says why the program ended.
 *
 * @param signal kills the program.
 */
export class McpStdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: <T extends JSONRPCMessage>(message: T) => void;
  /** Why the connection ended by itself. */
  fault: ConnectionFailure | undefined;
  readonly #program: McpProgram;
  readonly #signal: AbortSignal;
  #held: Buffer[] = [];
  #heldBytes = 0;
  #child: ChildProcessWithoutNullStreams | undefined;
  #ended: Promise<void> = Promise.resolve();
  #closing: Promise<void> | undefined;
  #complaint = '';
  #strayLines = 0;

  constructor(program: McpProgram, signal: AbortSignal) {
    this.#program = program;
    this.#signal = signal;
  }

  async start(): Promise<void> {
    const { command, args, env, cwd } = this.#program;
    const folder = await stat(cwd).catch(() => undefined);
    if (folder?.isDirectory() !== true) throw new ConnectionFailure('cwd: is not a folder');
    this.#signal.throwIfAborted();
    const child = spawn(command, args, {
      cwd,
      env: { ...getDefaultEnvironment(), ...env },
      stdio: 'pipe',
      windowsHide: true,
      // A group of its own, which is what can be killed as a whole.
      detached: process.platform !== 'win32',
    });
    this.#child = child;
    const kill = (): void => killGroup(child, 'SIGKILL');
    this.#signal.addEventListener('abort', kill, { once: true });
    // One listener for each program is meant, and no leak.
    process.setMaxListeners(process.getMaxListeners() + 1);
    process.once('exit', kill);
    let settled = false;
    let forget: (() => void) | undefined;
    this.#ended = new Promise((resolve) => {
      const settle = (): void => {
        if (settled) return;
        settled = true;
        forget?.();
        process.removeListener('exit', kill);
        process.setMaxListeners(process.getMaxListeners() - 1);
        this.#signal.removeEventListener('abort', kill);
        resolve();
      };
      child.on('error', () => child.pid === undefined && settle());
      child.once('exit', (code, signal) => {
        // What it started goes with it.
        kill();
        settle();
        // What it has said is read first; but a program that left the group may hold the pipes open.
        const lose = (): void => this.#lose(code === null ? `was ended by ${signal}` : `ended with code ${code}`);
        const held = setTimeout(lose, GRACE_MS);
        child.once('close', () => {
          clearTimeout(held);
          lose();
        });
      });
    });
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on('error', () => {});
    child.stdout.on('data', (chunk: Buffer) => this.#read(chunk));
    child.stderr.on('data', (chunk: Buffer) => {
      const text = chunk.toString();
      this.#complaint = (this.#complaint + text).slice(-COMPLAINT_LENGTH);
      this.#program.onStderr?.(text);
    });
    if (child.pid !== undefined) forget = this.#program.onStarted?.(child.pid);
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', (error: NodeJS.ErrnoException) => reject(tellSpawnError(error)));
    });
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#child?.stdin.writable !== true) throw this.fault ?? new ConnectionFailure('The program has ended');
    this.#child.stdin.write(serializeMessage(message));
  }

  /** Also the client closes it, without waiting. */
  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  async #end(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined) return;
    child.stdin.end();
    if (!(await this.#endsSoon())) {
      killGroup(child, 'SIGTERM');
      if (!(await this.#endsSoon())) killGroup(child, 'SIGKILL');
    }
    await this.#ended;
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
    this.onclose?.();
  }

  /** The SDK's own buffer copies all it holds with every chunk. */
  #read(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, start)) {
      const line = Buffer.concat([...this.#held, chunk.subarray(start, end)]).toString();
      this.#hold([]);
      start = end + 1;
      this.#take(line.replace(/\r$/, ''));
      if (this.fault !== undefined) return;
    }
    if (start < chunk.length) this.#hold([...this.#held, chunk.subarray(start)]);
    if (this.#heldBytes > MESSAGE_BYTES) this.#refuse('The program prints a message that is too long');
  }

  #hold(parts: Buffer[]): void {
    this.#held = parts;
    this.#heldBytes = parts.reduce((bytes, part) => bytes + part.length, 0);
  }

  #take(line: string): void {
    try {
      const message = deserializeMessage(line);
      this.#strayLines = 0;
      this.onmessage?.(message);
    } catch (error) {
      this.#strayLines += 1;
      if (this.#strayLines >= STRAY_LINES) return this.#refuse('The program prints text that is no MCP message');
      this.onerror?.(error as Error);
    }
  }

  #refuse(why: string): void {
    this.#hold([]);
    this.fault ??= new ConnectionFailure(why);
    if (this.#child === undefined) return;
    this.#child.stdout.removeAllListeners('data').destroy();
    killGroup(this.#child, 'SIGKILL');
  }

  #lose(how: string): void {
    if (this.#child === undefined) return;
    const lines = this.#complaint.split(/\r?\n/).filter((line) => line.trim() !== '');
    const said = lines.find((line) => /error/i.test(line) && !/^\s+at /.test(line)) ?? lines.at(-1);
    this.fault ??= new ConnectionFailure(`The program ${how}${said === undefined ? '' : `: ${said.trim()}`}`);
    this.onclose?.();
  }

  async #endsSoon(): Promise<boolean> {
    if (this.#signal.aborted) return false;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<false>((resolve) => {
      timer = setTimeout(() => resolve(false), GRACE_MS);
    });
    const ended = await Promise.race([this.#ended.then(() => true), late]);
    clearTimeout(timer);
    return ended;
  }
}

function killGroup(child: ChildProcess, name: 'SIGTERM' | 'SIGKILL'): void {
  if (child.pid === undefined) return;
  try {
    if (process.platform === 'win32') child.kill(name);
    else process.kill(-child.pid, name);
  } catch {
    // Nobody is left.
  }
}

function tellSpawnError({ code }: NodeJS.ErrnoException): ConnectionFailure {
  if (code === 'ENOENT') return new ConnectionFailure('command: there is no such program');
  if (code === 'EACCES') return new ConnectionFailure('command: the program may not be run');
  return new ConnectionFailure(`command: the program cannot be started (${code})`);
}
