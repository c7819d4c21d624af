import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Absolute path of the package's own folder; the same from `src/` and from `dist/`, which both lie one level below it. */
export const packageRoot: string = fileURLToPath(new URL('../', import.meta.url));

/** Version of this package, as `package.json` states it. */
export const packageVersion: string = (
  JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }
).version;
