import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { type Logger, pino } from 'pino';
import { onTestFinished } from 'vitest';
import { type AppOptions, buildApp } from '../../src/app.ts';
import { readEnv } from '../../src/env.ts';
import { agentSource } from '../../src/services/config/source.ts';
import { createServices, type ServiceOptions } from '../../src/services.ts';

/** A server under test, in a folder of its own. */
export interface TestApp {
  app: FastifyInstance;
  /** The folder the server works in. */
  root: string;
  /** Lines the server has logged, newest last. */
  logs: Record<string, unknown>[];
  /** Starts listening on a free port and gives the base address. */
  listen(): Promise<string>;
}

/** What a test wants of its server. */
export interface TestAppOptions
  extends AppOptions,
    Partial<Pick<ServiceOptions, 'source' | 'defaultCheckpointer' | 'engineOnly' | 'sinks'>> {
  /** Settings, as the environment would hold them. */
  env?: Record<string, string>;
  /** Files to write into the folder first: path to text. */
  files?: Record<string, string>;
  /** Agent to serve, `path:export` in the folder. Without it and without `source`, the folder's config.yaml. */
  agent?: string;
  /** An existing folder, to start a second server in. */
  root?: string;
  /** Leaves out `configurator.boot()`. */
  noBoot?: boolean;
}

/** Makes a folder that goes away with the test, holding `files`. */
export function tempFolder(files: Record<string, string> = {}): string {
  const root = mkdtempSync(join(tmpdir(), 'agent-engine-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  writeFiles(root, files);
  return root;
}

/** Writes files into a folder. */
export function writeFiles(root: string, files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) writeFileSync(join(root, path), text);
}

/** Makes a real server: real SQLite file, real agent module, closed when the test ends. */
export async function createTestApp(options: TestAppOptions = {}): Promise<TestApp> {
  const root = options.root ?? tempFolder();
  writeFiles(root, options.files ?? {});
  const variables = { SERVICE_LOG_LEVEL: 'debug', ...options.env };
  const { env } = readEnv(variables);
  const logs: Record<string, unknown>[] = [];
  const log: Logger = pino(
    { level: env.SERVICE_LOG_LEVEL },
    { write: (line: string) => void logs.push(JSON.parse(line) as Record<string, unknown>) },
  );
  const source = options.source ?? (options.agent === undefined ? undefined : agentSource(options.agent));
  const services = await createServices({
    env,
    log,
    root,
    variables,
    ...(source !== undefined && { source }),
    ...(options.engineOnly !== undefined && { engineOnly: options.engineOnly }),
    ...(options.sinks !== undefined && { sinks: options.sinks }),
    ...('defaultCheckpointer' in options && { defaultCheckpointer: options.defaultCheckpointer }),
  });
  const app = await buildApp(services, options);
  onTestFinished(() => app.close());
  if (options.noBoot !== true) await services.configurator.boot();
  return { app, root, logs, listen: () => app.listen({ host: '127.0.0.1', port: 0 }) };
}
