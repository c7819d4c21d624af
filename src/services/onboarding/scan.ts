import { join, posix, resolve } from 'node:path';
import {
  agentInConfig,
  agentsInLangGraphJson,
  type DeclaredAgent,
  isAgentFile,
  locate,
  PYTHON_REASON,
} from './declared-agents.ts';
import { findFiles, readSmallFile, type SearchLimits } from './files.ts';
import { looksLikePythonAgent, mayHoldAgent } from './kits.ts';
import { inferName, plainName } from './names.ts';
import { createParser, type Parser } from './parser.ts';
import type { Detection, ScanResult, UnsupportedAgent } from './scan-result.ts';

/** What a scan may cost. What is beyond it is left out, and the result says so. */
export interface ScanLimits extends SearchLimits {
  /** Largest file that is read; a larger one is passed over as no source. */
  bytes: number;
  /** Time for everything. */
  milliseconds: number;
  /** Time to parse one file. */
  parseMilliseconds: number;
  /** Agents that are given back. */
  agents: number;
}

const LIMITS: ScanLimits = {
  depth: 4,
  files: 2_000,
  entries: 50_000,
  bytes: 1024 * 1024,
  milliseconds: 5_000,
  parseMilliseconds: 2_000,
  agents: 100,
};

/** Folders between the root and a configuration file. */
const CONFIG_DEPTH = 2;

/** Most agents that are reported as unsupported. */
const MAX_UNSUPPORTED = 20;

type Found = Omit<Detection, 'inferredName'> & { name?: string | undefined };

/**
 * Looks for agents in a project: in configuration files, in `langgraph.json` and in the sources, which are parsed and
 * never run. A file that is broken is passed over.
 *
 * @param limits replaces the usual bounds.
 */
export async function scanProject(root: string, limits: Partial<ScanLimits> = {}): Promise<ScanResult> {
  const started = performance.now();
  const bounds = { ...LIMITS, ...limits };
  const remaining = (): number => started + bounds.milliseconds - performance.now();
  const base = resolve(root);
  const { paths, complete } = await findFiles(base, isOfInterest, bounds, () => remaining() <= 0);
  const parser = createParser(bounds.parseMilliseconds, remaining);
  try {
    const scan = createScan(base, parser, bounds.bytes);
    let read = 0;
    // What says for certain where an agent is comes first.
    for (const path of [...paths].sort((a, b) => rank(a) - rank(b))) {
      if (remaining() <= 0) break;
      await scan.read(path);
      read += 1;
    }
    const detected = await scan.detected(bounds.agents);
    return {
      root: base,
      detected,
      unsupported: scan.unsupported(),
      hasSourceFiles: paths.some(isAgentFile),
      hasPythonFiles: paths.some(isPython),
      hasServiceConfig: scan.hasServiceConfig(),
      truncated: !complete || read < paths.length || parser.gaveUp || scan.found() > detected.length,
      scanDurationMs: Math.round(performance.now() - started),
    };
  } finally {
    await parser.close();
  }
}

function isOfInterest(path: string, depth: number): boolean {
  return (isConfig(path) && depth <= CONFIG_DEPTH) || path === LANGGRAPH_JSON || isAgentFile(path) || isPython(path);
}

const LANGGRAPH_JSON = 'langgraph.json';

function isConfig(path: string): boolean {
  return /(?:^|\/)config\.ya?ml$/.test(path);
}

function isPython(path: string): boolean {
  return path.endsWith('.py');
}

function rank(path: string): number {
  if (isConfig(path)) return 0;
  return path === LANGGRAPH_JSON ? 1 : 2;
}

interface Scan {
  read(path: string): Promise<void>;
  /** At most `limit` of what was found. */
  detected(limit: number): Promise<Detection[]>;
  found(): number;
  unsupported(): UnsupportedAgent[];
  hasServiceConfig(): boolean;
}

function createScan(root: string, parser: Parser, maxBytes: number): Scan {
  const agents = new Map<string, Found>();
  const refused = new Map<string, string>();
  let hasServiceConfig = false;

  /** The first one stays: what is read first is at least as certain as what comes later. */
  const add = (agent: Found): void => {
    const key = `${agent.filePath}:${agent.variableName}`;
    if (!agents.has(key)) agents.set(key, agent);
  };
  const refuse = ({ filePath, reason }: UnsupportedAgent): void => {
    if (!refused.has(filePath)) refused.set(filePath, reason);
  };

  const agentsIn = async (path: string): Promise<Found[]> => {
    const text = await readSmallFile(join(root, path), maxBytes);
    if (text === undefined || !mayHoldAgent(text)) return [];
    const exported = (await parser.agents(path, text)) ?? [];
    return exported.map((agent) => ({ ...agent, filePath: path, confidence: 'MEDIUM', source: 'source' }));
  };

  const addDeclared = async (agent: DeclaredAgent, source: Detection['source'], folders: string[]): Promise<void> => {
    const place = await locate(agent, root, folders);
    if ('reason' in place) return refuse(place);
    // Without an export's name the server takes the only agent there is.
    const only = place.variableName === undefined ? await agentsIn(place.filePath) : [];
    const variableName = place.variableName ?? (only.length === 1 ? only[0]?.variableName : undefined);
    if (variableName === undefined) {
      refuse({ filePath: place.filePath, reason: 'It has to be said which export of it is the agent.' });
      return;
    }
    const { framework, name } = agent;
    add({ framework, filePath: place.filePath, variableName, confidence: 'HIGH', source, name });
  };

  const projectNames = new Map<string, string | undefined>();
  /** Name in the nearest package.json above a file, which is the package the file belongs to. */
  async function projectName(folder: string): Promise<string | undefined> {
    if (!projectNames.has(folder)) {
      const manifest = parseJson(await readSmallFile(join(root, folder, 'package.json'), maxBytes));
      const name = (manifest as { name?: unknown } | null | undefined)?.name;
      const own = typeof name === 'string' ? name.replace(/^@[^/]*\//, '') : undefined;
      projectNames.set(folder, own ?? (folder === '.' ? undefined : await projectName(posix.dirname(folder))));
    }
    return projectNames.get(folder);
  }

  return {
    async read(path) {
      if (isAgentFile(path)) return (await agentsIn(path)).forEach(add);
      const text = await readSmallFile(join(root, path), maxBytes);
      if (text === undefined) return;
      if (isPython(path)) {
        if (looksLikePythonAgent(text)) refuse({ filePath: path, reason: PYTHON_REASON });
      } else if (isConfig(path)) {
        const agent = /\bagent\b/.test(text) ? agentInConfig(await parser.yaml(text)) : undefined;
        if (agent === undefined) return;
        hasServiceConfig = true;
        // Paths count from the folder the server is started in, which may be this one or the file's own.
        await addDeclared(agent, 'config', ['', posix.dirname(path)]);
      } else {
        for (const agent of agentsInLangGraphJson(parseJson(text))) await addDeclared(agent, 'langgraph_json', ['']);
      }
    },
    detected: (limit) =>
      Promise.all(
        [...agents.values()].slice(0, limit).map(async ({ name, ...agent }) => ({
          ...agent,
          inferredName:
            plainName(name ?? '') || inferName(agent.filePath, await projectName(posix.dirname(agent.filePath))),
        })),
      ),
    found: () => agents.size,
    unsupported: () => [...refused].slice(0, MAX_UNSUPPORTED).map(([filePath, reason]) => ({ filePath, reason })),
    hasServiceConfig: () => hasServiceConfig,
  };
}

function parseJson(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch {
    return undefined;
  }
}
