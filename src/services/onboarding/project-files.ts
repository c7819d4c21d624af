import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packageRoot } from '../../package-info.ts';

/**
 * Packages the agent's code imports; in its own folder they give an editor the types, and a real model its provider.
 * LangGraph's own two are named to hold them to the versions that fit: their ranges would take newer ones that do not.
 */
const AGENT_PACKAGES = [
  '@langchain/core',
  '@langchain/langgraph',
  '@langchain/langgraph-checkpoint',
  '@langchain/langgraph-sdk',
  '@langchain/openai',
  'langchain',
  'zod',
];

interface Manifest {
  engines: { node: string };
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
}

/** The agent of a new project, as `path:export`. */
export const PROJECT_AGENT = 'agent.ts:graph';

/**
 * The files of a new project, path to text: an agent that talks without a key or a network, and with a model once one
 * is set.
 *
 * @param project.name what it is called; npm is given a name it accepts.
 * @param project.port port the server answers on, for the examples.
 * @param project.config whether a `config.yaml` names the agent; without it the server's database has to.
 */
export async function projectFiles(project: {
  name: string;
  port: number | string;
  config: boolean;
}): Promise<Record<string, string>> {
  const id = packageName(project.name);
  // A heading is one line.
  const values: Record<string, string> = {
    id,
    name: project.name.replace(/[\p{Cc}\s]+/gu, ' ').trim(),
    port: String(project.port),
  };
  const template = async (file: string): Promise<string> => {
    const text = await readFile(join(packageRoot, 'src/cli/template', file), 'utf8');
    return text.replace(/\{\{(\w+)\}\}/g, (whole, key: string) => values[key] ?? whole);
  };
  const files: Record<string, string> = {
    'agent.ts': await template('agent.ts'),
    ...(project.config && { 'config.yaml': await template('config.yaml') }),
    '.env.example': await readFile(join(packageRoot, '.env.example'), 'utf8'),
    'README.md': await template('README.md'),
    // npm leaves a file of that name out of what it publishes.
    '.gitignore': await template('gitignore'),
    'package.json': await manifest(id),
  };
  return { ...files, 'README.md': withRowsOf(files) };
}

/** The README with the rows of its table for the files there are. */
function withRowsOf(files: Record<string, string>): string {
  const lines = (files['README.md'] ?? '').split('\n');
  return lines.filter((line) => (/^\| `([^`]+)` \|/.exec(line)?.[1] ?? 'README.md') in files).join('\n');
}

/** A name as npm and the server accept it. */
export function packageName(name: string): string {
  const id = name
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, '-')
    .replace(/^-+|-+$/g, '');
  return id === '' ? 'my-agent' : id;
}

async function manifest(name: string): Promise<string> {
  const own = JSON.parse(await readFile(join(packageRoot, 'package.json'), 'utf8')) as Manifest;
  const versions = { ...own.devDependencies, ...own.dependencies };
  const project = {
    name,
    version: '0.1.0',
    private: true,
    type: 'module',
    engines: own.engines,
    scripts: { start: 'agent-engine serve', dev: 'agent-engine serve --watch' },
    dependencies: Object.fromEntries(AGENT_PACKAGES.map((id) => [id, versions[id]])),
  };
  return `${JSON.stringify(project, undefined, 2)}\n`;
}
