import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { createKnowledge } from '../../src/starter/knowledge.ts';

const folder = new URL('../../src/starter/knowledge/', import.meta.url);

describe('the documents', () => {
  it.each([
    ['What is this server?', 'server.md'],
    ['How do I use a real model?', 'models.md'],
    ['ollama', 'models.md'],
    ['which AG-UI events are there', 'events.md'],
    ['How does hot reload work?', 'hot-reload.md'],
    ['where are conversations stored', 'conversations.md'],
    ['client-side tools', 'client-tools.md'],
    ['human in the loop', 'human-in-the-loop.md'],
    ['How do I write my own agent?', 'own-agent.md'],
    ['shared state', 'shared-state.md'],
  ])('%s -> %s', async (query, source) => {
    const [best] = await createKnowledge(folder).search(query);
    expect(best?.source).toBe(source);
  });

  it.each(['', '???', 'quantum chromodynamics', 'the of and'])('have nothing for "%s"', async (query) => {
    expect(await createKnowledge(folder).search(query)).toEqual([]);
  });

  it('name only files of the starter that exist', async () => {
    for (const file of await readdir(folder)) {
      const text = await readFile(new URL(file, folder), 'utf8');
      for (const [path] of text.matchAll(/src\/starter[\w./-]*\w/g))
        expect(existsSync(path), `${file}: ${path}`).toBe(true);
    }
  });
});
