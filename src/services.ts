import { dirname, resolve } from 'node:path';
import type { Logger } from 'pino';
import { createHolder, type EngineHolder } from './engine/holder.ts';
import { type CheckpointerConfig, createMemoryPool } from './engine/memory/index.ts';
import type { Env } from './env.ts';
import { type ConfigSource, fileSource } from './services/config-source.ts';
import { type Configurator, createConfigurator } from './services/configurator.ts';
import { createIntrospection, type Introspection } from './services/introspection.ts';
import { createObservers, type Observers } from './services/observers.ts';
import { createRecall } from './services/recall.ts';
import { createRunHistory } from './services/run-history.ts';
import { createRunRecords, type RunRecords } from './services/run-records.ts';
import { createRuns, type Runs } from './services/runs.ts';
import { createSessions, type Sessions } from './services/sessions.ts';
import { createThreads } from './services/threads.ts';
import { createWithEngine } from './services/with-engine.ts';
import { sqlitePath } from './sqlite-driver.ts';
import type { Database } from './store/database.ts';
import { createRunStore } from './store/run-store.ts';
import { openSqliteDatabase } from './store/sqlite.ts';
import { createThreadStore } from './store/thread-store.ts';

/** Everything one server is made of. Two servers in one process share none of it. */
export interface Services {
  readonly env: Env;
  readonly log: Logger;
  readonly holder: EngineHolder;
  readonly configurator: Configurator;
  readonly runs: Runs;
  readonly runRecords: RunRecords;
  readonly sessions: Sessions;
  readonly introspection: Introspection;
  readonly observers: Observers;
  /** Takes the agent out of service, lets its runs end, and closes the database. */
  close(): Promise<void>;
}

/** What a server needs to know besides its settings. */
export interface ServiceOptions {
  env: Env;
  log: Logger;
  /** Folder that relative paths count from. */
  root: string;
  /** Environment that `${NAME}` in configuration files is resolved from. */
  variables: Readonly<Record<string, string | undefined>>;
  /** Where the configuration comes from; by default the file SERVICE_CONFIG_PATH names, which may be missing. */
  source?: ConfigSource;
  /** Memory of an agent whose configuration names none; by default the process's own. */
  defaultCheckpointer?: CheckpointerConfig | undefined;
}

/**
 * Puts a server's parts together, without starting the agent: `configurator.boot()` does that.
 *
 * @throws when the database cannot be opened.
 */
export async function createServices(options: ServiceOptions): Promise<Services> {
  const { env, log, root, variables } = options;
  const database: Database = await openSqliteDatabase(sqlitePath(env.DATABASE_URL, root));
  const threadStore = createThreadStore(database);
  const configPath = resolve(root, env.SERVICE_CONFIG_PATH);
  const holder = createHolder({
    drainTimeoutMs: env.SERVICE_DRAIN_TIMEOUT_SECONDS * 1000,
    onClosed: (generation, err) => {
      if (err === undefined) log.info({ generation }, 'agent is closed');
      else log.error({ generation, err }, 'an agent could not be closed cleanly');
    },
  });
  const configurator = createConfigurator({
    source: options.source ?? fileSource(configPath, variables, true),
    fileSource: (path) => fileSource(path, variables, false),
    configDir: dirname(configPath),
    ports: {
      root,
      memory: createMemoryPool(root),
      defaultCheckpointer: 'defaultCheckpointer' in options ? options.defaultCheckpointer : { type: 'memory' },
    },
    holder,
    log,
  });
  const notReady = (): string => configurator.bootError ?? 'No agent is configured yet.';
  const withEngine = createWithEngine(holder, notReady);
  const observers = createObservers(log);
  const threads = createThreads(threadStore);
  const runStore = createRunStore(database);
  const runHistory = await createRunHistory(runStore, env.SERVICE_RUN_HISTORY_DAYS, log);
  const recall = createRecall(withEngine, threadStore);
  const runs = createRuns({ env, holder, threads, store: runStore, observers, log, notReady, recall });
  return {
    env,
    log,
    holder,
    configurator,
    observers,
    runs,
    runRecords: createRunRecords({ runs, store: runStore, threads: threadStore, recall }),
    sessions: createSessions(withEngine, threadStore),
    introspection: createIntrospection(withEngine),
    async close() {
      runHistory.close();
      const { ended } = runs.close();
      await holder.close();
      await ended;
      await database.close();
    },
  };
}
