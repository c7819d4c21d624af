/** Why an agent cannot be built, in words that may be shown on `/health`: what, where and the fix, no exception text. */
export class BuildProblem extends Error {
  override name = 'BuildProblem';
}
