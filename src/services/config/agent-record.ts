import type { z } from 'zod';
import { problem } from '../../problems.ts';
import { type AgentStatus, agent as agentKind } from '../resources/agent.ts';
import type { ConfigRecord } from '../resources/define.ts';
import { type Change, findSingleton, recordWith } from './change.ts';

/** Changes what the agent is called and how it is described. */
export function patchAgent(body: ConfigRecord['data']): Change<ConfigRecord> {
  return (state, now) => {
    const old = findSingleton(state, agentKind);
    if (Object.keys(body).length === 0) return { next: state, result: old };
    const record = recordWith(old, { ...old.data, ...body }, 'database', now);
    return { next: { ...state, agent: [record] }, result: record };
  };
}

/** Registers the agent. @throws Problem `conflict` when there is one. */
export function registerAgent(name: string, definition: string, port: number): Change<ConfigRecord> {
  return (state, now) => {
    if (state.agent.length > 0) throw problem('conflict', { message: 'There is an agent already.' });
    const config = { name: configName(name), graph_definition: definition };
    const data = agentKind.data.parse({
      name,
      baseEngineConfig: { server: { api: { port } }, agent: { type: 'LANGGRAPH', config } },
    });
    const record = recordWith(undefined, data, 'database', now);
    return { next: { ...state, agent: [record] }, result: record };
  };
}

/** Makes `module` the agent, or leaves the agent as it is when it is that already. */
export function replaceAgentModule(module: { type: string; config: AgentModuleConfig }): Change<undefined> {
  return (state, now) => {
    const [old] = state.agent;
    const { checkpointer: _none, ...config } = module.config;
    const base = old?.data.baseEngineConfig as { agent: { config: AgentModuleConfig } } | undefined;
    if (base !== undefined && base.agent.config.graph_definition === config.graph_definition) {
      return { next: state, result: undefined };
    }
    const data = {
      name: config.name,
      description: null,
      version: null,
      baseUrl: null,
      status: 'draft',
      ...old?.data,
      baseEngineConfig: { server: { api: { port: 8000 } }, agent: { type: module.type, config } },
    };
    return { next: { ...state, agent: [recordWith(old, data, 'command line', now)] }, result: undefined };
  };
}

/** What `agent.config` says of where the agent is. */
interface AgentModuleConfig {
  name: string;
  graph_definition?: string;
  checkpointer?: unknown;
}

/** Notes what state an agent is in; nothing about how it runs. @throws Problem `not_found`. */
export function setStatus(id: string, status: z.infer<typeof AgentStatus>): Change<ConfigRecord> {
  return (state, now) => {
    const old = state.agent.find((record) => record.id === id);
    if (old === undefined) throw problem('not_found');
    if (old.data.status === status) return { next: state, result: old };
    const record = recordWith(old, { ...old.data, status }, old.origin, now);
    return { next: { ...state, agent: [record] }, result: record };
  };
}

/** A name as the engine's configuration has it (admin contract, section 13). */
function configName(name: string): string {
  const plain = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '');
  return plain === '' ? 'agent' : plain;
}
