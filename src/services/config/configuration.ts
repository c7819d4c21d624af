import { createHash } from 'node:crypto';
import { parseConfig } from '../../engine/config-file.ts';
import { isRecord } from '../../engine/encode.ts';
import { problem } from '../../problems.ts';
import type { Policy } from '../resources/define.ts';
import { type ConfigState, RESOURCES } from '../resources/index.ts';
import { mcpServers } from '../resources/mcp-servers.ts';
import { layersOf } from './assemble.ts';
import type { Change } from './change.ts';
import { documentState } from './document-state.ts';
import { asProblem } from './faults.ts';
import type { Reconfigure, WriteNote } from './reconfigure.ts';
import { maskedState } from './state-codec.ts';

/** A configuration file as it is sent: its text, or what it holds. */
export type ConfigDocument = { yaml: string } | { config: Record<string, unknown> };

/** The configuration as a whole. */
export interface Configuration {
  /** How the last reload went. @throws Problem `not_found` before the first. */
  status(): Promise<{
    lastStatus: string;
    lastMessage: string;
    lastError: string | null;
    lastReloadedAt: string;
    generation: number;
    revision: number;
  }>;
  /** What the engine is built from, secrets masked, and where each part comes from. */
  materialized(): Promise<{
    config: Record<string, unknown>;
    hash: string;
    revision: number;
    sources: Record<string, string>;
  }>;
  /** Builds what a document describes and throws it away. @throws Problem as `replace`. */
  tryOut(document: ConfigDocument): Promise<void>;
  /** Puts a document in the place of the whole configuration. @throws Problem as `Reconfigure.write`. */
  replace(document: ConfigDocument, note: WriteNote): ReturnType<Reconfigure['write']>;
}

/** Makes the view of the whole configuration. */
export function createConfiguration(
  reconfigure: Reconfigure,
  variables: Readonly<Record<string, string | undefined>>,
  policy: Policy,
): Configuration {
  const changeTo =
    (document: ConfigDocument): Change<undefined> =>
    (state, now) => ({ next: parse(document, state, variables, policy, now), result: undefined });
  return {
    async status() {
      const [row, { revision }] = await Promise.all([reconfigure.status(), reconfigure.read()]);
      if (row === undefined) throw problem('not_found', { message: 'Nothing has been reloaded yet.' });
      return {
        lastStatus: row.status,
        lastMessage: row.message,
        lastError: row.error,
        lastReloadedAt: new Date(row.at).toISOString(),
        generation: reconfigure.generation,
        revision,
      };
    },
    async materialized() {
      const { state, revision } = await reconfigure.read();
      const config = layersOf(maskedState(state));
      const hash = createHash('sha256')
        .update(JSON.stringify(layersOf(state)))
        .digest('hex');
      return { config, hash, revision, sources: sourcesOf(state) };
    },
    tryOut: (document) => reconfigure.tryOut(changeTo(document)),
    replace: (document, note) => reconfigure.write(note, changeTo(document)),
  };
}

/** The configuration a document describes. @throws Problem `validation_failed` for each fault, with its line where it has one. */
function parse(
  document: ConfigDocument,
  stored: ConfigState,
  variables: Readonly<Record<string, string | undefined>>,
  policy: Policy,
  now: number,
): ConfigState {
  // JSON is YAML.
  const text = 'yaml' in document ? document.yaml : JSON.stringify(document.config);
  let parsed: ReturnType<typeof parseConfig>;
  try {
    parsed = parseConfig(text, 'The configuration', variables, { agentOptional: true });
  } catch (error) {
    throw asProblem(error, 'body');
  }
  const state = documentState(parsed, stored, now, 'database');
  if (state.agent.length === 0 && stored.agent.length > 0) {
    // Left out it would be taken away, which nobody means by that.
    throw problem('validation_failed', { details: [{ loc: ['agent'], msg: 'Field required', type: 'missing' }] });
  }
  for (const { data } of state['mcp-servers']) mcpServers.permit(data, policy);
  return state;
}

/** Where each record comes from, by its place; a member that is a reference to a variable comes from the environment. */
function sourcesOf(state: ConfigState): Record<string, string> {
  const sources: Record<string, string> = {};
  const note = (value: unknown, path: string, origin: string): void => {
    if (typeof value === 'string' && /\$\{[A-Za-z_]\w*(?::-[^}]*)?\}/.test(value)) sources[path] = 'environment';
    else if (Array.isArray(value) || isRecord(value)) {
      for (const [key, entry] of Object.entries(value)) note(entry, `${path}.${key}`, origin);
    }
  };
  for (const { name } of RESOURCES) {
    for (const { slug, id, data, origin } of state[name]) {
      const path = state[name].length === 1 && slug === null ? name : `${name}.${slug ?? id}`;
      sources[path] = origin;
      note(data, path, origin);
    }
  }
  return sources;
}
