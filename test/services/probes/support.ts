import { existsSync, readFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket, type Server as TcpServer } from 'node:net';
import { onTestFinished } from 'vitest';
import { createTargets } from '../../../src/outbound/targets.ts';

/** Servers of a test are on this machine. */
export const LOCAL = createTargets(['loopback']);

/** A web server for one test. */
export interface LocalServer {
  url: string;
  /** Connections that are open now. */
  open: Set<Socket>;
}

/** A reference to a variable, as records hold them. */
export function ref(name: string): string {
  return `\${${name}}`;
}

/** Starts a web server on loopback that goes away with the test. */
export async function serve(answer: RequestListener): Promise<LocalServer> {
  return await listen(createServer(answer), 'http');
}

/** Starts a server that takes connections and says nothing, or what `greet` says. */
export async function serveTcp(greet: (socket: Socket) => void = () => {}): Promise<LocalServer> {
  return await listen(createTcpServer(greet), 'tcp');
}

/** A port of loopback on which nobody listens. */
export async function closedPort(): Promise<number> {
  const server = createTcpServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Whether a process runs; one that is only waiting for its parent to notice does not. */
export function isAlive(pid: number): boolean {
  if (existsSync('/proc/self/stat')) {
    if (!existsSync(`/proc/${pid}/stat`)) return false;
    return !/^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  }
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function listen(server: TcpServer, scheme: 'http' | 'tcp'): Promise<LocalServer> {
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.on('error', () => {});
    // One that nobody reads never hears that the other side has gone.
    if (scheme === 'tcp') socket.resume();
    socket.on('close', () => open.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    for (const socket of open) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, open };
}
