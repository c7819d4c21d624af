import { describe, expect, test } from 'vitest';
import { createPrompts, PromptError } from '../../../src/engine/prompts/prompts.ts';
import { randomFrom } from '../../support/random.ts';

const VALUES = {
  name: 'Ann',
  yes: true,
  no: false,
  zero: 0,
  three: 3,
  text: '{{ name }} {% if %}',
  html: '<b>&"',
  bare: '',
  nothing: null,
  list: ['x', 'y', 'z'],
  none_at_all: [],
  user: { name: 'Bo', tags: ['a'], 'e-mail': 'bo@example.org' },
  people: [{ name: 'Cy', admin: true }, { name: 'Di' }],
  key: 'name',
  when: new Date(0),
  letters: new Set(['p', 'q']),
};

function prompt(content: string) {
  const found = createPrompts([{ promptId: 'p', version: 7, content, tags: [] }]).get('p');
  if (found === undefined) throw new Error('no prompt');
  return found;
}

/** Numbers from 0 to below `n`. */
function dice(seed: number): (n: number) => number {
  const random = randomFrom(seed);
  return (n) => Math.floor(random() * n);
}

/** What a template becomes, or what is wrong with it, less the words every complaint begins with. */
function outcome(content: string, values: Record<string, unknown> = VALUES): string {
  try {
    return prompt(content).format(values);
  } catch (error) {
    expect(error).toBeInstanceOf(PromptError);
    return (error as Error).message.replace(/^Prompt p v7 (?:cannot be rendered: )?/, '✗ ');
  }
}

describe('what a template can say', () => {
  test.each([
    ['plain text, with { braces } and 100 %', 'plain text, with { braces } and 100 %'],
    ['Hello {{ name }}!', 'Hello Ann!'],
    ['{{name}}{{ user.name }}{{ user["e-mail"] }}{{ user[key] }}', 'AnnBobo@example.orgBo'],
    ['{{ list[0] }}{{ list[-1] }}{{ list.first }}{{ list.last }}{{ list.size }}', 'xzxz3'],
    ['{{ three }} {{ yes }} {{ no }} {{ nothing }}.', '3 true false .'],
    ['{{ when }}', '1970-01-01T00:00:00.000Z'],
    ['{{ html }}', '<b>&"'],
    ['{{ "a literal" }} {{ 4 }} {{ -1.5 }}', 'a literal 4 -1.5'],
    ['a {{- name -}} b', 'aAnnb'],
    ['{% if yes %}y{% endif %}{% if no %}n{% endif %}', 'y'],
    ['{% if no %}1{% elif three == 3 %}2{% else %}3{% endif %}', '2'],
    ['{% if no %}1{% elsif no %}2{% else %}3{% endif %}', '3'],
    ['{% if yes and not no %}y{% endif %}', 'y'],
    ['{% if (not no and yes) or no %}y{% endif %}{{ (not yes) | json }}', 'yfalse'],
    ['{% if (no or yes) and three > 2 %}y{% endif %}', 'y'],
    ['{% if three != 3 or three <= 3 %}y{% endif %}', 'y'],
    ['{% if "x" in list and "w" not in list and list contains "y" %}y{% endif %}', 'y'],
    ['{% if "nn" in name and "name" in user and "p" in letters %}y{% endif %}', 'y'],
    ['{% if nothing == None %}y{% endif %}{% if yes == True %}y{% endif %}', 'yy'],
    [
      '{% if bare %}1{% endif %}{% if zero %}2{% endif %}{% if none_at_all %}3{% endif %}{% if nothing %}4{% endif %}',
      '',
    ],
    ['{% if list %}1{% endif %}{% if user %}2{% endif %}{% if letters %}3{% endif %}{% if "0" %}4{% endif %}', '1234'],
    ['{{ bare or name }} {{ yes and three }}', 'Ann 3'],
    ['{% for x in list %}{{ loop.index }}{{ x }}{% if not loop.last %}, {% endif %}{% endfor %}', '1x, 2y, 3z'],
    ['{% for x in list %}{{ forloop.rindex0 }}{{ loop.revindex }}{% endfor %}', '231201'],
    [
      '{% for x in none_at_all %}x{% else %}none{% endfor %}{% for x in nothing %}x{% else %}none{% endfor %}',
      'nonenone',
    ],
    ['{% for p in people %}{{ p.name }}{% if p.admin | default: false %}*{% endif %} {% endfor %}', 'Cy* Di '],
    ['{% for i in (1..three) %}{{ i }}{% endfor %}', '123'],
    ['{% for l in letters %}{{ l }}{% endfor %}', 'pq'],
    [
      '{% for x in list %}{% for y in list %}{{ x }}{{ y }}{{ loop.index }} {% endfor %}{% endfor %}',
      'xx1 xy2 xz3 yx1 yy2 yz3 zx1 zy2 zz3 ',
    ],
    ['{{ name | upper }} {{ name | downcase }} {{ "ann" | capitalize }} {{ " a " | trim }}.', 'ANN ann Ann a.'],
    ['{{ list | join: ", " }} {{ list | length }} {{ list | first }} {{ list | json }}', 'x, y, z 3 x ["x","y","z"]'],
    ['{{ name | replace: "n", "m" }} {{ "a long text" | truncate: 6 }}', 'Amm a l...'],
    ['{{ missing | default: "you" }} {{ user.nick | default: name }} {{ no | default: "x" }}', 'you Ann false'],
    ['a{# a {{ comment }} \n in two lines #}b{##}c{% comment %}{{ also }}{% endcomment %}d{% # and this %}e', 'abcde'],
    ['{% raw %}{{ name }}{# kept #}{% endraw %}', '{{ name }}{# kept #}'],
    ['{{ "{{ name }}" }}', '{{ name }}'],
    ['{#if svelte}{{ name }}', '{#if svelte}Ann'],
    ['{{ text }}', '{{ name }} {% if %}'],
  ])('%s', (content, expected) => expect(outcome(content)).toBe(expected));
});

