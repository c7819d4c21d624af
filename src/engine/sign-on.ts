import { z } from 'zod';
import { camelise } from '../spelling.ts';

const entries = z.array(z.string().trim().min(1).max(255)).max(10_000).nullable().default(null);

/** Whose users may run the agent (admin contract, section 8). */
export const SsoConfig = z
  .object({
    enabled: z.boolean().default(true),
    issuer: z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }).max(2_000),
    clientId: z.string().trim().min(1).max(255),
    audience: z.string().trim().min(1).max(2_000).nullable().default(null).describe('Unset: the client id.'),
    allowedDomains: entries.describe('Domains of e-mail addresses that may enter.'),
    allowedEmails: entries.describe('Addresses that may enter.'),
  })
  .meta({ id: 'SsoConfig' });
export type SsoConfig = z.infer<typeof SsoConfig>;

/** The same in a configuration file, in either spelling. The engine itself does nothing with it. */
export const SsoLayer = z.preprocess(camelise, SsoConfig.nullish());
