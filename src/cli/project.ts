import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { packageRoot } from '../package-info.ts';
import { DEFAULT_PORT } from './settings.ts';

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

/** The files of a new project in `folder`: path to text. @param port port to write into them, if not the usual one. */
export async function projectFiles(folder: string, port: string | undefined): Promise<Record<string, string>> {
  const name = projectName(folder);
  // 0 asks for a free port this once; it is no address to write down.
  const lasting = port === undefined || Number(port) === 0 ? String(DEFAULT_PORT) : port;
  const template = async (file: string): Promise<string> => {
    const text = await readFile(join(packageRoot, 'src/cli/template', file), 'utf8');
    return text.replaceAll('{{name}}', name).replaceAll('{{port}}', lasting);
  };
  return {
    'agent.ts': await template('agent.ts'),
    'config.yaml': await template('config.yaml'),
    '.env.example': await readFile(join(packageRoot, '.env.example'), 'utf8'),
    'README.md': await template('README.md'),
    // npm leaves a file of that name out of what it publishes.
    '.gitignore': await template('gitignore'),
    'package.json': await manifest(name),
  };
}

/** The folder's name as a name that npm and the server accept. */
function projectName(folder: string): string {
  const name = basename(folder)
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, '-')
    .replace(/^-+|-+$/g, '');
  return name === '' ? 'my-agent' : name;
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
