import type { z } from 'zod';

/** One fault a zod schema has found. */
export type Issue = z.core.$ZodIssue;

/**
 * The faults worth telling: of a union, those of the member that comes nearest, since "Invalid input" helps nobody.
 */
export function flattenIssue(issue: Issue): Issue[] {
  if (issue.code !== 'invalid_union' || issue.errors.length === 0) return [issue];
  const branches = issue.errors.map((branch) =>
    branch.flatMap((inner) => flattenIssue({ ...inner, path: [...issue.path, ...inner.path] } as Issue)),
  );
  // The deepest fault is in the member the sender meant.
  const depth = (branch: Issue[]): number => Math.max(...branch.map((fault) => fault.path.length));
  const nearest = branches.reduce((best, branch) => (depth(branch) > depth(best) ? branch : best));
  if (depth(nearest) > issue.path.length) return nearest;
  const expected = branches.flat().map((fault) => ('expected' in fault ? String(fault.expected) : fault.message));
  const message = isAbsent(branches.flat()[0]) ? 'Field required' : `Expected ${[...new Set(expected)].join(' or ')}`;
  return [{ ...issue, message, errors: [] } as Issue];
}

/** What is wrong, in words for whoever wrote the value. */
export function describeIssue(issue: Issue): string {
  return isAbsent(issue) ? 'Field required' : issue.message;
}

/** The validator's word for a fault, in the vocabulary existing clients know (admin contract, section 3). */
export function issueType(issue: Issue): string {
  if (describeIssue(issue) === 'Field required') return 'missing';
  const words: Record<string, string> = {
    invalid_type: 'type_error',
    invalid_union: 'note' in issue ? 'union_tag_invalid' : 'type_error',
    invalid_value: 'literal_error',
    too_small: 'greater_than_equal',
    too_big: 'less_than_equal',
  };
  return words[issue.code] ?? 'value_error';
}

/** Whether the fault is that nothing was given at all; the validator says so only in its text. */
function isAbsent(issue: Issue | undefined): boolean {
  return issue?.code === 'invalid_type' && /received undefined$/.test(issue.message);
}
