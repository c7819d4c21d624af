import { basename } from 'node:path';
import { packageName, projectFiles } from '../services/onboarding/project-files.ts';
import { DEFAULT_PORT } from './settings.ts';

/** The files of a new project in `folder`: path to text. @param port port to write into them, if not the usual one. */
export function filesFor(folder: string, port: string | undefined): Promise<Record<string, string>> {
  // 0 asks for a free port this once; it is no address to write down.
  const lasting = port === undefined || Number(port) === 0 ? DEFAULT_PORT : port;
  return projectFiles({ name: packageName(basename(folder)), port: lasting, config: true });
}
