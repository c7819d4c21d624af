import { readdirSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const src = fileURLToPath(new URL('../../src/', import.meta.url));

/** Agent code reads what it likes: the starter, and the agent that `init` writes. */
const AGENT_CODE = [`starter${sep}`, join('cli', 'template', sep)];

test('only env.ts reads the environment', () => {
  const sources = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((file) => /\.[mc]?[jt]s$/.test(file));
  const readers = sources
    .filter((file) => !AGENT_CODE.some((folder) => file.startsWith(folder)) && !file.startsWith(join('http', 'assets')))
    .filter((file) =>
      /\bprocess\s*(?:\.\s*env\b|\[\s*['"]env)|\{[^}]*\benv\b[^}]*\}\s*=\s*process\b/.test(
        readFileSync(join(src, file), 'utf8'),
      ),
    );
  expect(readers).toEqual(['env.ts']);
});
