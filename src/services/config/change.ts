import { randomUUID } from 'node:crypto';
import { problem } from '../../problems.ts';
import type { CollectionKind, ConfigRecord, Origin, Policy, SingletonKind } from '../resources/define.ts';
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

/** A record with new data: `old` changed, or one that was not there. @param now epoch milliseconds. */
export function recordWith(
  old: ConfigRecord | undefined,
  data: ConfigRecord['data'],
  origin: Origin,
  now: number,
): ConfigRecord {
  return { id: randomUUID(), slug: null, createdAt: now, ...old, data, origin, updatedAt: now };
}

/** Adds a record to a collection. */
export function create(kind: CollectionKind, body: ConfigRecord['data'], policy: Policy): Change<ConfigRecord> {
  const name = kind.name as ResourceName;
  return (state, now) => {
    const records = state[name];
    const taken = new Set(records.map(({ slug }) => slug ?? ''));
    const data = { ...unmask(name, body, undefined), ...kind.complete?.(body, records) };
    kind.permit?.(data, policy);
    const slug = kind.slugged ? makeSlug(String(body.name), taken) : null;
    const record = { ...recordWith(undefined, data, 'database', now), slug };
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
    if (Object.keys(body).length === 0) return { next: state, result: old };
    const given = Object.fromEntries(
      Object.entries(body).filter(([key, value]) => kind.patchable.includes(key) && value !== null),
    );
    const data = { ...old.data, ...unmask(name, given, old.data) };
    kind.permit?.(data, policy);
    const record = recordWith(old, data, 'database', now);
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
    const record = recordWith(old, data, 'database', now);
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
