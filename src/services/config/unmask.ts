import { isDeepStrictEqual } from 'node:util';
import { isRecord } from '../../engine/encode.ts';
import { MASK } from '../../masking.ts';
import { type ProblemDetail, problem } from '../../problems.ts';
import type { ConfigRecord } from '../resources/define.ts';
import { type ResourceName, resourceKind } from '../resources/index.ts';
import { mapSecrets, maskSecret } from './secret-fields.ts';

/**
 * Puts the stored secrets in the place of their masks, so that what was read can be written back.
 *
 * @param stored the record as it is; undefined for a new one.
 * @throws Problem `validation_failed` for a mask that stands for nothing.
 */
export function unmask<T extends ConfigRecord['data']>(
  resource: ResourceName,
  data: T,
  stored: ConfigRecord['data'] | undefined,
): T {
  const schema = resourceKind(resource).data;
  const lost: ProblemDetail[] = [];
  const shown = stored && mapSecrets(schema, stored, maskSecret);
  const counterpart = align(data, shown, stored);
  const restored = mapSecrets(schema, data, (text, mark, path) => {
    const known = path.reduce<unknown>(
      (value, key) => (value as Record<string | number, unknown> | undefined)?.[key],
      counterpart,
    );
    if (typeof known === 'string' && maskSecret(known, mark) === text) return known;
    const masked = mark === true ? text === MASK : text.includes(`:${MASK}@`) || text.includes(`=${MASK}`);
    if (masked) {
      const msg = 'is a mask without a secret behind it: send the secret itself, or a reference to a variable';
      lost.push({ loc: ['body', ...path], msg, type: 'value_error' });
    }
    return text;
  });
  if (lost.length > 0) throw problem('validation_failed', { details: lost });
  return restored;
}

/**
 * What is stored, in the shape of what is sent: an entry of a list is the one that looks the same, wherever it stood; one
 * that looks like none is the one in its place, as long as nothing was added or taken away.
 */
function align(sent: unknown, shown: unknown, stored: unknown): unknown {
  if (Array.isArray(sent) && Array.isArray(shown) && Array.isArray(stored)) {
    return sent.map((entry, index) => {
      const same = shown.findIndex((known) => isDeepStrictEqual(known, entry));
      if (same >= 0) return stored[same];
      return sent.length === shown.length ? align(entry, shown[index], stored[index]) : undefined;
    });
  }
  if (!isRecord(sent) || !isRecord(shown) || !isRecord(stored)) return stored;
  return Object.fromEntries(Object.keys(sent).map((key) => [key, align(sent[key], shown[key], stored[key])]));
}
