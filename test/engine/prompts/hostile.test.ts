import { expect, test } from 'vitest';
import { createPrompts } from '../../../src/engine/prompts/prompts.ts';
import { templateFault } from '../../../src/engine/prompts/template.ts';

/** What a template becomes, or what is said of it. */
function outcome(content: string, values: Record<string, unknown> = {}): string {
  try {
    return (
      createPrompts([{ promptId: 'p', version: 1, content, tags: [] }])
        .get('p')
        ?.format(values) ?? 'no prompt'
    );
  } catch (error) {
    return (error as Error).message.replace(/^Prompt p v1 /, '');
  }
}

/** A value that says so when any of its code is run. */
function trap() {
  const ran: string[] = [];
  const note = (name: string) => () => ran.push(name);
  const value = {
    method: note('method'),
    toLiquid: note('toLiquid'),
    valueOf: note('valueOf'),
    liquidMethodMissing: note('liquidMethodMissing'),
  };
  return { value, ran };
}

test.each([
  'constructor',
  '__proto__',
  'prototype',
  'toString',
  'x.constructor',
  'x.constructor.constructor',
  'x.__proto__',
  'x["__proto__"].polluted',
  'x["con" ]',
  'x[key]',
  'list.constructor',
  'list.map',
  'list["length"].constructor',
  'text.constructor',
  'text.sub',
  'number.toFixed',
  'call.call',
  'call.name.constructor',
  'globalThis',
  'process',
  'this',
  'self',
])('{{ %s }} finds nothing', (path) => {
  const values = { x: { a: 1 }, key: 'constructor', list: [1], text: 'a', number: 1, call: () => 'called' };
  expect(outcome(`{{ ${path} }}`, values)).toMatch(/^needs a value for "/);
  expect(outcome(`{{ ${path} | default: "nothing" }}`, values)).toBe('nothing');
});

test('code that values bring with them is not run', () => {
  for (const content of [
    '{{ v.method }}',
    '{{ v | json }}',
    '{{ v.missing }}',
    '{% for x in v %}{{ x[0] }}{% endfor %}',
  ]) {
    const { value, ran } = trap();
    outcome(content, { v: value });
    expect(ran, content).toEqual([]);
  }
  expect(outcome('{{ v.inner }}', { v: Object.create({ inner: 'inherited' }) })).toBe('needs a value for "v.inner"');
  expect(outcome('{{ v.a }}', JSON.parse('{"v":{"__proto__":{"a":1}}}'))).toBe('needs a value for "v.a"');
  expect(outcome('{{ a }}', JSON.parse('{"__proto__":{"a":1}}'))).toBe('needs a value for "a"');
  expect(({} as { a?: unknown }).a).toBeUndefined();
});

test.each([
  'include',
  'render',
  'layout',
  'block',
  'liquid',
  'assign',
  'capture',
  'increment',
  'cycle',
  'tablerow',
  'echo',
])('{%% %s %%} is not there', (tag) => {
  expect(outcome(`{% ${tag} "/etc/passwd" %}`)).toMatch(/is not known/);
});

test.each<[string, string, Record<string, unknown>, RegExp]>([
  [
    'a loop in a loop',
    '{% for a in (1..9999) %}{% for b in (1..999) %}{% endfor %}{% endfor %}',
    {},
    /takes too long|makes too much/,
  ],
  ['a long range', '{% for a in (1..999999999) %}{% endfor %}', {}, /makes too much/],
  ['an endless range', '{% for a in (1..v) %}{% endfor %}', { v: Number.POSITIVE_INFINITY }, /makes too much/],
  [
    'a long list, squared',
    '{% for a in v %}{% for b in v %}{{ b }}{% endfor %}{% endfor %}',
    { v: Array(30_000).fill('') },
    /takes too long/,
  ],
  ['10 MB of text', '{{ v }}', { v: 'x'.repeat(10_000_000) }, /becomes longer than 5000000 characters/],
  ['10 MB of pieces', '{% for a in (1..100) %}{{ v }}{% endfor %}', { v: 'x'.repeat(100_000) }, /becomes longer/],
  [
    'text grown by a filter',
    '{{ v | replace: "x", w }}',
    { v: 'x'.repeat(100_000), w: 'y'.repeat(1_000) },
    /makes too much/,
  ],
  ['a list with long gaps', '{{ v | join: w }}', { v: Array(10_000), w: 'y'.repeat(10_000) }, /makes too much/],
  [
    'a circle',
    '{{ v | json }}',
    (() => {
      const v: { v?: unknown } = {};
      v.v = v;
      return { v };
    })(),
    /a value cannot be used here \(TypeError\)$/,
  ],
])('%s is stopped', (_, content, values, expected) => {
  expect(outcome(content, values)).toMatch(expected);
});

const times = (count: number, text: string): string => text.repeat(count);

test.each<[string, string, RegExp | undefined]>([
  ['blocks 50 deep', `${times(50, '{% if a %}')}${times(50, '{% endif %}')}`, undefined],
  ['blocks 51 deep', `${times(51, '{% if a %}')}${times(51, '{% endif %}')}`, /nested deeper than 50/],
  ['parentheses without end', `{{ ${times(300_000, '(')}a${times(300_000, ')')} }}`, /nested too deeply/],
  ['brackets without end', `{{ ${times(300_000, 'a[')}a${times(300_000, ']')} }}`, /nested too deeply/],
  ['filters without end', `{{ a${times(50_000, ' | upper')} }}`, undefined],
  ['conditions without end', `{% if a${times(100_000, ' and a')} %}{% endif %}`, undefined],
  ['members without end', `{{ a${times(300_000, '.a')} }}`, undefined],
  ['more tags than anybody writes', times(10_001, '{{ a }}'), /more than 10000 tags/],
  ['tags that are never closed', times(400_000, '{{'), /more than 10000 tags/],
  ['comments that are never closed', times(9_000, '{# '), undefined],
  ['a raw block that is never closed', `{% raw %}${times(900_000, '{')}`, /more than 10000 tags|not closed/],
  ['nothing but spaces', `{{${times(900_000, ' ')}a }}`, undefined],
  ['too long', times(1_000_001, 'x {{ a }}'), /longer than 1000000 characters/],
])('%s is read or refused, and soon', (_, content, expected) => {
  const fault = templateFault(content);
  if (expected === undefined) expect(fault).toBeUndefined();
  else expect(fault).toMatch(expected);
});
