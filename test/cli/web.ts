import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** Serves `handler` on a free loopback port until the test ends, and gives the base address. */
export async function serveWeb(handler: RequestListener): Promise<string> {
  const server = createServer(handler);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A place where agent code in another process waits, by fetching `url`, until the test lets it go on. */
export interface WebGate {
  url: string;
  /** Resolves when somebody has come to the gate. */
  reached: Promise<void>;
  open(): void;
}

/** Makes a closed gate. */
export async function webGate(): Promise<WebGate> {
  let arrive = (): void => undefined;
  let open = (): void => undefined;
  const reached = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const url = await serveWeb(async (_request, response) => {
    arrive();
    await opened;
    response.end();
  });
  return { url, reached, open };
}
