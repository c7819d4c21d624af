import { cpSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { packageRoot } from '../../src/package-info.ts';

/** Copies packages with all they depend on out of ours, so that the folder has a LangGraph of its own. */
export function installCopies(root: string, ids: readonly string[]): void {
  const done = new Set<string>();
  const copy = (id: string, from: string): void => {
    const folder = findPackage(id, from);
    if (folder === undefined || done.has(folder)) return;
    done.add(folder);
    const target = join(root, folder.slice(packageRoot.length));
    if (existsSync(join(target, 'package.json'))) return;
    mkdirSync(dirname(target), { recursive: true });
    cpSync(folder, target, {
      recursive: true,
      dereference: true,
      filter: (path) => !/\.(?:map|d\.[mc]?ts)$/.test(path),
    });
    const { dependencies = {}, peerDependencies = {} } = JSON.parse(
      readFileSync(join(folder, 'package.json'), 'utf8'),
    ) as { dependencies?: object; peerDependencies?: object };
    for (const name of [...Object.keys(dependencies), ...Object.keys(peerDependencies)]) copy(name, folder);
  };
  for (const id of ids) copy(id, packageRoot);
}

function findPackage(id: string, from: string): string | undefined {
  for (let folder = from; folder.startsWith(packageRoot.replace(/\/$/, '')); folder = dirname(folder)) {
    const candidate = join(folder, 'node_modules', id);
    if (existsSync(join(candidate, 'package.json'))) return candidate;
  }
  return undefined;
}
