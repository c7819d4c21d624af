import { isNode, LineCounter, parseDocument } from 'yaml';
import { z } from 'zod';
import { describeIssue } from '../issues.ts';
import { type ConfigFault, EngineConfig } from './config.ts';
import { isRecord } from './encode.ts';
import { WrittenPrompt } from './prompts/config.ts';

/** Why a configuration cannot be used: one line per fault, with its line in the file where there is one. Safe to show. */
export class ConfigProblem extends Error {
  override name = 'ConfigProblem';
  readonly faults: ConfigFault[];

  constructor(file: string, faults: ConfigFault[]) {
    const lines = faults.map(({ path, message, line }) => {
      const place = [line === undefined ? '' : `line ${line}`, path.join('.')].filter((part) => part !== '').join(', ');
      return place === '' ? message : `${place}: ${message}`;
    });
    super(`${file} cannot be used: ${lines.join('; ')}.`);
    this.faults = faults;
  }
}

/** What a file may hold: templates that do not parse are told while somebody can mend them. */
const WrittenConfig = EngineConfig.extend({ prompts: z.array(WrittenPrompt).default([]) });

// `memory` is for configurations without an agent, which only a database holds.
const KNOWN_KEYS = new Set([...Object.keys(EngineConfig.shape), 'mcp_servers', 'engine_config', 'memory']);

/** Members that may be spelled otherwise, and how we spell them (contract decision 1). */
const SPELLINGS: Record<string, string> = {
  mcp_servers: 'mcpServers',
  prompt_id: 'promptId',
  graphDefinition: 'graph_definition',
  dbUrl: 'db_url',
};

/** A configuration that was read. */
export interface ParsedConfig {
  config: EngineConfig;
  warnings: string[];
  /** What was written, in our spelling, with its references to variables. */
  raw: Record<string, unknown>;
  /** The same with the variables' values. */
  resolved: Record<string, unknown>;
}

/**
 * Reads a configuration in the file format of runtime contract section 20: YAML or JSON, optionally wrapped in
 * `engine_config`, every `${NAME}` replaced by that variable, `${NAME:-fallback}` where it may be unset, `$${` for a
 * literal `${`.
 *
 * @param file what to call the file in messages.
 * @param variables the environment.
 * @param options.agentOptional whether there may be no agent, as in a database that has none yet; `config` then has none.
 * @throws ConfigProblem naming every fault with its line.
 */
export function parseConfig(
  text: string,
  file: string,
  variables: Readonly<Record<string, string | undefined>>,
  options: { agentOptional?: boolean } = {},
): ParsedConfig {
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { lineCounter, prettyErrors: false, uniqueKeys: true });
  const lineOf = (path: (string | number)[]): number | undefined => {
    for (let length = path.length; length > 0; length -= 1) {
      const node: unknown = document.getIn(path.slice(0, length), true);
      if (isNode(node) && node.range) return lineCounter.linePos(node.range[0]).line;
    }
    return undefined;
  };
  if (document.errors.length > 0) {
    throw new ConfigProblem(
      file,
      document.errors.map((error) => ({
        path: [],
        message: error.message,
        line: lineCounter.linePos(error.pos[0]).line,
      })),
    );
  }
  const faults: ConfigFault[] = [];
  // Aliases are bounded by the library (maxAliasCount), so a file cannot blow up here.
  let plain: unknown;
  try {
    plain = document.toJS({ maxAliasCount: 100 });
  } catch {
    throw new ConfigProblem(file, [{ path: [], message: 'it repeats its anchors too often', line: undefined }]);
  }
  const resolved = resolveVariables(plain, variables, [], (path, name) => {
    faults.push({ path, message: `the variable ${name} is not set`, line: lineOf(path) });
  });
  if (faults.length > 0) throw new ConfigProblem(file, faults);

  const wrapper = ['engine_config', 'engineConfig'].find((key) => isRecord(resolved) && isRecord(resolved[key]));
  const inside = (value: unknown): unknown => (isRecord(value) && wrapper !== undefined ? value[wrapper] : value);
  const body = inside(resolved);
  if (!isRecord(body))
    throw new ConfigProblem(file, [{ path: [], message: 'it holds no configuration', line: undefined }]);
  const warnings = Object.keys(body)
    .filter((key) => !KNOWN_KEYS.has(key))
    .map((key) => `${file}: the key "${key}" is not known and does nothing`);
  const layersOnly = options.agentOptional === true && body.agent === undefined;
  const schema = layersOnly ? (WrittenConfig.omit({ agent: true }) as unknown as typeof EngineConfig) : WrittenConfig;
  const parsed = schema.safeParse(respell(body));
  if (parsed.success) {
    const raw = respell(inside(plain)) as Record<string, unknown>;
    return { config: parsed.data, warnings, raw, resolved: respell(body) as Record<string, unknown> };
  }
  throw new ConfigProblem(
    file,
    parsed.error.issues.map((issue) => {
      const path = issue.path.filter((part) => typeof part !== 'symbol');
      const inFile = path.map((part) => (typeof part === 'string' ? (fileSpelling(body, part) ?? part) : part));
      return {
        path,
        message: describeIssue(issue),
        line: lineOf(wrapper === undefined ? inFile : [wrapper, ...inFile]),
      };
    }),
  );
}

/**
 * A copy in which every `${NAME}` in a text is that variable, `${NAME:-fallback}` where it may be unset, and `$${` a
 * literal `${`.
 *
 * @param onUnset hears of each variable that is not set.
 */
export function resolveVariables(
  value: unknown,
  variables: Readonly<Record<string, string | undefined>>,
  path: (string | number)[],
  onUnset: (path: (string | number)[], name: string) => void,
): unknown {
  if (typeof value === 'string') {
    return value.replace(/\$(\$)?\{([A-Za-z_]\w*)(?::-([^}]*))?\}/g, (whole, escaped, name: string, fallback) => {
      if (escaped !== undefined) return whole.slice(1);
      const found = variables[name];
      if (found !== undefined && found !== '') return found;
      if (fallback !== undefined) return String(fallback);
      if (found === undefined) onUnset(path, name);
      return '';
    });
  }
  if (Array.isArray(value))
    return value.map((entry, index) => resolveVariables(entry, variables, [...path, index], onUnset));
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, entry]) => [key, resolveVariables(entry, variables, [...path, key], onUnset)]),
  );
}

function respell(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(respell);
  if (!isRecord(value)) return value;
  // Settings are the author's own; nothing in them is respelled.
  return Object.fromEntries(
    Object.entries(value).map(([key, entry]) => [SPELLINGS[key] ?? key, key === 'settings' ? entry : respell(entry)]),
  );
}

function fileSpelling(body: Record<string, unknown>, key: string): string | undefined {
  const other = Object.keys(SPELLINGS).find((spelling) => SPELLINGS[spelling] === key);
  return other !== undefined && other in body ? other : undefined;
}
