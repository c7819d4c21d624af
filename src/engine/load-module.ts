import { existsSync, statSync } from 'node:fs';
import { createRequire, isBuiltin } from 'node:module';
import { basename, join, resolve } from 'node:path';
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
  /** Imports a package as the agent's own code would: from its folder first, from the server's packages otherwise. */
  importPackage(id: string): Promise<Record<string, unknown>>;
}

/** Name under which agent code imports our helpers. */
const HELPERS = 'agent-engine-server/agent';

const requireOwn = createRequire(import.meta.url);

/**
 * Loads `path/to/file.ts:export`; without `:export` the export is found by itself when only one `isAgent`, or failing
 * that only one is a function.
 *
 * @param root folder a relative path counts from.
 * @throws BuildProblem saying what to mend.
 */
export async function loadAgentModule(
  definition: string,
  root: string,
  isAgent: (value: unknown) => boolean,
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
    importPackage: (id) => jiti.import<Record<string, unknown>>(id),
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
function splitDefinition(definition: string): [path: string, exportName: string | undefined] {
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
      // The promise is awaited by jiti, which only asks for modules it imports.
      get: (own, id) => (typeof id === 'string' && !(id in own) ? import(id) : Reflect.get(own, id)),
    },
  );
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
  const missing = /Cannot find (?:module|package) '([^']+)'/.exec(error instanceof Error ? error.message : '')?.[1];
  if (missing !== undefined && isBare(missing)) {
    return `Agent module ${path} imports ${missing}, which is not installed: run "npm install ${missing}" in its folder.`;
  }
  const at = place(error, file);
  if (missing !== undefined)
    return `Agent module ${path}${at} imports the file ${basename(missing)}, which does not exist.`;
  const kind = error instanceof Error ? error.name : 'a value that is not an error';
  const hint = kind === 'SyntaxError' ? syntaxHint(error as Error) : '';
  return `Agent module ${path} ${what}${at}: ${kind}${hint}. The server's log has the details.`;
}

/** Where in the agent's file it went wrong, from the parser's position or the stack. */
function place(error: unknown, file: string): string {
  if (!(error instanceof Error)) return '';
  const fromParser = /\((\d+):(\d+)\)/.exec(error.name === 'SyntaxError' ? error.message : '')?.[1];
  const inStack = [file, pathToFileURL(file).href].flatMap((name) => {
    const at = error.stack?.indexOf(`${name}:`) ?? -1;
    return at < 0 ? [] : [/^:(\d+)/.exec(error.stack?.slice(at + name.length) ?? '')?.[1]];
  })[0];
  const line = fromParser ?? inStack;
  return line === undefined ? '' : ` (line ${line})`;
}

/** The parser's own sentence, which speaks of syntax only. */
function syntaxHint(error: Error): string {
  const sentence = error.message
    .split('\n')[0]
    ?.replace(/^.*?:\s(?=\S+ )/, '')
    .replace(/\s*\(\d+:\d+\)\s*$/, '')
    .replace(/\.$/, '');
  return sentence ? ` (${sentence})` : '';
}
