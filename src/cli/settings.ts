import { resolve } from 'node:path';
import { type Env, type EnvName, processVariables, readEnv } from '../env.ts';

/** Port when neither the command line nor the settings nor the configuration name one. */
export const DEFAULT_PORT = 8000;

/** The settings a command works with. */
export interface Settings {
  env: Env;
  /** The environment with `.env`, for `${NAME}` in configuration files. */
  variables: Readonly<Record<string, string | undefined>>;
  warnings: string[];
}

/**
 * Reads the settings of the working directory.
 *
 * @param overrides what the command line says; undefined members say nothing.
 * @throws EnvProblem for bad settings and an unreadable `.env`.
 */
export function readSettings(overrides: Partial<Record<EnvName, string | undefined>>): Settings {
  const variables = processVariables(resolve('.env'));
  const said = Object.fromEntries(Object.entries(overrides).filter(([, value]) => value !== undefined));
  return { ...readEnv({ ...variables, ...said }), variables };
}
