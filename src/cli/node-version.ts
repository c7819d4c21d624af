import { readFileSync } from 'node:fs';

/**
 * What to tell somebody whose Node this package was not made for; undefined when all is well. Kept free of imports
 * and of new syntax, since it must run where the rest would not.
 *
 * @param version as `process.versions.node` has it.
 * @returns whether to go on all the same: a newer major version probably works, anything else breaks somewhere.
 */
export function checkNode(version: string): { message: string; fatal: boolean } | undefined {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  const { engines } = JSON.parse(text) as { engines: { node: string } };
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const ranges = engines.node.split('||').map((range) => range.trim().replace('^', '').split('.').map(Number));
  if (ranges.some(([wanted, least = 0]) => major === wanted && minor >= least)) return undefined;
  const newest = Math.max(...ranges.map(([wanted = 0]) => wanted));
  const supported = ranges.map((parts) => parts.slice(0, 2).join('.')).join(', ');
  return major > newest
    ? { message: `Node ${version} is newer than what this server is tested on (${supported}).`, fatal: false }
    : {
        message:
          `Node ${version} cannot run this server: it needs one of ${supported} or a later release of the same line.\n` +
          `Install Node ${newest} from https://nodejs.org, or put this in front of the command: npx -y -p node@${newest} --`,
        fatal: true,
      };
}
