import { spawn } from 'node:child_process';

/** What decides whether there is a browser to open. */
export interface Desktop {
  platform: NodeJS.Platform;
  variables: Readonly<Record<string, string | undefined>>;
  /** Whether a person sits at the other end. */
  isTTY: boolean;
}

/** The command that opens `url` in the person's browser; undefined where there is nobody, or no screen. */
export function browserCommand(url: string, { platform, variables, isTTY }: Desktop): [string, string[]] | undefined {
  if (!isTTY || variables.CI !== undefined) return undefined;
  if (platform === 'darwin') return ['open', [url]];
  // The first quoted argument of `start` is a window title.
  if (platform === 'win32') return ['cmd', ['/c', 'start', '', url]];
  const screen = variables.DISPLAY || variables.WAYLAND_DISPLAY;
  return screen ? ['xdg-open', [url]] : undefined;
}

/** Opens `url`, without waiting and without complaining: the address has been printed as well. */
export function openBrowser(url: string, desktop: Desktop): void {
  const command = browserCommand(url, desktop);
  if (command === undefined) return;
  const child = spawn(command[0], command[1], { detached: true, stdio: 'ignore' });
  child.on('error', () => undefined);
  child.unref();
}
