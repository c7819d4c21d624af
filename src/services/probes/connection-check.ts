import { z } from 'zod';

/** Whether a thing the configuration names can be reached (admin contract, sections 6, 7 and 9). */
export const ConnectionCheck = z
  .object({
    ok: z.boolean(),
    details: z.record(z.string(), z.unknown()).nullable().describe('What was found; null when `ok` is false.'),
    error: z.string().nullable().describe('What is wrong, in one line; null when `ok` is true.'),
  })
  .meta({
    id: 'ConnectionCheck',
    examples: [
      { ok: true, details: { backend: 'sqlite' }, error: null },
      { ok: false, details: null, error: 'The connection was refused' },
    ],
  });
export type ConnectionCheck = z.infer<typeof ConnectionCheck>;
