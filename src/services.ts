import { dirname, join, resolve } from 'node:path';
import type { Logger } from 'pino';
import type { EnginePorts } from './engine/build.ts';
import { createHolder, type EngineHolder } from './engine/holder.ts';
import { createMcpPool } from './engine/mcp/pool.ts';
import { type CheckpointerConfig, createMemoryPool } from './engine/memory/index.ts';
import { googleEnvironment } from './engine/observability/define.ts';
import { createExporterPool, type ExporterPool } from './engine/observability/pool.ts';
import { createStorePool } from './engine/stores/index.ts';
import { secretsIn } from './engine/tracing/scrub.ts';
import type { SpanSink } from './engine/tracing/span.ts';
import type { Env } from './env.ts';
import { createTargets, type Targets } from './outbound/targets.ts';
import { packageVersion } from './package-info.ts';
import { type Access, createAccess } from './services/access/access.ts';
import { type Checks, createChecks } from './services/config/checks.ts';
import { type Configuration, createConfiguration } from './services/config/configuration.ts';
import { type Configurator, createConfigurator } from './services/config/configurator.ts';
import { createManaged, type Managed } from './services/config/managed.ts';
import type { SignOnRules } from './services/config/prepare.ts';
import { createReconfigure, type Reconfigure } from './services/config/reconfigure.ts';
import { createRevisions, type Revisions } from './services/config/revisions.ts';
import { type ConfigSource, fileSource } from './services/config/source.ts';
import { createStateCodec } from './services/config/state-codec.ts';
import { createStoredConfigurator } from './services/config/stored-config.ts';
import { createVault, readSecretKey } from './services/config/vault.ts';
import { createIntrospection, type Introspection } from './services/introspection.ts';
import { createMcpStatus, type McpStatus } from './services/mcp-status.ts';
import { createObservers, type Observers } from './services/observers.ts';
import { createOnboarding, type Onboarding } from './services/onboarding/onboarding.ts';
import { createRetention } from './services/retention.ts';
import { createRecall } from './services/runs/recall.ts';
import { createRunHistory } from './services/runs/run-history.ts';
import { createRunRecords, type RunRecords } from './services/runs/run-records.ts';
import { createRuns, type Runs } from './services/runs/runs.ts';
import { createThreadHolds } from './services/runs/thread-holds.ts';
import { createThreads } from './services/runs/threads.ts';
import { createSessions, type Sessions } from './services/sessions.ts';
import { createStorage, type Storage } from './services/storage.ts';
import { createToolRefresh } from './services/tool-refresh.ts';
import { createWithEngine } from './services/with-engine.ts';
import { sqlitePath } from './sqlite-driver.ts';
import { createAdminStore } from './store/admin-store.ts';
import { createApiKeyStore } from './store/api-key-store.ts';
import { createAuditStore } from './store/audit-store.ts';
import { createConfigStore } from './store/config-store.ts';
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
  /** What an admin configures; undefined for an engine by itself, which is configured from outside. */
  readonly admin: Admin | undefined;
  readonly access: Access;
  readonly runs: Runs;
  readonly runRecords: RunRecords;
  readonly sessions: Sessions;
  readonly introspection: Introspection;
  readonly storage: Storage;
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
  /** Runs an engine by itself: the source is the configuration, and nothing of it is stored. */
  engineOnly?: boolean;
  /** Where the configuration comes from; by default the file SERVICE_CONFIG_PATH names, which may be missing. */
  source?: ConfigSource;
  /** Memory of an agent whose configuration names none; by default the process's own. */
  defaultCheckpointer?: CheckpointerConfig | undefined;
  /** Who hears of every span, besides the exporters of the configuration. */
  sinks?: readonly SpanSink[];
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
  const targets = createTargets(
    env.SERVICE_ALLOW_PRIVATE_TARGETS ?? (env.SERVICE_ADMIN_AUTH_MODE === 'none' ? ['loopback'] : []),
  );
  const mcpPool = createMcpPool({ root, targets, log });
  const ports = {
    root,
    mcp: mcpPool,
    memory: createMemoryPool(root),
    stores: createStorePool(root),
    defaultCheckpointer: 'defaultCheckpointer' in options ? options.defaultCheckpointer : { type: 'memory' as const },
    tracing: {
      exporters: createExporterPool({
        targets,
        serviceVersion: packageVersion,
        google: googleEnvironment(variables),
        log,
      }),
      sinks: options.sinks ?? [],
      maxValueBytes: env.SERVICE_TRACES_INPUT_VALUE_MAX_BYTES,
      secrets: secretsIn(variables),
    },
  };
  const source = options.source ?? fileSource(configPath, variables, true);
  const sources = {
    source,
    fileSource: (path: string) => fileSource(path, variables, false),
    configDir: dirname(configPath),
  };
  const notReady = (): string => configurator.bootError ?? 'No agent is configured yet.';
  const access = await createAccess({
    env,
    log,
    targets,
    stores: {
      admin: createAdminStore(database),
      apiKeys: createApiKeyStore(database),
      audit: createAuditStore(database),
    },
    hasAdmin: options.engineOnly !== true,
    notReady,
  }).catch(async (error: unknown) => {
    await database.close();
    throw error;
  });
  const { signOn } = access;
  const admin =
    options.engineOnly === true
      ? undefined
      : createAdmin({ env, log, root, variables, database, holder, ports, signOn, targets });
  const configurator =
    admin === undefined
      ? createConfigurator({ ...sources, ports, holder, signOn, log })
      : createStoredConfigurator({ ...sources, reconfigure: admin.reconfigure, log });
  const toolRefresh = createToolRefresh({ pool: mcpPool, holder, rebuild: () => configurator.rebuild(), log });
  const withEngine = createWithEngine(holder, notReady);
  const observers = createObservers(log);
  const threads = createThreads(threadStore);
  const runStore = createRunStore(database);
  const runHistory = await createRunHistory(runStore, env.SERVICE_RUN_HISTORY_DAYS, log);
  const recall = createRecall(withEngine, threadStore);
  const holds = createThreadHolds();
  const retention = createRetention({
    withEngine,
    threads: threadStore,
    holds,
    keep: env.SERVICE_CHECKPOINT_KEEP,
    ttlDays: env.SERVICE_THREAD_TTL_DAYS,
    log,
  });
  const { ran } = retention;
  const runs = createRuns({ env, holder, threads, store: runStore, observers, log, notReady, recall, holds, ran });
  return {
    env,
    log,
    holder,
    configurator,
    admin,
    access,
    observers,
    runs,
    runRecords: createRunRecords({ runs, store: runStore, threads: threadStore, recall }),
    sessions: createSessions({ withEngine, store: threadStore, holds, runs }),
    introspection: createIntrospection(withEngine),
    storage: createStorage({ env, database, withEngine, retention, log }),
    async close() {
      toolRefresh.close();
      runHistory.close();
      const { ended } = runs.close();
      await retention.close();
      await holder.close();
      await ended;
      await access.close();
      await mcpPool.close();
      await database.close();
    },
  };
}

