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
