import type { FastifyInstance } from 'fastify';
import { stamped } from '../../services/config/document.ts';
import { guardrails } from '../../services/resources/guardrails.ts';
import { integrations } from '../../services/resources/integrations.ts';
import { mcpServers } from '../../services/resources/mcp-servers.ts';
import { memory } from '../../services/resources/memory.ts';
import { observability } from '../../services/resources/observability.ts';
import { prompts } from '../../services/resources/prompts.ts';
import { sso } from '../../services/resources/sso.ts';
import { adminBody } from '../plugins/admin-body.ts';
import { accessFor } from '../plugins/gate.ts';
import { agentRoutes } from './agent.ts';
import { apiKeyRoutes } from './api-keys.ts';
import { auditRoutes } from './audit.ts';
import { authRoutes } from './auth.ts';
import { checkRoutes } from './checks.ts';
import { collectionRoutes } from './collection-routes.ts';
import { configurationRoutes } from './configuration.ts';
import { exporterRoutes } from './exporters.ts';
import { mcpStatusRoutes } from './mcp-status.ts';
import { onboardingRoutes } from './onboarding.ts';
import { revisionRoutes } from './revisions.ts';
import { singletonRoutes } from './singleton-routes.ts';
import { storageRoutes } from './storage.ts';

/** The admin surface: everything that configures the agent (admin contract). */
export async function adminRoutes(app: FastifyInstance): Promise<void> {
  const policy = { allowStdio: app.services.env.SERVICE_ALLOW_STDIO_MCP };
  accessFor(app, 'admin');
  await app.register(adminBody);
  await app.register(agentRoutes);
  await app.register(singletonRoutes, { kind: memory, component: 'Memory' });
  await app.register(singletonRoutes, { kind: observability, component: 'Observability', prepare: stampProviders });
  await app.register(singletonRoutes, { kind: sso, component: 'Sso' });
  await app.register(collectionRoutes, { kind: mcpServers, policy, component: 'McpServer' });
  await app.register(collectionRoutes, { kind: guardrails, policy, component: 'Guardrail' });
  await app.register(collectionRoutes, { kind: prompts, policy, component: 'Prompt' });
  await app.register(collectionRoutes, { kind: integrations, policy, component: 'Integration' });
  await app.register(checkRoutes);
  await app.register(mcpStatusRoutes);
  await app.register(exporterRoutes);
  await app.register(onboardingRoutes);
  await app.register(revisionRoutes);
  await app.register(configurationRoutes);
  await app.register(authRoutes);
  await app.register(apiKeyRoutes);
  await app.register(auditRoutes);
  await app.register(storageRoutes);
}

/** A provider's configuration carries the provider's name; older clients leave it out. */
function stampProviders(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || !('observability' in body)) return body;
  return { ...body, observability: stamped(body.observability) };
}
