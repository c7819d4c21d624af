import { resolve } from 'node:path';

/** The file in an agent's definition `path/to/file.ts:export`. @param root folder a relative path counts from. */
export function agentFile(definition: string, root: string): string {
  return resolve(root, definition.replace(/:[^:/\\]+$/, ''));
}

/** Whether a path names agent code rather than a configuration file. */
export function isAgentFile(path: string): boolean {
  return /\.[mc]?[jt]s(?::[^/\\]*)?$/i.test(path);
}