/** What the admin surface works with. */
export interface Admin {
  readonly reconfigure: Reconfigure;
  readonly revisions: Revisions;
  readonly configuration: Configuration;
  readonly onboarding: Onboarding;
  readonly managed: Managed;
  readonly mcp: McpStatus;
  readonly checks: Checks;
  /** The exporters in use. */
  readonly exporters: Pick<ExporterPool, 'status'>;
}

function createAdmin(options: {
  env: Env;
  log: Logger;
  root: string;
  variables: ServiceOptions['variables'];
  database: Database;
  holder: EngineHolder;
  ports: EnginePorts;
  signOn: SignOnRules;
  targets: Targets;
}): Admin {
  const { env, log, root, variables, holder, ports, signOn, targets } = options;
  const file = sqlitePath(env.DATABASE_URL, root);
  const keyFile = file === ':memory:' ? undefined : join(dirname(file), 'secret.key');
  const codec = createStateCodec(createVault(readSecretKey(env.SERVICE_SECRET_KEY, keyFile)));
  const store = createConfigStore(options.database);
  const reconfigure = createReconfigure({ store, codec, holder, ports, signOn, variables, log });
  const policy = { allowStdio: env.SERVICE_ALLOW_STDIO_MCP };
  return {
    reconfigure,
    revisions: createRevisions(store, codec, reconfigure),
    configuration: createConfiguration(reconfigure, variables, policy),
    managed: createManaged(reconfigure),
    mcp: createMcpStatus(holder),
    exporters: ports.tracing.exporters,
    checks: createChecks(reconfigure, { root, variables, policy, targets }),
    onboarding: createOnboarding(reconfigure, root, env.SERVICE_PORT ?? 8000),
  };
}
