import type { z } from 'zod';
import { resolveVariables } from '../../engine/config-file.ts';
import { describeIssue, flattenIssue } from '../../issues.ts';
import { ConnectionFailure, tellFailure } from '../../outbound/failure.ts';
import { rememberSecret, urlSecrets } from '../../outbound/secret-texts.ts';
import { mapSecrets } from '../config/secret-fields.ts';
import type { ConnectionCheck } from './connection-check.ts';
import { withinLimit } from './time-limit.ts';

/** Where `${NAME}` in a record is looked up. */
export type Variables = Readonly<Record<string, string | undefined>>;

/** One check of one kind of record. */
export interface Probe<Schema extends z.ZodType> {
  /** What the record is, with its variables' values. */
  schema: Schema;
  /** What no message may show, besides the texts the schema marks as secret and what stands in variables. */
  secrets?(record: z.infer<Schema>): string[];
  /**
   * Does the check and gives the details. The signal means: stop at once.
   *
   * @throws what failed.
   */
  run(record: z.infer<Schema>, signal: AbortSignal): Promise<Record<string, unknown>>;
}

/** Runs a check on a record as it is stored. Never throws, and never takes longer than five seconds. */
export async function runProbe<Schema extends z.ZodType>(
  stored: unknown,
  variables: Variables,
  probe: Probe<Schema>,
): Promise<ConnectionCheck> {
  const secrets = new Set<string>();
  try {
    const resolved = resolve(stored, variables, secrets);
    const parsed = probe.schema.safeParse(resolved);
    if (!parsed.success) throw new ConnectionFailure(parsed.error.issues.flatMap(flattenIssue).map(tellIssue)[0]);
    mapSecrets(probe.schema, parsed.data, (text, mark) => {
      for (const secret of mark === 'url' ? urlSecrets(text) : [text]) rememberSecret(secret, secrets);
      return text;
    });
    for (const secret of probe.secrets?.(parsed.data) ?? []) rememberSecret(secret, secrets);
    const details = await withinLimit((signal) => probe.run(parsed.data, signal));
    return { ok: true, details, error: null };
  } catch (error) {
    return { ok: false, details: null, error: tellFailure(error, secrets) };
  }
}

/** @throws ConnectionFailure naming the variables that are not set. */
function resolve(stored: unknown, variables: Variables, secrets: Set<string>): unknown {
  const unset = new Set<string>();
  // What stands in a variable is there because it is secret, or may be.
  const watched = new Proxy(variables, {
    get(target, name) {
      const value = Reflect.get(target, name) as string | undefined;
      if (value !== undefined) rememberSecret(value, secrets);
      return value;
    },
  });
  const resolved = resolveVariables(stored, watched, [], (_, name) => unset.add(name));
  const names = [...unset];
  if (names.length === 1) throw new ConnectionFailure(`The variable ${names[0]} is not set`);
  if (names.length > 1) throw new ConnectionFailure(`The variables ${names.join(', ')} are not set`);
  return resolved;
}

function tellIssue(issue: z.core.$ZodIssue): string {
  const place = issue.path.join('.');
  const text = issue.code === 'too_small' && issue.origin === 'string' ? 'is not set' : describeIssue(issue);
  return place === '' ? text : `${place}: ${text}`;
}
