import { existsSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { BuildProblem } from '../engine/build-problem.ts';
import { ConfigProblem } from '../engine/config-file.ts';
import type { Env } from '../env.ts';
import { sqlitePath } from '../sqlite-driver.ts';
import { openSqliteDatabase } from '../store/sqlite.ts';
import { agentFile } from './agent-file.ts';
import { databaseFault, Fault } from './fault.ts';
import { readSettings, type Settings } from './settings.ts';
import { chooseSource } from './source.ts';

/**
 * Makes the server's database or brings it up to date, checks the configuration file, and says what it did. Safe to
 * run again, also while the server is running.
 *
 * @throws EnvProblem or Fault for what the caller can mend.
 */
export async function setup(options: { config?: string | undefined }): Promise<void> {
  const settings = readSettings({ SERVICE_CONFIG_PATH: options.config });
  for (const warning of settings.warnings) console.error(`Note: ${warning}.`);
  console.log(await prepareDatabase(settings.env));
  console.log(await checkConfig(settings, options.config));
}

async function prepareDatabase(env: Env): Promise<string> {
  const root = process.cwd();
  const path = sqlitePath(env.DATABASE_URL, root);
  const existed = existsSync(path);
  const database = await openSqliteDatabase(path).catch((error: unknown) => {
    throw databaseFault(error, path);
  });
  await database.close();
  return `Database ${shown(path, root)}: ${existed ? 'up to date' : 'made'}.`;
}

async function checkConfig({ env, variables }: Settings, named: string | undefined): Promise<string> {
  const root = process.cwd();
  const source = chooseSource({ config: named }, env, variables, root);
  const loaded = await source.load().catch((error: unknown) => {
    if (error instanceof ConfigProblem || error instanceof BuildProblem) throw new Fault([error.message]);
    throw error;
  });
  const file = shown(resolve(root, env.SERVICE_CONFIG_PATH), root);
  if (loaded === undefined) {
    return `Configuration ${file}: there is none, so the server will start without an agent. "agent-engine init" makes one.`;
  }
  for (const warning of loaded.warnings) console.error(`Note: ${warning}.`);
  const { name, graph_definition: definition } = loaded.config.agent.config;
  if (!existsSync(agentFile(definition, root))) {
    throw new Fault([
      `Configuration ${file}: the agent's file ${definition} does not exist. Write it, or correct graph_definition.`,
    ]);
  }
  return `Configuration ${file}: good. It serves the agent "${name}" from ${definition}.`;
}

/** A path as a person in `root` would write it. */
function shown(path: string, root: string): string {
  const short = relative(root, path);
  return short === '' || short.startsWith('..') ? path : short;
}
