import { z } from 'zod';
import { defineCollection } from './define.ts';

const text = () => z.string().min(1).max(2_000);
const secret = () => z.string().min(1).max(20_000).meta({ secret: true });

function provider<const Name extends string, Shape extends z.ZodRawShape>(name: Name, shape: Shape) {
  // The row's own flag rules; this one is kept for clients that send it.
  return z.object({ provider: z.literal(name), enabled: z.boolean().default(true), config: z.object(shape) });
}

/** A chat service people talk to the agent from (admin contract, section 12). */
export const IntegrationConfig = z
  .discriminatedUnion('provider', [
    provider('WHATSAPP', {
      accessToken: secret(),
      phoneNumberId: text(),
      verifyToken: secret(),
      apiVersion: text().default('v21.0'),
    }),
    provider('DISCORD', {
      botToken: secret(),
      applicationId: text(),
      publicKey: text(),
      guildId: text().nullable().default(null),
    }),
    provider('SLACK', { botToken: secret(), signingSecret: secret() }),
    provider('GOOGLE_CHAT', {
      serviceAccountCredentialsJson: secret(),
      projectNumber: text(),
      localMode: z.boolean().default(false),
    }),
    provider('TEAMS', { appId: text(), appPassword: secret(), appTenantId: text() }),
  ])
  .meta({ id: 'IntegrationConfig' });

const data = z.object({
  name: z.string().trim().min(1).max(255),
  enabled: z.boolean().default(true),
  integration: IntegrationConfig,
});

export const integrations = defineCollection({
  name: 'integrations',
  title: 'integration',
  example: {
    name: 'Team Slack',
    enabled: false,
    integration: { provider: 'SLACK', config: { botToken: '***', signingSecret: '***' } },
  },
  tag: 'Integrations & Tools',
  idName: 'integration_id',
  slugged: true,
  data,
  create: data,
  patchable: ['name', 'enabled', 'integration'],
  notNull: ['name'],
  order: () => 0,
});
