import { basename, dirname, resolve, sep } from 'node:path';
import type { Services } from '../services.ts';

/** Quiet time after a change before the agent is reloaded: editors write a file in several steps. */
const SETTLE_MS = 100;

const IGNORED = new Set(['node_modules', 'dist', 'data', '.git']);

/**
 * Reloads the agent whenever something in its folder or the configuration file changes.
 *
 * @returns how to stop watching.
 */
export async function watchAgent(services: Services, root: string): Promise<() => Promise<void>> {
  const { watch } = await import('chokidar');
  const { log, holder, configurator, env } = services;
  const definition = holder.current?.engine.config.agent.config.graph_definition;
  const file = resolve(root, (definition ?? 'agent.ts').replace(/:[^:/\\]+$/, ''));
  const config = resolve(root, env.SERVICE_CONFIG_PATH);
  const folder = dirname(file);
  const watcher = watch([folder, config], {
    ignoreInitial: true,
    ignored: (path) =>
      path.startsWith(folder + sep) &&
      path
        .slice(folder.length)
        .split(sep)
        .some((part) => IGNORED.has(part)),
  });
  let timer: NodeJS.Timeout | undefined;
  watcher.on('all', (_event, path) => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      log.info({ file: basename(path) }, 'a file of the agent has changed');
      // A failure has been logged by the configurator, and the old agent goes on.
      configurator.reload().catch(() => undefined);
    }, SETTLE_MS);
  });
  return async () => {
    clearTimeout(timer);
    await watcher.close();
  };
}
