import { realpath } from 'node:fs/promises';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import { isRecord } from '../../engine/encode.ts';
import { splitDefinition } from '../../engine/load-module.ts';
import type { Detection, UnsupportedAgent } from './scan-result.ts';

/** An agent that a file names: `path:export`, or only a path. */
export interface DeclaredAgent {
  framework: Detection['framework'];
  definition: string;
  name: string | undefined;
}

/** Agent that a configuration file of ours names (runtime contract, section 20); undefined when the file is not ours. */
export function agentInConfig(document: unknown): DeclaredAgent | undefined {
  const body = [member(document, 'engine_config', 'engineConfig'), document].find(isRecord);
  const agent = member(body, 'agent');
  const type = member(agent, 'type');
  const config = member(agent, 'config');
  const key = type === 'LANGGRAPH' ? ['graph_definition', 'graphDefinition'] : ['agent'];
  const definition = textOf(member(config, ...key));
  if ((type !== 'LANGGRAPH' && type !== 'ADK') || definition === undefined) return undefined;
  return { framework: type, definition, name: textOf(member(config, 'name')) };
}

/** Agents that a `langgraph.json` names: each entry of `graphs` is `path:export`, or an object with that as its `path`. */
export function agentsInLangGraphJson(document: unknown): DeclaredAgent[] {
  const graphs = member(document, 'graphs');
  return Object.entries(isRecord(graphs) ? graphs : {}).flatMap(([name, entry]) => {
    const definition = textOf(isRecord(entry) ? entry.path : entry);
    return definition === undefined ? [] : [{ framework: 'LANGGRAPH' as const, definition, name }];
  });
}

/** Files the server can load an agent from; a declaration file holds none. */
export function isAgentFile(path: string): boolean {
  return /\.[mc]?[jt]s$/i.test(path) && !/\.d\.[mc]?ts$/i.test(path);
}

/** Why a Python agent is not offered. */
export const PYTHON_REASON = 'It is written in Python; this server runs JavaScript and TypeScript agents.';

/**
 * Where a declared agent is.
 *
 * @param folders folders below `root` that its path may count from, as their paths relative to it.
 * @returns the file relative to `root` and the export, if one is named; or why it cannot be served.
 */
export async function locate(
  { definition }: DeclaredAgent,
  root: string,
  folders: string[],
): Promise<{ filePath: string; variableName: string | undefined } | UnsupportedAgent> {
  const [path, variableName] = splitDefinition(definition);
  const places = folders.map((folder) => toPosix(relative(root, resolve(root, folder, path))));
  const inside = places.filter((place) => !/^\.\.(?:\/|$)/.test(place) && !isAbsolute(place));
  const first = inside[0] ?? places[0] ?? path;
  if (/\.py$/i.test(first)) return { filePath: first, reason: PYTHON_REASON };
  if (inside.length === 0) return { filePath: first, reason: OUTSIDE_REASON };
  for (const filePath of inside) {
    const real = await realpath(join(root, filePath)).catch(() => undefined);
    if (real === undefined) continue;
    if (toPosix(relative(await realpath(root), real)) !== filePath) return { filePath, reason: OUTSIDE_REASON };
    if (!isAgentFile(filePath)) return { filePath, reason: 'It is not a JavaScript or TypeScript module.' };
    return { filePath, variableName };
  }
  return { filePath: first, reason: 'There is no such file.' };
}

const OUTSIDE_REASON = 'It is outside the folder scanned, or behind a symbolic link.';

function toPosix(path: string): string {
  return path.split(sep).join('/');
}

function member(value: unknown, ...names: string[]): unknown {
  const name = names.find((each) => isRecord(value) && Object.hasOwn(value, each));
  return isRecord(value) && name !== undefined ? value[name] : undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}
