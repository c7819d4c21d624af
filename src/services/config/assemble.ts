import { type ConfigFault, type EngineConfig, parseEngineConfig } from '../../engine/config.ts';
import { resolveVariables } from '../../engine/config-file.ts';
import type { SsoConfig } from '../../engine/sign-on.ts';
import type { ConfigRecord } from '../resources/define.ts';
import { COLLECTIONS, type ConfigState, type ResourceName } from '../resources/index.ts';
import { MEMORY_FAMILIES } from '../resources/memory.ts';

type Data = Record<string, unknown>;

/** A configuration put together and checked: what the engine is built from, or why that cannot be. */
export type Assembly =
  | { ok: true; config: EngineConfig | undefined; sso: SsoConfig | undefined }
  /** Each fault with its place in the assembled configuration. */
  | { ok: false; faults: ConfigFault[] };

/**
 * Puts the engine's configuration together from the stored records (admin contract, section 5), resolves its variables
 * and checks it. Without an agent all else is checked by itself and there is nothing to build (contract decision 25).
 *
 * @param variables the environment.
 */
export function assemble(state: ConfigState, variables: Readonly<Record<string, string | undefined>>): Assembly {
  const faults: ConfigFault[] = [];
  // What people write into prompts and ban lists is text, and must not be able to ask for the environment.
  const { prompts, guardrails, ...rest } = layersOf(state, true);
  const resolved = resolveVariables(rest, variables, [], (path, name) =>
    faults.push({ path, message: `the variable ${name} is not set`, line: undefined }),
  ) as Data;
  faults.push(...mismatch(state, (resolved as { agent?: { type?: unknown } }).agent?.type));
  if (faults.length > 0) return { ok: false, faults };
  return parseEngineConfig({ ...resolved, prompts, guardrails }, state.agent.length > 0);
}

/**
 * The configuration as the read routes know it, variables unresolved. Empty layers are left out.
 *
 * @param allPrompts with every version of each prompt, of which an agent may ask for any, and not only the highest.
 */
export function layersOf(state: ConfigState, allPrompts = false): Data {
  const [agent] = state.agent;
  const [memory] = state.memory;
  const [sso] = state.sso;
  const [observability] = state.observability;
  const enabled = (name: ResourceName): Data[] =>
    assembleOrder(state, name)
      .filter(({ data }) => data.enabled !== false)
      .map(({ data }) => data);
  const guardrails = enabled('guardrails');
  const at = (position: string): unknown[] =>
    guardrails.filter((row) => row.position === position).map((row) => row.guardrail);
  const mcpServers = enabled('mcp-servers').map((row) => row.mcpServer);
  const integrations = enabled('integrations').map((row) => ({ ...(row.integration as Data), enabled: true }));
  const providers = observability?.data.observability;
  return {
    ...(agent && agentLayer(agent, memory)),
    ...(mcpServers.length > 0 && { mcpServers }),
    ...(guardrails.length > 0 && { guardrails: { input: at('input'), output: at('output') } }),
    ...(providers !== undefined && { observability: Array.isArray(providers) ? providers : [providers] }),
    ...(sso && { sso: sso.data.sso }),
    ...(integrations.length > 0 && { integrations }),
    ...(state.prompts.length > 0 && {
      prompts: allPrompts ? state.prompts.map(({ data }) => data) : latestPrompts(state),
    }),
  };
}

function agentLayer(agent: ConfigRecord, memory: ConfigRecord | undefined): Data {
  const base = agent.data.baseEngineConfig as { server: Data; agent: { type: string; config: Data } };
  const { type, config } = base.agent;
  const { checkpointer: _checkpointer, session_service: _sessions, ...rest } = config;
  // Without a memory the default decides, which leaves a graph the one it was compiled with.
  const kept = memory && { [type === 'ADK' ? 'session_service' : 'checkpointer']: memory.data.memory };
  return { server: base.server, agent: { type, config: { ...rest, ...kept } } };
}

/** The records of a collection in the order its lists have. */
export function assembleOrder(state: ConfigState, name: ResourceName): ConfigRecord[] {
  const order = COLLECTIONS.find((kind) => kind.name === name)?.order ?? (() => 0);
  return [...state[name]].sort((left, right) => order(left, right) || left.createdAt - right.createdAt);
}

function latestPrompts(state: ConfigState): Data[] {
  const latest = new Map<unknown, Data>();
  // In order of version, so that the highest of each stays.
  for (const { data } of assembleOrder(state, 'prompts')) latest.set(data.promptId, data);
  return [...latest.values()];
}

/** A memory of another framework than the agent's cannot hold its conversations. */
function mismatch(state: ConfigState, type: unknown): ConfigFault[] {
  const [memory] = state.memory;
  if (memory === undefined) return [];
  const { agentFramework, memory: payload } = memory.data as { agentFramework: string; memory: { type: string } };
  const fault = (path: string[], message: string): ConfigFault[] => [{ path, message, line: undefined }];
  const family: readonly string[] = agentFramework === 'ADK' ? MEMORY_FAMILIES.ADK : MEMORY_FAMILIES.LANGGRAPH;
  if (!family.includes(payload.type)) {
    return fault(['memory', 'type'], `${agentFramework} agents cannot have it: it must be ${family.join(', ')}`);
  }
  if (type === undefined) {
    return agentFramework === 'LANGGRAPH'
      ? []
      : fault(['memory', 'type'], `${payload.type} is not supported by this version`);
  }
  return type === agentFramework ? [] : fault(['agentFramework'], `must be ${String(type)}, as the agent is`);
}
