import { existsSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import type { Env } from '../env.ts';
import { agentSource, type ConfigSource, fileSource, managerSource } from '../services/config/source.ts';
import { isAgentFile } from './agent-file.ts';
import { Fault } from './fault.ts';

/** What the command line says of where the configuration comes from. */
export interface SourceOptions {
  /** `path/to/file.ts` or `path/to/file.ts:export`, instead of a configuration file. */
  agent?: string | undefined;
  /** Configuration file, before SERVICE_CONFIG_PATH. */
  config?: string | undefined;
  /** Engine only: no database file, and nothing remembered unless the configuration says so. */
  engineOnly?: { source: 'file' | 'manager'; path?: string | undefined } | undefined;
}

/**
 * Chooses the configuration's source. A file that is named must be there; the one SERVICE_CONFIG_PATH names may be
 * missing, since a server can start unconfigured, unless nothing else could ever configure it.
 *
 * @throws Fault for what the command line says.
 */
export function chooseSource(
  options: SourceOptions,
  env: Env,
  variables: Readonly<Record<string, string | undefined>>,
  root: string,
): ConfigSource {
  const { agent, config, engineOnly } = options;
  if (agent !== undefined) {
    if (config !== undefined) throw new Fault(['Give either an agent file or --config, not both.']);
    if (/\.(?:ya?ml|json)$/i.test(agent)) {
      throw new Fault([`${agent} is a configuration file. Run: agent-engine serve --config ${agent}`]);
    }
    return agentSource(relative(root, resolve(root, agent)));
  }
  if (engineOnly?.source === 'manager') {
    if (engineOnly.path !== undefined) throw new Fault(['--path belongs to --source file. Leave one of the two out.']);
    const { SERVICE_MANAGER_HOST: host, SERVICE_AGENT_API_KEY: key } = env;
    if (host === undefined || key === undefined) {
      throw new Fault(['Set SERVICE_MANAGER_HOST and SERVICE_AGENT_API_KEY to take the configuration from a manager.']);
    }
    return managerSource(host, key, variables);
  }
  const named = engineOnly?.path ?? config;
  const path = named ?? env.SERVICE_CONFIG_PATH;
  if (isAgentFile(path)) {
    throw new Fault([`${path} is an agent file, not a configuration file. Run: agent-engine serve ${path}`]);
  }
  const required = named !== undefined || engineOnly !== undefined;
  const file = resolve(root, path);
  if (required && !existsSync(file)) {
    const option = engineOnly === undefined ? '--config' : '--path';
    throw new Fault([
      `The configuration file ${path} does not exist.`,
      `Name another with ${option}, or make a project that has one: agent-engine init my-agent`,
    ]);
  }
  return fileSource(file, variables, !required);
}
