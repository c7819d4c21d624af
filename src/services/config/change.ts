import { randomUUID } from 'node:crypto';
import { problem } from '../../problems.ts';
import type { CollectionKind, ConfigRecord, Policy, SingletonKind } from '../resources/define.ts';
import type { ConfigState, ResourceName } from '../resources/index.ts';
import { makeSlug } from './slug.ts';
import { unmask } from './unmask.ts';

/** A configuration after a change, and what the change was about. */
export interface Changed<Result> {
  next: ConfigState;
  result: Result;
}

/** A pure change of the configuration. It may throw a Problem. `now` is epoch milliseconds. */
export type Change<Result> = (state: ConfigState, now: number) => Changed<Result>;

/** Adds a record to a collection. */
export function create(kind: CollectionKind, body: ConfigRecord['data'], policy: Policy): Change<ConfigRecord> {
  const name = kind.name as ResourceName;
  return (state, now) => {
    const records = state[name];
    const taken = new Set(records.map(({ slug }) => slug ?? ''));
    const data = { ...unmask(name, body, undefined), ...kind.complete?.(body, records) };
    kind.permit?.(data, policy);
    const slug = kind.slugged ? makeSlug(String(body.name), taken) : null;
    const record: ConfigRecord = { id: randomUUID(), slug, data, origin: 'database', createdAt: now, updatedAt: now };
    return { next: { ...state, [name]: [...records, record] }, result: record };
  };
}

/** Replaces the members of a record that a patch brings; members that are null stay as they are. @throws `not_found`. */
export function patch(
  kind: CollectionKind,
  id: string,
  body: ConfigRecord['data'],
  policy: Policy,
): Change<ConfigRecord> {
  const name = kind.name as ResourceName;
  return (state, now) => {
    const old = findRecord(state, kind, id);
    const given = Object.fromEntries(
      Object.entries(body).filter(([key, value]) => kind.patchable.includes(key) && value !== null),
    );
    const data = { ...old.data, ...unmask(name, given, old.data) };
    if (Object.keys(body).length === 0) return { next: state, result: old };
    kind.permit?.(data, policy);
    const record: ConfigRecord = { ...old, data, origin: 'database', updatedAt: now };
    return {
      next: { ...state, [name]: state[name].map((known) => (known === old ? record : known)) },
      result: record,
    };
  };
}

/** Takes a record out of a collection. @throws `not_found`. */
export function remove(kind: CollectionKind, id: string): Change<{ id: string; deleted: true }> {
  const name = kind.name as ResourceName;
  return (state) => {
    const old = findRecord(state, kind, id);
    return {
      next: { ...state, [name]: state[name].filter((record) => record !== old) },
      result: { id: old.id, deleted: true },
    };
  };
}

/** A record of a collection. @throws Problem `not_found`. */
export function findRecord(state: ConfigState, kind: CollectionKind, id: string): ConfigRecord {
  const found = state[kind.name as ResourceName].find((record) => record.id === id.toLowerCase());
  if (found === undefined) throw problem('not_found', { message: `No ${kind.title} has that id.` });
  return found;
}

/** Writes a singleton: all it requires at first, afterwards only what the body brings. */
export function put(kind: SingletonKind, body: ConfigRecord['data']): Change<ConfigRecord> {
  const name = kind.name as ResourceName;
  return (state, now) => {
    const old = state[name][0];
    const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null && value !== undefined));
    const missing = old === undefined ? kind.required.filter((member) => !(member in given)) : [];
    if (missing.length > 0) {
      const details = missing.map((member) => ({
        loc: [member],
        msg: 'Field required at the first write',
        type: 'missing',
      }));
      throw problem('validation_failed', { details });
    }
    if (old !== undefined && Object.keys(body).length === 0) return { next: state, result: old };
    const data = { ...old?.data, ...unmask(name, given, old?.data) };
    const made = { id: randomUUID(), slug: null, createdAt: now };
    const record: ConfigRecord = { ...made, ...old, data, origin: 'database', updatedAt: now };
    return { next: { ...state, [name]: [record] }, result: record };
  };
}

/** Takes a singleton away. @throws `not_found`. */
export function drop(kind: SingletonKind): Change<{ deleted: true }> {
  const name = kind.name as ResourceName;
  return (state) => {
    findSingleton(state, kind);
    return { next: { ...state, [name]: [] }, result: { deleted: true } };
  };
}

/** The record of a singleton. @throws Problem `not_found`. */
export function findSingleton(state: ConfigState, kind: Pick<SingletonKind, 'name' | 'title'>): ConfigRecord {
  const [record] = state[kind.name as ResourceName];
  if (record === undefined) throw problem('not_found', { message: `There is no ${kind.title} yet.` });
  return record;
}

/** Makes `module` the agent, or leaves the agent as it is when it is that already. */
export function replaceAgentModule(module: { type: string; config: { name: string } & object }): Change<undefined> {
  return (state, now) => {
    const [old] = state.agent;
    const { name, ...place } = module.config as { name: string; graph_definition?: string };
    const base = old?.data.baseEngineConfig as { agent: { config: { graph_definition?: string } } } | undefined;
    if (base !== undefined && base.agent.config.graph_definition === place.graph_definition) {
      return { next: state, result: undefined };
    }
    const { checkpointer: _none, ...config } = { ...module.config, ...place } as Record<string, unknown>;
    const data = {
      name,
      description: null,
      version: null,
      baseUrl: null,
      status: 'draft',
      ...old?.data,
      baseEngineConfig: { server: { api: { port: 8000 } }, agent: { type: module.type, config } },
    };
    const made = { id: randomUUID(), slug: null, createdAt: now };
    const record: ConfigRecord = { ...made, ...old, data, origin: 'command line', updatedAt: now };
    return { next: { ...state, agent: [record] }, result: undefined };
  };
}
