import { existsSync, readFileSync } from 'node:fs';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';

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
