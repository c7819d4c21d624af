import { z } from 'zod';
import { defineSingleton } from './define.ts';

const entries = z.array(z.string().trim().min(1).max(255)).max(10_000).nullable().default(null);

/** Who may use the agent (admin contract, section 8). */
export const sso = defineSingleton({
  name: 'sso',
  title: 'SSO configuration',
  example: {
    sso: {
      enabled: false,
      issuer: 'https://id.example.org',
      clientId: 'web',
      audience: null,
      allowedDomains: ['example.org'],
      allowedEmails: null,
    },
  },
  tag: 'Auth & SSO',
  required: ['sso'],
  data: z.object({
    sso: z
      .object({
        enabled: z.boolean().default(true),
        issuer: z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }).max(2_000),
        clientId: z.string().trim().min(1).max(255),
        audience: z.string().trim().min(1).max(2_000).nullable().default(null).describe('Unset: the client id.'),
        allowedDomains: entries.describe('Domains of e-mail addresses that may enter.'),
        allowedEmails: entries.describe('Addresses that may enter.'),
      })
      .meta({ id: 'SsoConfig' }),
  }),
});
