import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packageRoot } from '../../src/package-info.ts';
import { withAgent } from '../admin/support.ts';

test('the prompts of the document are answered as it says', async () => {
  const document = readFileSync(join(packageRoot, 'docs/admin.md'), 'utf8');
  const section = document.slice(document.indexOf('## Prompts'), document.indexOf('**What a template can say.**'));
  const bodies = [...section.matchAll(/-d '([^']+)'/g)].map(([, body = '']) => JSON.parse(body) as object);
  const { admin } = await withAgent();
  const answers = [];
  for (const body of bodies) answers.push(await admin.post('/prompts', body));
  expect(answers.map(({ status }) => status)).toEqual([201, 422]);
  expect(answers[0]?.body.data).toMatchObject({ version: 1, tags: ['draft'] });
  const { loc, msg } = answers[1]?.body.detail[0] ?? {};
  expect(section.replace(/\s+/g, ' ')).toContain(`a 422 at \`${loc.join('.')}\`: \`${msg}\``);
});
