/** Why an agent cannot be built, in words that may be shown on `/health`: what, where and the fix, no exception text. */
export class BuildProblem extends Error {
  override name = 'BuildProblem';
}

/** Why something with a `db_url` cannot be opened; what says so itself stays as it is. @param what such as `sqlite memory`. */
export function openProblem(what: string, cause: unknown): BuildProblem {
  if (cause instanceof BuildProblem) return cause;
  return new BuildProblem(`The ${what} cannot be opened: check its db_url and the rights of its folder.`, { cause });
}
