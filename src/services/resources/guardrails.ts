import { z } from 'zod';
import { GuardrailConfig } from '../../engine/guardrails/index.ts';
import { defineCollection } from './define.ts';

const data = z.object({
  name: z.string().trim().min(1).max(255),
  enabled: z.boolean().default(true),
  position: z.enum(['input', 'output']),
  sortOrder: z.int().min(0).max(2_147_483_647).default(0),
  guardrail: GuardrailConfig,
});

/** What users may send and the agent may say (admin contract, section 10). */
export const guardrails = defineCollection({
  name: 'guardrails',
  title: 'guardrail',
  example: {
    name: 'No secrets',
    enabled: true,
    position: 'input',
    sortOrder: 1,
    guardrail: { config_id: 'ban_list', banned_words: ['alpha', 'beta'], reject_message: 'Please rephrase.' },
  },
  tag: 'Integrations & Tools',
  idName: 'guardrail_id',
  slugged: true,
  data,
  create: data,
  patchable: ['name', 'enabled', 'position', 'sortOrder', 'guardrail'],
  notNull: ['name'],
  order(left, right) {
    const rank = (record: typeof left): number => (record.data.position === 'input' ? 0 : 1);
    return rank(left) - rank(right) || Number(left.data.sortOrder) - Number(right.data.sortOrder);
  },
});
