import { basename, dirname, resolve, sep } from 'node:path';
import type { Services } from '../services.ts';
import { agentFile } from './agent-file.ts';

/** Quiet time after a change before the agent is reloaded: editors write a file in several steps. */
const SETTLE_MS = 100;

const IGNORED_FOLDERS = new Set(['node_modules', 'dist', 'data']);

/** Files an agent writes while it runs; reloading for them would never end. */
const IGNORED_FILES = /\.(?:(?:db|sqlite3?)(?:-(?:wal|shm|journal))?|log|tmp|swp)$|~$/;

/**
 * Reloads the agent whenever something in its folder or the configuration file changes.
 *
 * @param named agent named on the command line, which is watched even before it can be loaded.
 * @returns how to stop watching.
 */
export async function watchAgent(services: Services, root: string, named?: string): Promise<() => Promise<void>> {
  const { watch } = await import('chokidar');
  const { log, holder, configurator, env } = services;
  /** The agent may move when the configuration is edited; an agent that cannot be found may turn up in `root`. */
  const agentFolder = (): string => {
    const definition = holder.current?.engine.config.agent.config.graph_definition ?? named ?? 'agent.ts';
    return dirname(agentFile(definition, root));
  };
  const folders = new Set([agentFolder()]);
  const ignored = (path: string): boolean => {
    // Only what lies below a watched folder counts: its own path may well hold a "data" or a ".hidden".
    const folder = [...folders].find((candidate) => path.startsWith(candidate + sep));
    const parts = folder === undefined ? [] : path.slice(folder.length + 1).split(sep);
    return parts.some((part) => IGNORED_FOLDERS.has(part) || part.startsWith('.')) || IGNORED_FILES.test(path);
  };
  const watcher = watch([...folders, resolve(root, env.SERVICE_CONFIG_PATH)], { ignoreInitial: true, ignored });

  const reload = async (): Promise<void> => {
    try {
      await configurator.reload();
    } catch {
      // Logged by the configurator; the old agent goes on.
    }
    const folder = agentFolder();
    if (folders.has(folder)) return;
    folders.add(folder);
    watcher.add(folder);
  };
  let timer: NodeJS.Timeout | undefined;
  watcher.on('all', (_event, path) => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      log.info({ file: basename(path) }, 'a file of the agent has changed');
      void reload();
    }, SETTLE_MS);
  });
  watcher.on('ready', () => log.info({ folders: [...folders] }, "watching the agent's files"));
  watcher.on('error', (err) => log.warn({ err }, 'a change may go unnoticed: POST /reload loads the agent anew'));
  return async () => {
    clearTimeout(timer);
    await watcher.close();
  };
}
