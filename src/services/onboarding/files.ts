import { constants, type Dirent } from 'node:fs';
import { open, opendir } from 'node:fs/promises';
import { join } from 'node:path';

/** How far a search goes. */
export interface SearchLimits {
  /** Folders between the root and a file. */
  depth: number;
  /** Files that are given back. */
  files: number;
  /** Names that are looked at, of whatever kind. */
  entries: number;
}

/** Folders that hold what was installed or built, never what somebody wrote. */
const SKIPPED = new Set(['node_modules', 'dist', 'build', 'coverage', 'target', 'venv', 'env', '__pycache__']);

/**
 * Finds regular files below `root`, the nearest first, each folder in the order of names. Symbolic links, folders whose
 * name begins with a dot and folders that cannot be read are passed over.
 *
 * @param expired whether to stop here.
 * @returns paths relative to `root` with forward slashes, and whether these are all.
 */
export async function findFiles(
  root: string,
  isWanted: (path: string, depth: number) => boolean,
  limits: SearchLimits,
  expired: () => boolean,
): Promise<{ paths: string[]; complete: boolean }> {
  const paths: string[] = [];
  let entries = 0;
  let level = [''];
  for (let depth = 0; depth <= limits.depth; depth += 1) {
    const below: string[] = [];
    for (const folder of level) {
      const files: string[] = [];
      const folders: string[] = [];
      for await (const entry of entriesOf(join(root, folder))) {
        entries += 1;
        if (entries > limits.entries || expired()) return { paths, complete: false };
        const path = `${folder}${entry.name}`;
        if (entry.isFile() && isWanted(path, depth)) files.push(path);
        if (entry.isDirectory() && !entry.name.startsWith('.') && !SKIPPED.has(entry.name)) folders.push(`${path}/`);
      }
      paths.push(...files.sort());
      if (paths.length > limits.files) return { paths: paths.slice(0, limits.files), complete: false };
      below.push(...folders.sort());
    }
    level = below;
  }
  return { paths, complete: true };
}

async function* entriesOf(folder: string): AsyncGenerator<Dirent> {
  try {
    yield* await opendir(folder, { bufferSize: 128 });
  } catch {
    // Not ours to read, or gone meanwhile.
  }
}

/** Text of a regular file of at most `limit` bytes; undefined for anything else, a symbolic link included. */
export async function readSmallFile(file: string, limit: number): Promise<string | undefined> {
  try {
    // The flags keep a file that became a link or a pipe meanwhile from being followed or waited for.
    const handle = await open(file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
    try {
      const stats = await handle.stat();
      if (!stats.isFile() || stats.size > limit) return undefined;
      // As many bytes as were allowed, however much the file grows meanwhile.
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(stats.size), 0, stats.size, 0);
      return new TextDecoder().decode(buffer.subarray(0, bytesRead));
    } finally {
      await handle.close();
    }
  } catch {
    return undefined;
  }
}
