import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseConfig } from '../../src/engine/config-file.ts';
import { createPrompts } from '../../src/engine/prompts/prompts.ts';
import { packageRoot } from '../../src/package-info.ts';
import { modelInput } from '../../src/starter/conversation.ts';

test('the starter’s configuration has the built-in instructions, and knows the user where there is one', () => {
  const text = readFileSync(join(packageRoot, 'src/starter/config.yaml'), 'utf8');
  const prompt = createPrompts(parseConfig(text, 'config.yaml', {}).config.prompts).get('starter');
  const builtIn = modelInput([])[0]?.text;
  expect(prompt?.format({ user: 'ana', tools: [] }).trim()).toBe(builtIn);
});
