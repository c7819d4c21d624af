import { BuildProblem } from '../../engine/build-problem.ts';
import type { ConfigRow } from '../../store/config-store.ts';
import type { ConfigRecord, Origin } from '../resources/define.ts';
import { type ConfigState, EMPTY_STATE, RESOURCES, type ResourceName, resourceKind } from '../resources/index.ts';
import { mapSecrets, maskSecret } from './secret-fields.ts';
import type { Vault } from './vault.ts';

/** Turns stored rows into the configuration and back. */
export interface StateCodec {
  /** @throws BuildProblem when a secret was sealed with another key. */
  decode(rows: readonly ConfigRow[]): ConfigState;
  encode(resource: ResourceName, record: ConfigRecord): ConfigRow;
  /** All rows of a configuration. */
  encodeAll(state: ConfigState): ConfigRow[];
}

/** Makes the codec with the vault that seals secrets. */
export function createStateCodec(vault: Vault): StateCodec {
  const encode: StateCodec['encode'] = (resource, { id, slug, data, origin, createdAt, updatedAt }) => {
    const sealed = mapSecrets(resourceKind(resource).data, data, (text) => (text === '' ? text : vault.seal(text)));
    return { resource, id, slug, data: JSON.stringify(sealed), origin, createdAt, updatedAt };
  };
  const open = (text: string): string => {
    try {
      return vault.open(text);
    } catch (cause) {
      throw new BuildProblem(
        'The secrets in the database were encrypted with another key. Set SERVICE_SECRET_KEY, or put back the secret.key that lay beside the database.',
        { cause },
      );
    }
  };
  return {
    encode,
    decode(rows) {
      const state: Record<string, ConfigRecord[]> = structuredClone(EMPTY_STATE) as never;
      for (const { resource, id, slug, data, origin, createdAt, updatedAt } of rows) {
        const kind = RESOURCES.find(({ name }) => name === resource);
        // Of a later version's resource, after a way back to this one: left alone.
        if (kind === undefined) continue;
        const opened = mapSecrets(kind.data, JSON.parse(data) as Record<string, unknown>, open);
        state[resource]?.push({ id, slug, data: opened, origin: origin as Origin, createdAt, updatedAt });
      }
      return state as unknown as ConfigState;
    },
    encodeAll: (state) => RESOURCES.flatMap(({ name }) => state[name].map((record) => encode(name, record))),
  };
}

/** A record's data as it may be shown. */
export function shown(resource: ResourceName, data: ConfigRecord['data']): Record<string, unknown> {
  return { ...mapSecrets(resourceKind(resource).data, data, maskSecret) };
}

/** The whole configuration as it may be shown. */
export function maskedState(state: ConfigState): ConfigState {
  return Object.fromEntries(
    RESOURCES.map(({ name }) => [name, state[name].map((record) => ({ ...record, data: shown(name, record.data) }))]),
  ) as unknown as ConfigState;
}
