import { realpath } from 'node:fs/promises';
import { dirname, resolve, sep } from 'node:path';
import { type Problem, problem } from '../../problems.ts';

/**
 * The file's real path, which must lie below `folder` whatever links lead to it.
 *
 * @throws Problem `validation_failed`.
 */
export async function inside(folder: string, path: string): Promise<string> {
  const refuse = (msg: string): Problem =>
    problem('validation_failed', { message: msg, details: [{ loc: ['body', 'path'], msg, type: 'value_error' }] });
  const [root, file] = await Promise.all([realpath(folder), realpath(resolve(folder, path))]).catch(() => {
    throw refuse('There is no such file in the folder of the configuration file.');
  });
  if (dirname(file) !== root && !file.startsWith(root + sep)) {
    throw refuse('There is no such file in the folder of the configuration file.');
  }
  return file;
}
