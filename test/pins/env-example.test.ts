import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { expect, test } from 'vitest';
import { type EnvName, EnvSchema, envDefault, readEnv } from '../../src/env.ts';

const root = new URL('../../', import.meta.url);
const example = readFileSync(new URL('.env.example', root), 'utf8');
const names = Object.keys(EnvSchema.shape) as EnvName[];

/** Names and values in the lines `# NAME=value`; every line of the file is a comment. */
const commented = new Map(
  [...example.matchAll(/^# ([A-Z_]+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value]),
);

test.each(names)('.env.example shows %s with its description and its default', (name) => {
  expect(commented.get(name)).toBe(envDefault(name));
  expect(example).toContain(`# ${EnvSchema.shape[name].description}\n# ${name}=`);
});

test('.env.example holds nothing else but what the starter reads to choose its model', () => {
  const model = readFileSync(new URL('src/starter/model.ts', root), 'utf8');
  const read = [...model.matchAll(/\benv\.([A-Z_]+)|key: '([A-Z_]+)'/g)].map(([, one, other]) => one ?? other ?? '');
  expect([...commented.keys()].sort()).toEqual([...new Set([...names, ...read])].sort());
});

test('a .env of all its lines changes nothing', () => {
  const everything = example.replace(/^# ([A-Z_]+=)/gm, '$1');
  expect(readEnv(parseEnv(everything) as Record<string, string>)).toEqual(readEnv({}));
});
