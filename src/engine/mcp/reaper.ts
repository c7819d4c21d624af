import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';

/** Ends process groups when this process is gone, however it went. */
export interface Reaper {
  /** Takes charge of a process group. @returns to be called when it has ended. */
  watch(groupId: number): () => void;
  close(): void;
}

/** Reads `+ id` and `- id` until its input ends, which it does when we are gone, and then ends the groups that are left. */
const SCRIPT = `
groups=
while read -r sign id; do
  if [ "$sign" = + ]; then groups="$groups $id"; continue; fi
  left=
  for group in $groups; do [ "$group" = "$id" ] || left="$left $group"; done
  groups=$left
done
[ -n "$groups" ] || exit 0
sleep 1
for group in $groups; do kill -9 "-$group" 2>/dev/null; done
`;

/**
 * Makes a reaper. A program whose standard input ends should end too, but not all do, and a process that is killed cannot
 * see to it. So a shell is kept as long as there is something to watch; where there is no shell, the programs are trusted.
 */
export function createReaper(): Reaper {
  const groups = new Set<number>();
  let shell: ChildProcess | undefined;

  const start = (): ChildProcess | undefined => {
    if (process.platform === 'win32') return undefined;
    // In a session of its own, so that what ends us at the terminal does not end it.
    const child = spawn('/bin/sh', ['-c', SCRIPT], { stdio: ['pipe', 'ignore', 'ignore'], detached: true, env: {} });
    child.on('error', () => {});
    child.stdin?.on('error', () => {});
    child.once('exit', () => {
      if (shell === child) shell = undefined;
    });
    child.unref();
    (child.stdin as Socket | null)?.unref?.();
    return child;
  };
  const stop = (): void => {
    shell?.stdin?.end();
    shell = undefined;
  };

  return {
    watch(groupId) {
      groups.add(groupId);
      if (shell === undefined) {
        shell = start();
        for (const known of groups) shell?.stdin?.write(`+ ${known}\n`);
      } else shell.stdin?.write(`+ ${groupId}\n`);
      return () => {
        if (!groups.delete(groupId)) return;
        shell?.stdin?.write(`- ${groupId}\n`);
        if (groups.size === 0) stop();
      };
    },
    close: stop,
  };
}
