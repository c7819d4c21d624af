import { lstat, open, readFile, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { problem } from '../../problems.ts';
import { PROJECT_AGENT, projectFiles } from './project-files.ts';
import type { Detection } from './scan-result.ts';

/** Name of a starter that is given none. */
export const STARTER_NAME = 'Starter Agent';

/** What a starter consists of, before anything is written. */
export interface StarterPlan {
  framework: Detection['framework'];
  /** The agent, as `path:export`. */
  definition: string;
  /** Path below the working directory to text. */
  files: Readonly<Record<string, string>>;
}

/** A starter on disk. */
export interface WrittenStarter {
  readonly definition: string;
  /** Paths of what was written, below the working directory. */
  readonly files: readonly string[];
  /** Takes back the files that still hold what was written. @returns those that stay because they were edited. */
  remove(): Promise<string[]>;
}

/**
 * Says what a starter consists of.
 *
 * @param port port for the examples in its README.
 * @throws Problem `validation_failed` for a framework this version cannot run.
 */
export async function planStarter(
  framework: Detection['framework'],
  name: string = STARTER_NAME,
  port: number = 8000,
): Promise<StarterPlan> {
  if (framework !== 'LANGGRAPH') {
    const message = `${framework} is not supported by this version; choose LANGGRAPH.`;
    throw problem('validation_failed', {
      message,
      details: [{ loc: ['body', 'framework'], msg: message, type: 'value_error' }],
    });
  }
  return { framework, definition: PROJECT_AGENT, files: await projectFiles({ name, port, config: false }) };
}

/**
 * Writes a starter into `root`, as {@link planStarter} plans it and {@link writePlan} writes it.
 *
 * @throws Problem as these two.
 */
export async function writeStarter(
  root: string,
  framework: Detection['framework'],
  name?: string,
  port?: number,
): Promise<WrittenStarter> {
  return writePlan(root, await planStarter(framework, name, port));
}

/**
 * Writes what is planned into `root`, whole or not at all. Nothing that exists is ever overwritten.
 *
 * @throws Problem `conflict` naming the files that exist.
 */
export async function writePlan(root: string, { definition, files }: StarterPlan): Promise<WrittenStarter> {
  const paths = Object.keys(files);
  const taken = await existing(root, paths);
  if (taken.length > 0) throw conflict(taken);
  const written = new Map<string, Buffer>();
  for (const [path, text] of Object.entries(files)) {
    const content = Buffer.from(text);
    try {
      // Exclusive: of two at once only one gets past the first file.
      const file = await open(join(root, path), 'wx');
      written.set(path, content);
      await file.writeFile(content).finally(() => file.close());
    } catch (error) {
      // A full disk may have taken only the beginning of a file.
      await remove(root, written, (found, whole) => whole.subarray(0, found.length).equals(found));
      throw (error as NodeJS.ErrnoException).code === 'EEXIST' ? conflict([path]) : error;
    }
  }
  return { definition, files: paths, remove: () => remove(root, written, (found, whole) => whole.equals(found)) };
}

function conflict(paths: string[]): Error {
  const what = paths.length === 1 ? 'This file exists' : 'These files exist';
  return problem('conflict', {
    message: `${what} in the working directory: ${paths.join(', ')}. Nothing was written.`,
  });
}

async function existing(root: string, paths: string[]): Promise<string[]> {
  const taken: string[] = [];
  for (const path of paths) {
    // A link that leads nowhere is in the way as well.
    const stats = await lstat(join(root, path)).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
    if (stats !== undefined) taken.push(path);
  }
  return taken;
}

/** Removes the files that are still ours. @returns those that stay. */
async function remove(
  root: string,
  written: ReadonlyMap<string, Buffer>,
  isOurs: (found: Buffer, written: Buffer) => boolean,
): Promise<string[]> {
  const staying: string[] = [];
  for (const [path, content] of written) {
    const file = join(root, path);
    try {
      if ((await lstat(file)).isFile() && isOurs(await readFile(file), content)) await unlink(file);
      else staying.push(path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') staying.push(path);
    }
  }
  return staying;
}
