import { BuildProblem } from '../../engine/build-problem.ts';
import type { ParsedConfig } from '../../engine/config-file.ts';
import { Problem } from '../../problems.ts';
import { ownMark } from '../access/caller.ts';
import { RESOURCES, type ResourceName } from '../resources/index.ts';
import { replaceAgentModule } from './agent-record.ts';
import type { Change } from './change.ts';
import type { Configurator } from './configurator.ts';
import { readDocument } from './document.ts';
import { detailsOf, documentState } from './document-state.ts';
import { asProblem, reasonOf } from './faults.ts';
import { inside } from './folder.ts';
import type { Reconfigure } from './reconfigure.ts';
import type { ConfigSource } from './source.ts';

const NOT_STORED = 'a block of the configuration file could not be stored';

/**
 * Makes the configurator of a server with a database. The database rules; a file fills in what is missing there at the
 * first start (admin contract, section 17), and an agent named on the command line is the agent at every start.
 *
 * @param options.configDir folder that `reload` may load files from.
 */
export function createStoredConfigurator(options: {
  source: ConfigSource;
  fileSource: (path: string) => ConfigSource;
  configDir: string;
  reconfigure: Reconfigure;
  log: Record<'info' | 'warn' | 'error', (details: object, message: string) => void>;
}): Configurator {
  const { source, reconfigure, log } = options;
  let seedError: string | undefined;

  const seed = async (resource: ResourceName, loaded: ParsedConfig): Promise<void> => {
    const change: Change<number> = (state, now) => {
      if (state[resource].length > 0) return { next: state, result: 0 };
      const { state: read, faults } = readDocument(loaded.raw, loaded.resolved, now, 'file');
      for (const fault of faults.filter((known) => known.resource === resource)) {
        const reasons = detailsOf(fault).map(({ loc, msg }) => `${loc.join('.')}: ${msg}`);
        log.error({ resource, source: source.name, reasons }, NOT_STORED);
        if (resource === 'sso') throw new BuildProblem(`${reasons.join('; ')}.`);
      }
      const next = read[resource].length === 0 ? state : { ...state, [resource]: read[resource] };
      return { next, result: read[resource].length };
    };
    await reconfigure.store(
      { by: ownMark(`${resource}.seed`, 'configuration file'), resource, action: 'seed' },
      change,
    );
  };

  const takeOver = async (loaded: ParsedConfig): Promise<void> => {
    for (const warning of loaded.warnings) log.warn({ source: source.name }, warning);
    if (source.kind === 'agent') {
      const note = { by: ownMark('agent.update', 'command line'), resource: 'agent', action: 'update' };
      await reconfigure.store(note, replaceAgentModule(loaded.config.agent));
      return;
    }
    const { state } = await reconfigure.read();
    if (state.agent.length > 0) {
      const hint = 'the configuration is in the database; to take the file over, POST /reload with {"path": …}';
      const [agent] = state.agent;
      const stored = agent?.data.baseEngineConfig as { agent: { config: { graph_definition?: string } } } | undefined;
      // Somebody who names another agent in the file expects that one.
      const differs = stored?.agent.config.graph_definition !== loaded.config.agent.config.graph_definition;
      // And nobody who has written there who may enter expects that everybody may.
      const isOpen = loaded.config.sso?.enabled === true && state.sso.length === 0;
      return log[differs || isOpen ? 'warn' : 'info']({ source: source.name }, hint);
    }
    // Who may enter comes first: without it, no agent that everybody could use.
    await seed('sso', loaded);
    for (const { name } of RESOURCES.filter((kind) => kind.name !== 'sso')) {
      await seed(name, loaded).catch((err: unknown) =>
        log.error({ err, resource: name, source: source.name }, NOT_STORED),
      );
    }
  };

  const fillFromSource = async (place: string): Promise<void> => {
    const loaded = await source.load().catch((error: unknown) => {
      seedError = reasonOf(error);
      throw asProblem(error, place);
    });
    seedError = undefined;
    if (loaded !== undefined) await takeOver(loaded);
  };

  return {
    get bootError() {
      return reconfigure.bootError ?? seedError;
    },
    async boot() {
      try {
        const loaded = await source.load();
        if (loaded !== undefined) await takeOver(loaded);
      } catch (error) {
        const reason = reasonOf(error);
        // With an agent in the database the file decides nothing any more.
        const hasAgent = await reconfigure.read().then(
          ({ state }) => state.agent.length > 0,
          () => true,
        );
        if (!hasAgent) seedError = reason;
        log.error({ err: error, source: source.name }, `nothing was taken from the configuration file: ${reason}`);
      }
      await reconfigure.start();
    },
    rebuild: () => reconfigure.rebuild(),
    async reload(path, by = ownMark('reload', 'server')) {
      if (path === undefined) {
        // A server that nobody has configured yet takes what the file says by now.
        const { state } = await reconfigure.read();
        if (state.agent.length === 0) await fillFromSource('body');
        return reconfigure.rebuild();
      }
      const from = options.fileSource(await inside(options.configDir, path));
      const loaded = await from.load().catch((error: unknown) => {
        throw asProblem(error, 'path');
      });
      if (loaded === undefined) return reconfigure.rebuild();
      const change: Change<undefined> = (state, now) => ({
        next: documentState(loaded, state, now, 'file'),
        result: undefined,
      });
      const note = { by, resource: 'configuration', action: 'import' };
      await reconfigure.write(note, change).catch((error: unknown) => {
        throw error instanceof Problem && error.code === 'reload_failed' ? asProblem(error, 'path') : error;
      });
      seedError = undefined;
      return { generation: reconfigure.generation };
    },
  };
}
