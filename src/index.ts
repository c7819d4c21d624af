/**
 * For programs that run the server inside their own process.
 *
 * @module
 */
export { type AppOptions, buildApp } from './app.ts';
export { type Env, EnvProblem, readEnv } from './env.ts';
export type { ReloadAuth } from './http/operational/reload.ts';
export { Problem, type ProblemCode, problem } from './problems.ts';
export type { RunObserver } from './services/observers.ts';
export { createServices, type ServiceOptions, type Services } from './services.ts';
