import { createHash } from 'node:crypto';
import microdiff from 'microdiff';
import type { ConfigState, ResourceName } from '../resources/index.ts';
import { RESOURCES } from '../resources/index.ts';
import { mapSecrets, maskSecret } from './secret-fields.ts';

/** One difference between two configurations; secrets are masked, yet a changed one is a difference. */
export interface Difference {
  type: 'create' | 'change' | 'remove';
  /** Resource, record (by slug, or by what tells it apart), member, … */
  path: (string | number)[];
  before?: unknown;
  after?: unknown;
}

/** What has changed from one configuration to another. */
export function compareStates(before: ConfigState, after: ConfigState): Difference[] {
  return microdiff(comparable(before), comparable(after)).map((found) => ({
    type: found.type.toLowerCase() as Difference['type'],
    path: found.path,
    ...('oldValue' in found && { before: masked(found.oldValue) }),
    ...('value' in found && { after: masked(found.value) }),
  }));
}

/** Stands for a secret while two configurations are compared. It cannot be guessed back and never leaves this module. */
const FINGERPRINT = /\ue000[0-9a-f]{64}/g;

function comparable(state: ConfigState): Record<string, unknown> {
  return Object.fromEntries(
    RESOURCES.map(({ name, data: schema }) => [
      name,
      Object.fromEntries(
        state[name].map((record) => [
          keyOf(name, record.slug, record.data),
          mapSecrets(schema, record.data, (text, mark) => {
            const shown = maskSecret(text, mark);
            if (shown === text) return text;
            return `${shown}\ue000${createHash('sha256').update(text).digest('hex')}`;
          }),
        ]),
      ),
    ]),
  );
}

function keyOf(name: ResourceName, slug: string | null, data: Readonly<Record<string, unknown>>): string {
  return name === 'prompts' ? `${data.promptId}@${data.version}` : (slug ?? name);
}

function masked(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(FINGERPRINT, '');
  if (Array.isArray(value)) return value.map(masked);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, masked(entry)]));
}
