import { relative, resolve } from 'node:path';
import { pino } from 'pino';
import { buildApp } from '../app.ts';
import { EnvProblem, processVariables, readEnv } from '../env.ts';
import { agentSource, type ConfigSource, fileSource, managerSource } from '../services/config-source.ts';
import { createServices } from '../services.ts';
import { watchAgent } from './watch.ts';

/** What the command line says of the server to start. */
export interface ServeOptions {
  /** `path/to/file.ts` or `path/to/file.ts:export`, instead of a configuration file. */
  agent?: string | undefined;
  /** Configuration file, before SERVICE_CONFIG_PATH. */
  config?: string | undefined;
  port?: string | undefined;
  host?: string | undefined;
  /** Reload when the agent's files change. */
  watch?: boolean | undefined;
  /** Engine only: no database file, and nothing remembered unless the configuration says so. */
  engineOnly?: { source: 'file' | 'manager'; path?: string | undefined } | undefined;
}

/**
 * Starts the server and keeps it until SIGTERM or SIGINT, which let running streams end first.
 *
 * @returns the address it listens on.
 * @throws EnvProblem for bad settings, and the system's error when the port or the database cannot be had.
 */
export async function serve(options: ServeOptions): Promise<string> {
  const root = process.cwd();
  const variables = processVariables(resolve(root, '.env'));
  const { env, warnings } = readEnv({
    ...variables,
    ...(options.port !== undefined && { SERVICE_PORT: options.port }),
    ...(options.host !== undefined && { SERVICE_HOST: options.host }),
    ...(options.config !== undefined && { SERVICE_CONFIG_PATH: options.config }),
    ...(options.engineOnly !== undefined && { DATABASE_URL: 'sqlite:///:memory:' }),
  });
  const log = pino({ level: env.SERVICE_LOG_LEVEL });
  for (const warning of warnings) log.warn(warning);

  const source = sourceOf(options, env, variables, root);
  const services = await createServices({
    env,
    log,
    root,
    variables,
    ...(source !== undefined && { source }),
    ...(options.engineOnly !== undefined && { defaultCheckpointer: undefined }),
  });
  const app = await buildApp(services);
  await services.configurator.boot();
  const port = env.SERVICE_PORT ?? services.holder.current?.engine.config.server?.api?.port ?? 8000;
  const address = await app.listen({ host: env.SERVICE_HOST, port }).catch(async (error: NodeJS.ErrnoException) => {
    await app.close();
    if (error.code === 'EADDRINUSE') {
      throw new EnvProblem([`SERVICE_PORT ${port} is in use by another program. Stop it, or choose another port.`]);
    }
    throw error;
  });
  const stopWatching = options.watch === true ? await watchAgent(services, root) : undefined;

  let stopping = false;
  const stop = (signal: NodeJS.Signals): void => {
    // A second signal does not wait for streams.
    if (stopping) process.exit(1);
    stopping = true;
    log.info({ signal }, 'stopping: running streams may end first');
    Promise.resolve(stopWatching?.())
      .then(() => app.close())
      .then(
        () => process.exit(0),
        (err: unknown) => {
          log.error({ err }, 'the server could not be stopped cleanly');
          process.exit(1);
        },
      );
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  return address;
}

function sourceOf(
  options: ServeOptions,
  env: ReturnType<typeof readEnv>['env'],
  variables: Record<string, string | undefined>,
  root: string,
): ConfigSource | undefined {
  if (options.agent !== undefined) return agentSource(relative(root, resolve(root, options.agent)));
  if (options.engineOnly?.source === 'manager') {
    const { SERVICE_MANAGER_HOST: host, SERVICE_AGENT_API_KEY: key } = env;
    if (host === undefined || key === undefined) {
      throw new EnvProblem([
        'SERVICE_MANAGER_HOST and SERVICE_AGENT_API_KEY must both be set to take the configuration from a manager.',
      ]);
    }
    return managerSource(host, key, variables);
  }
  const path = options.engineOnly?.path ?? options.config;
  return path === undefined ? undefined : fileSource(resolve(root, path), variables, false);
}
