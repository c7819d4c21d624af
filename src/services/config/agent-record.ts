import { randomUUID } from 'node:crypto';
import type { z } from 'zod';
import { problem } from '../../problems.ts';
import { type AgentStatus, agent as agentKind } from '../resources/agent.ts';
import type { ConfigRecord } from '../resources/define.ts';
import { type Change, findSingleton } from './change.ts';

/** Members of the agent a patch may change. Those that describe it are cleared by null. */
export const AGENT_MEMBERS = ['name', 'description', 'version', 'baseUrl'] as const;

/** Changes what the agent is called and how it is described. */
export function patchAgent(body: ConfigRecord['data']): Change<ConfigRecord> {
  return (state, now) => {
    const old = findSingleton(state, agentKind);
    if (Object.keys(body).length === 0) return { next: state, result: old };
    const record: ConfigRecord = { ...old, data: { ...old.data, ...body }, origin: 'database', updatedAt: now };
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
    const record: ConfigRecord = {
      id: randomUUID(),
      slug: null,
      data,
      origin: 'database',
      createdAt: now,
      updatedAt: now,
    };
    return { next: { ...state, agent: [record] }, result: record };
  };
}

/** Notes what state an agent is in; nothing about how it runs. @throws Problem `not_found`. */
export function setStatus(id: string, status: z.infer<typeof AgentStatus>): Change<ConfigRecord> {
  return (state, now) => {
    const old = state.agent.find((record) => record.id === id);
    if (old === undefined) throw problem('not_found');
    if (old.data.status === status) return { next: state, result: old };
    const record: ConfigRecord = { ...old, data: { ...old.data, status }, updatedAt: now };
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
