import { expect, test } from 'vitest';
import { empty, guardrail, type Json, mcp, slack } from './support.ts';

test.each([
  ['Café  Bot!', 'cafe-bot'],
  ['  --Ünïcode__Näme--  ', 'unicode-name'],
  ['A/B\\C', 'a-b-c'],
  ['ﬁne １２', 'fine-12'],
  ['ABC日本', 'abc'],
  ['x'.repeat(255), 'x'.repeat(64)],
  [`${'x'.repeat(63)} y`, 'x'.repeat(63)],
  ['constructor', 'constructor'],
])('%s gives %s', async (name, slug) => {
  const { admin } = await empty();
  expect((await admin.post('/guardrails', guardrail(name))).body.data).toMatchObject({ slug });
});

test.each(['日本', '!!!', '😀', '\u200b'])('nothing is left of %j: 422 at the name', async (name) => {
  const { admin } = await empty();
  const answer = await admin.post('/guardrails', guardrail(name));
  expect(answer.status).toBe(422);
  expect(answer.body.error.fieldErrors).toMatchObject([{ field: expect.stringMatching(/name$/), code: 'invalid' }]);
  expect((await admin.get('/guardrails')).body).toEqual([]);
});

test('collisions get a number, per collection; a freed slug is taken again; a rename keeps the slug', async () => {
  const { admin } = await empty();
  const ids: string[] = [];
  for (const slug of ['one', 'one-2', 'one-3']) {
    const { data } = (await admin.post('/guardrails', guardrail('One'))).body;
    expect(data.slug).toBe(slug);
    ids.push(data.id);
  }
  expect((await admin.post('/mcp-servers', mcp('One'))).body.data.slug).toBe('one');
  expect((await admin.post('/integrations', slack('One'))).body.data.slug).toBe('one');
  await admin.del(`/guardrails/${ids[1]}`);
  expect((await admin.post('/guardrails', guardrail('One'))).body.data.slug).toBe('one-2');
  const renamed = await admin.patch(`/guardrails/${ids[2]}`, { name: 'Two', slug: 'two' });
  expect(renamed.body.data).toMatchObject({ name: 'Two', slug: 'one-3' });
  // A rename to a name without a slug is a rename all the same.
  expect((await admin.patch(`/guardrails/${ids[2]}`, { name: '日本' })).body.data).toMatchObject({ slug: 'one-3' });
});

test('the 100th of one name is a conflict; the longest names still fit with their numbers', async () => {
  const { admin } = await empty();
  const name = 'n'.repeat(70);
  const slugs = new Set<string>();
  for (let count = 1; count <= 99; count += 1) {
    const answer = await admin.post('/integrations', slack(name));
    expect(answer.status).toBe(201);
    slugs.add(answer.body.data.slug);
  }
  expect(slugs.size).toBe(99);
  expect([...slugs].every((slug) => slug.length <= 64)).toBe(true);
  const before = await admin.revision();
  const refused = await admin.post('/integrations', slack(name));
  expect(refused).toMatchObject({ status: 409, body: { error: { code: 'conflict' } } });
  expect(refused.body.detail).toBe(refused.body.error.message);
  expect(await admin.revision()).toBe(before);
});

test('versions of a prompt count per id, and the highest is freed by deleting it', async () => {
  const { admin } = await empty();
  const make = async (promptId: string): Promise<Json> =>
    (await admin.post('/prompts', { promptId, content: 'c' })).body.data;
  expect((await make('a')).version).toBe(1);
  const second = await make('a');
  expect(second.version).toBe(2);
  expect((await make('b')).version).toBe(1);
  await admin.del(`/prompts/${second.id}`);
  const again = await make('a');
  expect(again.version).toBe(2);
  const third = await make('a');
  await admin.del(`/prompts/${again.id}`);
  expect((await make('a')).version).toBe(4);
  expect(third.version).toBe(3);
});

test('20 prompts made at once have the versions 1 to 20', async () => {
  const { admin } = await empty();
  const made = await Promise.all(
    Array.from({ length: 20 }, () => admin.post('/prompts', { promptId: 'p', content: 'c' })),
  );
  const versions = made.map(({ body }) => body.data.version).sort((left, right) => left - right);
  expect(versions).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
});

test('a patch of a prompt changes its tags and nothing else', async () => {
  const { admin } = await empty();
  const { data } = (await admin.post('/prompts', { promptId: 'p', content: 'old', tags: ['a'] })).body;
  const body = { tags: ['b', 'c'], content: 'new', version: 7, promptId: 'q' };
  const { updatedAt: _then, tags: _tags, ...rest } = data;
  expect((await admin.patch(`/prompts/${data.id}`, body)).body.data).toMatchObject({ ...rest, tags: ['b', 'c'] });
});
