import { existsSync, statSync } from 'node:fs';
import { createRequire, isBuiltin } from 'node:module';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createJiti } from 'jiti';
import * as helpers from './author-helpers.ts';
import { BuildProblem } from './build-problem.ts';

/** An export of an agent module, evaluated anew at each load so that edits take effect. */
export interface AgentModule {
  /** The export named in the definition, or the only one that looks like an agent. */
  readonly value: unknown;
  /**
   * Calls the export, which must be a function, and waits for what it returns.
   * @throws BuildProblem when it throws.
   */
  call(argument: unknown): Promise<unknown>;
  readonly importPackage: ImportPackage;
}

/** Imports a package as the agent's own code would: from its folder first, from the server's packages otherwise. */
export type ImportPackage = (id: string) => Promise<Record<string, unknown>>;

/** Name under which agent code imports our helpers. */
const HELPERS = 'agent-engine-server/agent';

const requireOwn = createRequire(import.meta.url);

/**
 * Loads `path/to/file.ts:export`; without `:export` the export is found by itself when only one `isAgent`, or failing
 * that only one is a function.
 *
 * @param root folder a relative path counts from.
 * @param prepare done before any of the module's code runs.
 * @throws BuildProblem saying what to mend.
 */
export async function loadAgentModule(
  definition: string,
  root: string,
  isAgent: (value: unknown) => boolean,
  prepare?: (importPackage: ImportPackage) => Promise<void>,
): Promise<AgentModule> {
  const [path, exportName] = splitDefinition(definition);
  const file = resolve(root, path);
  if (!existsSync(file)) throw new BuildProblem(`Agent module ${path} does not exist.`);
  if (!statSync(file).isFile()) throw new BuildProblem(`Agent module ${path} is not a file.`);
  if (/\.py$/i.test(file)) {
    throw new BuildProblem(
      `Agent module ${path} is written in Python; this server runs JavaScript and TypeScript agents.`,
    );
  }
  if (!/\.[mc]?[jt]s$/i.test(file)) {
    throw new BuildProblem(`Agent module ${path} must be a .ts, .mts, .js or .mjs file.`);
  }
  const jiti = createJiti(file, {
    // Nothing is kept in memory: a reload must see every edit, in helper files too.
    moduleCache: false,
    fsCache: compileCache(root),
    interopDefault: false,
    virtualModules: fallbackModules(file),
  });
  forgetJson(root);
  forgetJson(dirname(file));
  const importPackage: ImportPackage = (id) => jiti.import<Record<string, unknown>>(id);
  await prepare?.(importPackage);
  let exports: Record<string, unknown>;
  try {
    exports = await jiti.import<Record<string, unknown>>(file);
  } catch (error) {
    throw new BuildProblem(describeFailure(error, path, file, 'failed to load'), { cause: error });
  }
  const name = exportName ?? findExport(exports, path, isAgent);
  if (!(name in exports)) {
    const found = Object.keys(exports);
    const hint = found.length > 0 ? ` It exports: ${found.join(', ')}.` : ' It exports nothing.';
    throw new BuildProblem(`Agent module ${path} has no export named ${name}.${hint}`);
  }
  const value = exports[name];
  return {
    value,
    async call(argument) {
      try {
        return await (value as (argument: unknown) => unknown)(argument);
      } catch (error) {
        throw new BuildProblem(describeFailure(error, path, file, `failed in its function ${name}`), { cause: error });
      }
    },
    importPackage,
  };
}

/**
 * Where compiled agent files are kept between starts, which saves loading the compiler; each is checked against its
 * source. Only in the project's own `node_modules`: a folder shared with other users would let them plant code.
 */
function compileCache(root: string): string | false {
  const modules = join(root, 'node_modules');
  return existsSync(modules) ? join(modules, '.cache/agent-engine-server') : false;
}

/** Splits at the colon before the export's name; one followed by a slash belongs to a Windows path. */
export function splitDefinition(definition: string): [path: string, exportName: string | undefined] {
  const match = /^(.+):([\p{ID_Start}$_][\p{ID_Continue}$]*)$/u.exec(definition);
  return match?.[1] === undefined ? [definition, undefined] : [match[1], match[2]];
}

