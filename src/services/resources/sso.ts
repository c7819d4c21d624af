import { z } from 'zod';
import { SsoConfig } from '../../engine/sign-on.ts';
import { defineSingleton } from './define.ts';

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
    sso: SsoConfig,
  }),
});
