import { z } from 'zod';
import { PromptContent } from '../../engine/prompts/config.ts';
import { MAX_CONTENT } from '../../engine/prompts/template.ts';
import { defineCollection } from './define.ts';

const data = z.object({
  promptId: z.string().trim().min(1).max(255),
  content: z.string().max(MAX_CONTENT),
  tags: z.array(z.string().min(1).max(255)).max(100).default([]),
  version: z.int().min(1),
});
// What is stored may be older than the check of templates, and has to be read all the same.
const create = data.omit({ version: true }).extend({ content: PromptContent });

/** Texts the agent asks for by name; every create is a new version (admin contract, section 11). */
export const prompts = defineCollection({
  name: 'prompts',
  title: 'prompt',
  example: { promptId: 'greeting', content: 'Hello {{ user }}', tags: ['draft'] },
  tag: 'Agent Configuration',
  idName: 'prompt_row_id',
  slugged: false,
  data,
  create,
  patchable: ['tags'],
  notNull: ['tags'],
  order: (left, right) =>
    compare(String(left.data.promptId), String(right.data.promptId)) ||
    Number(left.data.version) - Number(right.data.version),
  complete(data, records) {
    const versions = records
      .filter((record) => record.data.promptId === data.promptId)
      .map((record) => record.data.version);
    return { version: Math.max(0, ...versions.map(Number)) + 1 };
  },
});

function compare(left: string, right: string): number {
  return left < right ? -1 : Number(left > right);
}