describe('what it cannot say, and is told so', () => {
  test.each([
    ['{{ missing }}', 'needs a value for "missing"'],
    ['{{ user.nick }}', 'needs a value for "user.nick"'],
    ['{{ nothing.name }}', 'needs a value for "nothing.name"'],
    ['{{ list[9] }}', 'needs a value for "list.9"'],
    ['{% if missing %}{% endif %}', 'needs a value for "missing"'],
    ['{% for x in missing %}{% endfor %}', 'needs a value for "missing"'],
    ['{{ list | join: missing }}', 'needs a value for "missing"'],
    ['one\n  {{ name', 'line 2, column 3: output "{{ name" not closed'],
    ['{% if yes %}', 'line 1, column 1: {% if %} has no {% endif %}'],
    ['{% raw %}', 'line 1, column 1: tag {% raw %} not closed'],
    ['{% if yes %}{% endfor %}', 'line 1, column 13: {% endfor %} does not belong here'],
    ['{% if yes %}{% else %}{% else %}{% endif %}', 'line 1, column 1: a second else'],
    ['{{ }}', 'line 1, column 4: a value is expected here'],
    ['{% set x = 1 %}', 'line 1, column 1: the tag "set" is not known; there are if, for, comment and raw'],
    ['{{ name | shout }}', 'line 1, column 1: the filter "shout" is not known'],
    ['{{ name + 1 }}', 'line 1, column 10: after a value only a filter may follow: {{ name | upper }}'],
    ['{{ list | join(", ") }}', 'line 1, column 15: what a filter is given follows a colon: {{ names | join: ", " }}'],
    ['{{ name if yes else no }}', 'line 1, column 1: unexpected "if"'],
    ['{% if name is defined %}{% endif %}', 'line 1, column 1: unexpected "is"'],
    [
      '{% if yes or no and yes %}{% endif %}',
      'line 1, column 1: say with parentheses which of "and" and "or" comes first: (a and b) or c',
    ],
    [
      '{{ (yes or no and yes) | json }}',
      'line 1, column 1: say with parentheses which of "and" and "or" comes first: (a and b) or c',
    ],
    ['{% if 1 < three < 5 %}{% endif %}', 'line 1, column 1: comparisons cannot be chained'],
    ['{% if blank %}{% endif %}', 'line 1, column 1: "blank" cannot be the name of a variable'],
    ['{% for x of list %}{% endfor %}', 'line 1, column 1: write {% for item in list %}'],
    ['{% for x in list if x %}{% endfor %}', 'line 1, column 1: unexpected "if"'],
    ['{% for x in list reversed %}{% endfor %}', 'line 1, column 1: unexpected "reversed"'],
    ['{% for x in name %}{% endfor %}', 'line 1, column 1: what a loop goes over must be a list'],
    ['{{ user.get("name") }}', 'line 1, column 1: unexpected "("name")"'],
    ['{{ name, three }}', 'line 1, column 1: unexpected ", three"'],
    ['{{ user }}', 'line 1, column 1: this is no text; put a list through "join", and other things through "json"'],
    ['{{ list }}', 'line 1, column 1: this is no text; put a list through "join", and other things through "json"'],
  ])('%s', (content, expected) => expect(outcome(content)).toBe(`✗ ${expected}`));

  test('a promise that was not awaited', () => {
    const values = { name: Promise.resolve('Ann') };
    expect(outcome('{{ name }}', values)).toBe('✗ the value of "name" is a promise; await it first');
  });
});

