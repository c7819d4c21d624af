import { posix } from 'node:path';

/** Name of an agent that has none of its own, from its project's name or its place in the project. */
export function inferName(filePath: string, projectName: string | undefined): string {
  const folders = posix.dirname(filePath).split('/');
  const folder = folders.findLast((name) => name !== 'src' && name !== '.');
  const stem = posix.basename(filePath).replace(/\.[^.]*$/, '');
  const candidates = [projectName, folder, stem.replace(/[-_ ]*agent$/i, '')].map((name) => titled(name ?? ''));
  return candidates.find((name) => name !== '') ?? 'My Agent';
}

/** Longest name that is stored. */
const MAX_LENGTH = 255;

/** A name as it is shown: one line, not too long. */
export function plainName(name: string): string {
  const line = name
    .normalize('NFC')
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim();
  return [...line].slice(0, MAX_LENGTH).join('');
}

function titled(name: string): string {
  const words = plainName(name).split(/[-_ ]+/);
  return words
    .filter((word) => word !== '')
    .map((word) => word.replace(/^./u, (letter) => letter.toUpperCase()))
    .join(' ');
}
