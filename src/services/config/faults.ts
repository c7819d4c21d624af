import { BuildProblem } from '../../engine/build-problem.ts';
import { ConfigProblem } from '../../engine/config-file.ts';
import { Problem, problem } from '../../problems.ts';

/** What went wrong, in words that may be shown on `/health`. */
export function reasonOf(error: unknown): string {
  if (error instanceof BuildProblem || error instanceof ConfigProblem || error instanceof Problem) return error.message;
  const kind = error instanceof Error ? error.name : 'unknown error';
  return `The agent could not be started (${kind}). The server's log has the details.`;
}

/** A failed build as an answer. @param place member of the body that is to blame, or `body`. */
export function asProblem(error: unknown, place: string): Problem {
  const msg = reasonOf(error);
  if (error instanceof ConfigProblem) {
    const details = error.faults.map((fault) => ({
      loc: ['config', ...fault.path],
      msg: fault.line === undefined ? fault.message : `line ${fault.line}: ${fault.message}`,
      type: 'value_error',
    }));
    return problem('validation_failed', { message: msg, details, cause: error });
  }
  const loc = place === 'body' ? ['body'] : ['body', place];
  return problem('reload_failed', { message: msg, details: [{ loc, msg, type: 'reload_failed' }], cause: error });
}
