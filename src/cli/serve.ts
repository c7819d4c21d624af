import type { FastifyInstance } from 'fastify';
import { type Logger, pino } from 'pino';
import { buildApp } from '../app.ts';
import { EnvProblem } from '../env.ts';
import { createServices, type Services } from '../services.ts';
import { sqlitePath } from '../sqlite-driver.ts';
import { databaseFault, listenFault } from './fault.ts';
import { greeting } from './greeting.ts';
import { DEFAULT_PORT, readSettings } from './settings.ts';
import { chooseSource, type SourceOptions } from './source.ts';

import { releaseYoungGeneration } from './young-generation.ts';

/** What the command line says of the server to start. */
export interface ServeOptions extends SourceOptions {
  port?: string | undefined;
  host?: string | undefined;
  /** Reload when the agent's files change. */
  watch?: boolean | undefined;
}

/**
 * Starts the server and keeps it until SIGTERM or SIGINT, which let running streams end first.
 *
 * @returns the address it listens on.
 * @throws EnvProblem or Fault for what the caller can mend.
 */
export async function serve(options: ServeOptions): Promise<string> {
  const root = process.cwd();
  const { env, variables, warnings } = readSettings({
    SERVICE_PORT: options.port,
    SERVICE_HOST: options.host,
    SERVICE_CONFIG_PATH: options.config ?? options.engineOnly?.path,
    ...(options.engineOnly !== undefined && { DATABASE_URL: 'sqlite:///:memory:', SERVICE_UI_DIR: '' }),
  });
  const source = chooseSource(options, env, variables, root);
  // At a terminal in order with what is printed below; elsewhere without holding up the streams.
  const log = pino({ level: env.SERVICE_LOG_LEVEL }, pino.destination({ sync: process.stdout.isTTY === true }));
  for (const warning of warnings) log.warn(warning);

  const services = await createServices({
    env,
    log,
    root,
    variables,
    source,
    ...(options.engineOnly !== undefined && { engineOnly: true, defaultCheckpointer: undefined }),
  }).catch((error: unknown) => {
    if (error instanceof EnvProblem) throw error;
    throw databaseFault(error, sqlitePath(env.DATABASE_URL, root));
  });
  const app = await buildApp(services);
  // Before it listens: whoever sees the address may stop the server at once.
  const stop = stopOnSignals(app, log);
  await services.configurator.boot();
  await checkAdmins(services, app);
  const address = await listen(app, services);
  releaseYoungGeneration();
  if (options.watch === true) {
    const { watchAgent } = await import('./watch.ts');
    stop.before(await watchAgent(services, root, options.agent));
  }
  if (process.stdout.isTTY) {
    const { holder, configurator } = services;
    const agent = holder.current?.engine.agent.name;
    console.log(greeting({ address, agent, fault: configurator.bootError }));
  }
  return address;
}

/** A server that nobody could ever administer does not start. */
async function checkAdmins({ access }: Services, app: FastifyInstance): Promise<void> {
  try {
    access.checkAdmins();
  } catch (error) {
    await app.close();
    throw error;
  }
}

async function listen(app: FastifyInstance, { env, holder }: Services): Promise<string> {
  const host = env.SERVICE_HOST;
  const port = env.SERVICE_PORT ?? holder.current?.engine.config.server?.api?.port ?? DEFAULT_PORT;
  try {
    return await app.listen({ host, port });
  } catch (error) {
    await app.close();
    throw listenFault(error, host, port);
  }
}

/** Ends the process when it is told to, or when it can no longer be trusted, after letting running streams end. */
function stopOnSignals(app: FastifyInstance, log: Logger): { before(task: () => Promise<void>): void } {
  const tasks: (() => Promise<void>)[] = [];
  let stopping = false;
  const stop = async (code: number): Promise<void> => {
    stopping = true;
    try {
      for (const task of tasks) await task();
      await app.close();
      process.exit(code);
    } catch (err) {
      log.error({ err }, 'the server could not be stopped cleanly');
      process.exit(1);
    }
  };
  for (const name of ['SIGTERM', 'SIGINT'] as const) {
    process.on(name, (signal) => {
      // A second signal does not wait for streams.
      if (stopping) process.exit(1);
      log.info({ signal }, 'stopping: running streams may end first');
      void stop(0);
    });
  }
  // Agent code runs in this process. A promise it forgot to await must not end everybody's streams.
  process.on('unhandledRejection', (err) => log.error({ err }, 'a promise was rejected and nobody handled it'));
  process.on('uncaughtException', (err) => {
    log.fatal({ err }, 'an error was thrown outside any run; stopping');
    if (!stopping) void stop(1);
  });
  return { before: (task) => void tasks.push(task) };
}
