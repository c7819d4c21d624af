import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, openSync, rmSync } from 'node:fs';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Starts one of `servers/` in a process and a folder of its own, so that its CPU time can be told from the others'.
 *
 * @param {string} server name of its file.
 * @param {{ label?: string, dist: string, execArgv?: string[] }} options `dist` is the build it uses, as a file URL.
 */
export async function startContender(server, { label = server, dist, execArgv = [] }) {
  const folder = mkdtempSync(join(tmpdir(), 'bench-'));
  const log = openSync(join(folder, 'log'), 'w');
  const child = fork(fileURLToPath(new URL(`servers/${server}.mjs`, import.meta.url)), [folder, dist], {
    execArgv,
    // A log costs what writing to a file costs.
    stdio: ['ignore', log, 'inherit', 'ipc'],
  });
  const gone = once(child, 'exit');
  const answer = async () => {
    const ended = gone.then(([code]) => {
      throw new Error(`${label} has ended with code ${code}`);
    });
    const [message] = await Promise.race([once(child, 'message'), ended]);
    return message;
  };
  const { port } = await answer();
  return {
    label,
    port,
    pid: child.pid,
    /** Connections are kept between batches, as a proxy in front of a server keeps them. */
    sockets: new Agent({ keepAlive: true }),
    async cpuMs() {
      child.send('usage');
      return (await answer()).cpuMs;
    },
    async stop() {
      this.sockets.destroy();
      if (child.connected) child.disconnect();
      await gone;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
