import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

/**
 * Reads the options of a measurement, `--help` and `--dist` besides its own. Ends the process for help, and where there
 * is no build to measure.
 *
 * @param help what `--help` prints.
 * @param options as `parseArgs` takes them.
 * @returns the options, and the address of the build, for imports.
 */
export function readOptions(help, options) {
  const { values } = parseArgs({
    options: {
      ...options,
      dist: { type: 'string', default: fileURLToPath(new URL('../dist', import.meta.url)) },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(help);
    process.exit(0);
  }
  return { options: values, dist: buildAt(values.dist) };
}

/** The folder of a build as a file URL, which is what `import` takes. Ends the process where there is none. */
export function buildAt(folder) {
  if (!existsSync(resolve(folder, 'app.js'))) {
    console.error(`${folder} holds no build: run npm run build first.`);
    process.exit(1);
  }
  return pathToFileURL(resolve(folder)).href;
}
