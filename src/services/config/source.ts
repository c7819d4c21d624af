import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { BuildProblem } from '../../engine/build-problem.ts';
import { configForAgent } from '../../engine/config.ts';
import { type ParsedConfig, parseConfig } from '../../engine/config-file.ts';

/** How long the manager may take to answer. */
const MANAGER_TIMEOUT_MS = 10_000;

/** Where the configuration comes from. Read anew at every reload. */
export interface ConfigSource {
  /** What the configuration is read from, for the log. */
  readonly name: string;
  /** `agent` names nothing but the agent, and does so at every start. */
  readonly kind: 'file' | 'agent' | 'manager';
  /**
   * Reads the configuration; undefined when there is none and that is no fault.
   * @throws ConfigProblem or BuildProblem saying what to mend.
   */
  load(): Promise<ParsedConfig | undefined>;
}

type Variables = Readonly<Record<string, string | undefined>>;

/** A file. @param optional whether it may be missing, which leaves the server unconfigured. */
export function fileSource(path: string, variables: Variables, optional: boolean): ConfigSource {
  const file = basename(path);
  return {
    name: path,
    kind: 'file',
    async load() {
      let text: string;
      try {
        text = await readFile(path, 'utf8');
      } catch (error) {
        const missing = (error as NodeJS.ErrnoException).code === 'ENOENT';
        if (missing && optional) return undefined;
        throw new BuildProblem(`Configuration file ${file} ${missing ? 'does not exist' : 'cannot be read'}.`, {
          cause: error,
        });
      }
      return parseConfig(text, file, variables);
    },
  };
}

/** An agent named by itself: `path/to/file.ts` or `path/to/file.ts:export`. */
export function agentSource(definition: string): ConfigSource {
  const config = configForAgent(definition);
  const { agent } = config;
  return {
    name: definition,
    kind: 'agent',
    load: async () => ({ config, warnings: [], raw: { agent }, resolved: { agent } }),
  };
}

/** The manager an enrolled server belongs to (runtime contract, section 15). */
export function managerSource(host: string, apiKey: string, variables: Variables): ConfigSource {
  const url = new URL('/api/v1/agents/config', host);
  return {
    name: url.origin,
    kind: 'manager',
    async load() {
      let response: Response;
      try {
        response = await fetch(url, {
          headers: { auth: `Bearer ${apiKey}`, authorization: `Bearer ${apiKey}` },
          signal: AbortSignal.timeout(MANAGER_TIMEOUT_MS),
          redirect: 'error',
        });
      } catch (error) {
        throw new BuildProblem('The manager cannot be reached.', { cause: error });
      }
      if (!response.ok)
        throw new BuildProblem(`The manager answered ${response.status} when asked for the configuration.`);
      return parseConfig(await response.text(), "The manager's configuration", variables);
    },
  };
}
