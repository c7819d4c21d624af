import { lstat, mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { openBrowser } from './browser.ts';
import { Fault } from './fault.ts';
import { filesFor } from './project.ts';
import { readSettings } from './settings.ts';

/**
 * Makes a project with an agent of its own, in a new folder if one is named, and serves it.
 *
 * @throws Fault when something is in the way; nothing has been written then.
 */
export async function init(name: string | undefined, options: { port?: string; browser: boolean }): Promise<void> {
  const folder = resolve(name ?? '.');
  const files = await filesFor(folder, options.port);
  await refuseExisting(folder, Object.keys(files));
  try {
    await mkdir(folder, { recursive: true });
    for (const [file, text] of Object.entries(files)) await writeFile(join(folder, file), text, { flag: 'wx' });
  } catch (error) {
    throw new Fault([`Nothing can be written to ${folder}. Give this user the right to, or name another folder.`], {
      cause: error,
    });
  }
  console.log(`Made ${Object.keys(files).join(', ')} in ${folder}`);
  if (name !== undefined) {
    console.log(`To serve it another time: cd ${/\s/.test(name) ? JSON.stringify(name) : name} && agent-engine serve`);
  }

  process.chdir(folder);
  // Imported late: a refusal above needs none of the server.
  const { setup } = await import('./setup.ts');
  const { serve } = await import('./serve.ts');
  await setup({});
  const address = await serve({ port: options.port, watch: true });
  if (options.browser) {
    const { variables } = readSettings({});
    openBrowser(`${address}/docs`, { platform: process.platform, variables, isTTY: process.stdout.isTTY === true });
  }
}

async function refuseExisting(folder: string, files: string[]): Promise<void> {
  const exists = (path: string): Promise<boolean> =>
    lstat(path).then(
      () => true,
      () => false,
    );
  const there = await lstat(folder).catch(() => undefined);
  if (there?.isFile() === true)
    throw new Fault([`${folder} is a file. Name another folder: agent-engine init my-agent`]);
  const taken: string[] = [];
  for (const file of files) if (await exists(join(folder, file))) taken.push(file);
  if (taken.length > 0) {
    throw new Fault([
      `${folder} already holds ${taken.join(', ')}. Nothing was written.`,
      'Name another folder, or serve what is there: agent-engine serve',
    ]);
  }
}