function findExport(exports: Record<string, unknown>, path: string, isAgent: (value: unknown) => boolean): string {
  const names = Object.keys(exports);
  const agents = names.filter((name) => isAgent(exports[name]));
  // The same agent is often exported twice, by name and as default.
  const distinct = [...new Map(agents.map((name) => [exports[name], name])).values()];
  const candidates = distinct.length > 0 ? distinct : names.filter((name) => typeof exports[name] === 'function');
  const [only] = candidates;
  if (only !== undefined && candidates.length === 1) return only;
  if (only === undefined) {
    throw new BuildProblem(`Agent module ${path} exports no agent: export a graph, or a function that returns one.`);
  }
  throw new BuildProblem(
    `Agent module ${path} exports several agents; name one: ${candidates.map((name) => `${path}:${name}`).join(', ')}.`,
  );
}

/**
 * Modules an agent file gets without having them in its own folder: our helpers, always in this process's instance,
 * and any package the server has and the folder has not. A lone agent file in an empty folder works by this.
 */
function fallbackModules(file: string): Record<string, unknown> {
  const requireAgents = createRequire(file);
  const isFallback = (id: string): boolean =>
    isBare(id) && !isBuiltin(id) && !canResolve(requireAgents, id) && canResolve(requireOwn, id);
  return new Proxy<Record<string, unknown>>(
    { [HELPERS]: helpers },
    {
      has: (own, id) => id in own || (typeof id === 'string' && isFallback(id)),
      get: (own, id) => (typeof id === 'string' && !(id in own) ? eitherWay(id) : Reflect.get(own, id)),
    },
  );
}

/** A package of the server's for an agent that imports it, which awaits this, or requires it, which reads from this. */
function eitherWay(id: string): object {
  return new Proxy(
    {},
    {
      get: (_, name) =>
        name === 'then'
          ? (...callbacks: Parameters<Promise<unknown>['then']>) => import(id).then(...callbacks)
          : Reflect.get(requireOwn(id) as object, name),
    },
  );
}

/** Node keeps what JSON files held when they were first read; a reload must see what they hold now. */
function forgetJson(folder: string): void {
  for (const path of Object.keys(requireOwn.cache)) {
    const own = path.startsWith(folder) && !path.includes('node_modules');
    if (own && path.endsWith('.json')) delete requireOwn.cache[path];
  }
}

function isBare(id: string): boolean {
  return !/^(?:[./\\]|[a-z]:[\\/]|[a-z]+:)/i.test(id);
}

function canResolve(require: NodeJS.Require, id: string): boolean {
  try {
    require.resolve(id);
    return true;
  } catch (error) {
    // A package that only has ES modules is there all the same.
    return (error as { code?: unknown }).code === 'ERR_PACKAGE_PATH_NOT_EXPORTED';
  }
}

function describeFailure(error: unknown, path: string, file: string, what: string): string {
  const message = error instanceof Error ? error.message : '';
  const syntax = /^ParseError: (.*?)\s*\n\s*(.+):(\d+):\d+/.exec(message);
  if (syntax !== null) {
    const [, fault, where = file, line] = syntax;
    const culprit = where === file ? path : relative(dirname(file), where);
    return `Agent module ${culprit} has a syntax error (line ${line}): ${fault}.`;
  }
  const missing = /Cannot find (?:module|package) '([^']+)'/.exec(message)?.[1];
  if (missing !== undefined && isBare(missing)) {
    const name = missing
      .split('/')
      .slice(0, missing.startsWith('@') ? 2 : 1)
      .join('/');
    return `Agent module ${path} imports ${missing}, which is not installed: run "npm install ${name}" in its folder.`;
  }
  const at = place(error, file);
  if (missing !== undefined)
    return `Agent module ${path}${at} imports the file ${basename(missing)}, which does not exist.`;
  const kind = error instanceof Error ? error.name : 'a value that is not an error';
  return `Agent module ${path} ${what}${at}: ${kind}. The server's log has the details.`;
}

/** Where in the agent's file it went wrong, from the stack. */
function place(error: unknown, file: string): string {
  if (!(error instanceof Error)) return '';
  const line = [file, pathToFileURL(file).href].flatMap((name) => {
    const at = error.stack?.indexOf(`${name}:`) ?? -1;
    return at < 0 ? [] : [/^:(\d+)/.exec(error.stack?.slice(at + name.length) ?? '')?.[1]];
  })[0];
  return line === undefined ? '' : ` (line ${line})`;
}
