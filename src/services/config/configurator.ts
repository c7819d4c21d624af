import { buildEngine, type EnginePorts } from '../../engine/build.ts';
import { BuildProblem } from '../../engine/build-problem.ts';
import type { EngineConfig } from '../../engine/config.ts';
import type { EngineHolder } from '../../engine/holder.ts';
import { Mutex } from '../../engine/mutex.ts';
import type { AuditMark } from '../access/caller.ts';
import { asProblem, reasonOf } from './faults.ts';
import { inside } from './folder.ts';
import type { SignOnRules } from './prepare.ts';
import type { ConfigSource } from './source.ts';

/** Puts configurations into service, one at a time: build, swap, drain, close. */
export interface Configurator {
  /** Why the server has no agent although it should, as `/health` shows it; undefined when there is no such fault. */
  readonly bootError: string | undefined;
  /** Loads and starts the configuration at boot. A fault is kept as `bootError`; the server stays up to be mended. */
  boot(): Promise<void>;
  /**
   * Builds a new agent and swaps it in. Whatever fails leaves the running one as it was.
   *
   * @param path a file to load instead, from then on; it must lie in the configuration file's folder.
   * @param by whose request it is, for the histories.
   * @throws Problem `validation_failed` for what the configuration says, `reload_failed` for what failed on start.
   */
  reload(path?: string, by?: AuditMark): Promise<{ generation: number }>;
  /** Builds what is in service once more, with the agent's code as it is now. @throws Problem `reload_failed`. */
  rebuild(): Promise<{ generation: number }>;
}

/** Makes the configurator. @param options.configDir folder that `reload` may load files from. */
export function createConfigurator(options: {
  source: ConfigSource;
  fileSource: (path: string) => ConfigSource;
  configDir: string;
  ports: EnginePorts;
  holder: EngineHolder;
  signOn: Pick<SignOnRules, 'apply'>;
  log: Record<'info' | 'warn' | 'error', (details: object, message: string) => void>;
}): Configurator {
  const { holder, log } = options;
  const mutex = new Mutex();
  let source = options.source;
  let bootError: string | undefined;

  const load = async (from: ConfigSource): Promise<EngineConfig | undefined> => {
    const loaded = await from.load();
    for (const warning of loaded?.warnings ?? []) log.warn({ source: from.name }, warning);
    return loaded?.config;
  };
  const start = async (config: EngineConfig): Promise<number> => {
    const startedAt = performance.now();
    const engine = await buildEngine(config, options.ports);
    options.signOn.apply(config.sso ?? undefined);
    holder.swap(engine);
    bootError = undefined;
    const generation = holder.current?.generation ?? 0;
    const ms = Math.round(performance.now() - startedAt);
    log.info({ agent: config.agent.config.name, generation, ms }, 'agent is live');
    return generation;
  };

  return {
    get bootError() {
      return bootError;
    },
    boot: () =>
      mutex.runWith(async () => {
        try {
          const config = await load(source);
          // Also when the agent cannot be started: who may call does not depend on it.
          options.signOn.apply(config?.sso ?? undefined);
          if (config === undefined) log.warn({ source: source.name }, 'no agent is configured yet');
          else await start(config);
        } catch (error) {
          bootError = reasonOf(error);
          log.error({ err: error, source: source.name }, `the agent cannot be started: ${bootError}`);
        }
      }),
    rebuild: () =>
      mutex.runWith(async () => {
        try {
          const config = holder.current?.engine.config;
          if (config === undefined) throw new BuildProblem('No agent is running.');
          return { generation: await start(config) };
        } catch (error) {
          log.error({ err: error }, 'the agent could not be built anew; the previous one keeps serving');
          throw asProblem(error, 'body');
        }
      }),
    reload: (path) =>
      mutex.runWith(async () => {
        const from = path === undefined ? source : options.fileSource(await inside(options.configDir, path));
        try {
          const config = await load(from);
          if (config === undefined)
            throw new BuildProblem('No agent is configured: there is no configuration to load.');
          const generation = await start(config);
          source = from;
          return { generation };
        } catch (error) {
          log.error({ err: error, source: from.name }, 'reload failed; the previous agent keeps serving');
          // Without a running agent the newest reason is the one to mend.
          if (holder.current === undefined) bootError = reasonOf(error);
          throw asProblem(error, path === undefined ? 'body' : 'path');
        }
      }),
  };
}