test('a prompt tells which variables it mentions', () => {
  const content =
    '{{ a }}{% if b.c and d[e] %}{% for x in list | default: f %}{{ x }}{{ loop.index }}{{ y }}{% endfor %}{{ x }}{% endif %}{{ a | join: g }}{{ (h or None) }}';
  expect(prompt(content).variables).toEqual(['a', 'b', 'd', 'e', 'list', 'f', 'y', 'x', 'g', 'h']);
  expect(prompt('no tags').variables).toEqual([]);
});

test('whatever a value holds comes out as it went in', () => {
  const random = dice(11);
  const pieces = ['{{', '}}', '{%', '%}', '{#', '#}', ' name ', '\n', 'é', '💥', '\\', '"', "'", '|', '-', 'raw', 'a'];
  for (let round = 0; round < 300; round += 1) {
    const value = Array.from({ length: random(12) }, () => pieces[random(pieces.length)]).join('');
    expect(outcome('<{{ v }}{% for x in l %}{{ x }}{% endfor %}>', { v: value, l: [value] })).toBe(
      `<${value}${value}>`,
    );
  }
});

test('whatever somebody types is a text or a complaint, and never anything else', () => {
  const random = dice(12);
  const pieces = [
    '{{',
    '}}',
    '{%',
    '%}',
    '{#',
    '#}',
    ' name ',
    ' list ',
    '\n',
    ' if ',
    ' endif ',
    ' for ',
    ' x in ',
    ' endfor ',
    ' else ',
    ' raw ',
    ' endraw ',
    '"',
    "'",
    '|',
    ':',
    ',',
    '(',
    ')',
    '..',
    '[',
    ']',
    '.',
    '-',
    ' not ',
    ' and ',
    ' == ',
    '0',
    'upper',
    'default',
  ];
  let rendered = 0;
  for (let round = 0; round < 3_000; round += 1) {
    const content = Array.from({ length: 1 + random(14) }, () => pieces[random(pieces.length)]).join('');
    if (!outcome(content).startsWith('✗ ')) rendered += 1;
  }
  expect(rendered).toBeGreaterThan(100);
});

test('conditions mean what JavaScript makes of them', () => {
  const random = dice(13);
  const grow = (depth: number): string => {
    if (depth === 0) return ['yes', 'no', 'three', 'bare', 'list', 'nothing'][random(6)] as string;
    const [left, right] = [grow(depth - 1), grow(random(depth))];
    return [`(${left} and ${right})`, `(${left} or ${right})`, `(not ${left})`][random(3)] as string;
  };
  const { yes, no, three, bare, list, nothing } = VALUES;
  for (let round = 0; round < 200; round += 1) {
    const condition = grow(3);
    const script = condition.replaceAll(' and ', ' && ').replaceAll(' or ', ' || ').replaceAll('not ', '!');
    const expected = new Function('yes', 'no', 'three', 'bare', 'list', 'nothing', `return Boolean(${script})`);
    expect(outcome(`{% if ${condition} %}true{% else %}false{% endif %}`), condition).toBe(
      String(expected(yes, no, three, bare, list, nothing)),
    );
  }
});
