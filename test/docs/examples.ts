import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../src/package-info.ts';

/** A fenced block of a document. Behind its language stands the file it would be. */
export interface Example {
  language: string;
  /** Undefined for a fragment, which no test can run. */
  file: string | undefined;
  text: string;
}

/** The fenced blocks of `docs/<name>`, in order. */
export function examplesOf(name: string): Example[] {
  const document = readFileSync(join(packageRoot, 'docs', name), 'utf8');
  return [...document.matchAll(/^```(\w+)(?: (\S+))?\n([\s\S]*?)^```$/gm)].map(
    ([, language = '', file, text = '']) => ({
      language,
      file,
      text,
    }),
  );
}
