import type { ParsedConfig } from '../../engine/config-file.ts';
import { describeIssue, flattenIssue, issueType } from '../../issues.ts';
import { type ProblemDetail, problem } from '../../problems.ts';
import type { ConfigRecord, Origin } from '../resources/define.ts';
import { type ConfigState, RESOURCES } from '../resources/index.ts';
import { type DocumentFault, readDocument } from './document.ts';
import { unmask } from './unmask.ts';

/**
 * The configuration a file describes, to be put in the place of the stored one. A secret that is masked in it is the one
 * stored under the same slug.
 *
 * @param stored the configuration it replaces.
 * @throws Problem `validation_failed` for every part that cannot be stored: all or nothing.
 */
export function documentState(parsed: ParsedConfig, stored: ConfigState, now: number, origin: Origin): ConfigState {
  const { state, faults } = readDocument(parsed.raw, parsed.resolved, now, origin);
  const details = faults.flatMap(detailsOf);
  if (details.length > 0) throw problem('validation_failed', { message: 'The configuration is not valid.', details });
  const unmasked = RESOURCES.map(({ name }) => [
    name,
    state[name].map((record): ConfigRecord => {
      const known = stored[name].find(({ slug }) => slug === record.slug)?.data;
      return { ...record, data: unmask(name, record.data, known) };
    }),
  ]);
  return Object.fromEntries(unmasked) as ConfigState;
}

/** A part that could not be read, as an answer tells it. */
export function detailsOf({ place, issues }: DocumentFault): ProblemDetail[] {
  return issues.flatMap(flattenIssue).map((issue) => ({
    loc: [...place, ...issue.path.filter((part) => typeof part !== 'symbol')],
    msg: describeIssue(issue),
    type: issueType(issue),
  }));
}
