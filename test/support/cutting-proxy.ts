import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** Where an answer is cut: after so many frames and bytes of its body, comments not counted as frames. */
export interface Cut {
  /** Whole frames that get through. Default 0. */
  frames?: number;
  /** Bytes that get through after those frames. Default 0: the cut is at the frame's end. */
  bytes?: number;
  /** The body ends properly there, as if it were whole. Default false: the connection breaks. */
  clean?: boolean;
}

/** A request that went through the proxy. */
export interface ProxiedRequest {
  /** Its number, from 0. */
  readonly index: number;
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
}

/** What is done with an answer: `unanswered` breaks the connection once the server has answered, before any byte. */
export type Plan = (request: ProxiedRequest) => Cut | 'unanswered' | undefined;

/** A proxy in front of a server. */
export interface CuttingProxy {
  readonly base: string;
  readonly requests: ProxiedRequest[];
  /** How many answers have been cut. */
  readonly cuts: number;
}

/** Starts a proxy that passes everything to `target` and cuts each answer where `plan` says. */
export async function createCuttingProxy(target: string, plan: Plan): Promise<CuttingProxy> {
  const requests: ProxiedRequest[] = [];
  let cuts = 0;
  const server = createServer((incoming, outgoing) => {
    const { method = 'GET', url = '/', headers } = incoming;
    const seen = { index: requests.length, method, url, headers };
    requests.push(seen);
    const cut = plan(seen);
    const upstream = request(target + url, { method, headers, agent: false }, (answer) => {
      const drop = (): void => {
        cuts += 1;
        upstream.destroy();
        outgoing.socket?.destroy();
      };
      if (cut === 'unanswered') return drop();
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      outgoing.flushHeaders();
      if (cut === undefined) {
        answer.on('error', () => outgoing.destroy());
        answer.pipe(outgoing);
        return;
      }
      pass(answer, outgoing, cut, () => {
        if (cut.clean !== true) return drop();
        cuts += 1;
        upstream.destroy();
        outgoing.end();
      });
    });
    upstream.on('error', () => outgoing.destroy());
    outgoing.on('close', () => upstream.destroy());
    incoming.pipe(upstream);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  const { port } = server.address() as AddressInfo;
  return {
    base: `http://127.0.0.1:${port}`,
    requests,
    get cuts() {
      return cuts;
    },
  };
}

/** Passes the body on up to the cut, then calls `done` once what got through has left. */
function pass(answer: IncomingMessage, outgoing: ServerResponse, cut: Cut, done: () => void): void {
  const counter = createCounter(cut);
  let over = false;
  const check = (through: number, chunk: Buffer): void => {
    if (over) return;
    over = counter.reached;
    const part = chunk.subarray(0, through);
    if (!over) return void outgoing.write(part);
    answer.pause();
    // The headers at least must arrive, so that it is the body that breaks.
    if (part.length === 0) setImmediate(done);
    else outgoing.write(part, () => setImmediate(done));
  };
  check(0, Buffer.alloc(0));
  answer.on('data', (chunk: Buffer) => check(counter.take(chunk), chunk));
  answer.on('end', () => over || outgoing.end());
  answer.on('error', () => over || outgoing.destroy());
}

/** Counts frames and bytes; `take` gives how many bytes of a chunk are on this side of the cut. */
function createCounter({ frames = 0, bytes = 0 }: Cut): { readonly reached: boolean; take(chunk: Buffer): number } {
  const LF = 10;
  let framesLeft = frames;
  let bytesLeft = bytes;
  let lineStart = true;
  let comment = false;
  let frameStart = true;
  return {
    get reached() {
      return framesLeft === 0 && bytesLeft === 0;
    },
    take(chunk) {
      for (const [at, byte] of chunk.entries()) {
        if (framesLeft === 0) {
          if (bytesLeft === 0) return at;
          bytesLeft -= 1;
          continue;
        }
        if (frameStart) comment = byte === 58;
        frameStart = false;
        if (byte === LF && lineStart) {
          frameStart = true;
          if (!comment) framesLeft -= 1;
        }
        lineStart = byte === LF;
      }
      return chunk.length;
    },
  };
}
