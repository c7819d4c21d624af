import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { packageVersion } from '../../package-info.ts';
import { accessFor } from '../plugins/gate.ts';
import { answer } from '../responses.ts';

const HealthResponse = z
  .object({
    status: z.enum(['ok', 'degraded']),
    service: z.string(),
    version: z.string(),
    agent_ready: z.boolean(),
    agent_name: z.string().nullable(),
    reason: z.string().optional().describe('Why the agent cannot be started, and what to mend.'),
  })
  .meta({
    id: 'HealthResponse',
    examples: [
      { status: 'ok', service: 'service-agent-engine', version: packageVersion, agent_ready: true, agent_name: 'desk' },
      {
        status: 'degraded',
        service: 'service-agent-engine',
        version: packageVersion,
        agent_ready: false,
        agent_name: null,
        reason: 'Agent module agent.ts has no export named graph. It exports: flow.',
      },
    ],
  });

const INFO = {
  message: 'Agent engine is running',
  version: packageVersion,
  docs: '/docs',
  health: '/health',
  agent_endpoints: { run: '/agent/run', invoke: '/agent/invoke', stream: '/agent/stream' },
};

const InfoResponse = z
  .object({
    message: z.string(),
    version: z.string(),
    docs: z.string(),
    health: z.string(),
    agent_endpoints: z.object({ run: z.string(), invoke: z.string(), stream: z.string() }),
  })
  .meta({ id: 'EngineInfo', examples: [INFO] });

const SignOnInfo = z
  .object({
    enabled: z.boolean(),
    issuer: z.string().optional(),
    clientId: z.string().optional(),
    audience: z.string().nullable().optional(),
  })
  .meta({
    id: 'SignOnInfo',
    examples: [
      { enabled: false },
      { enabled: true, issuer: 'https://id.example.org', clientId: 'web', audience: null },
    ],
  });

/** How the server is and what it is (runtime contract, section 9). Open to everybody. */
export async function healthRoutes(app: FastifyInstance): Promise<void> {
  accessFor(app, 'open');
  const routes = app.withTypeProvider<ZodTypeProvider>();
  const { holder, configurator, env, access } = app.services;
  routes.get(
    '/health',
    {
      schema: {
        tags: ['Observability'],
        summary: 'Whether the server and its agent are up',
        description: 'Always 200, unless `strict=1` asks for 503 while no agent is ready.',
        querystring: z.object({ strict: z.enum(['0', '1', 'true', 'false']).optional() }),
        response: {
          200: answer(HealthResponse, 'How the server is'),
          503: answer(HealthResponse, 'No agent is ready'),
        },
      },
    },
    async (request, reply) => {
      const agent = holder.current?.engine.agent;
      const { byForeignName } = request;
      const reason = agent === undefined && !byForeignName ? configurator.bootError : undefined;
      const strict = request.query.strict === '1' || request.query.strict === 'true';
      reply.header('Cache-Control', 'no-store');
      reply.status(strict && agent === undefined ? 503 : 200);
      return {
        status: agent === undefined ? ('degraded' as const) : ('ok' as const),
        service: 'service-agent-engine',
        version: packageVersion,
        agent_ready: agent !== undefined,
        agent_name: byForeignName ? null : (agent?.name ?? null),
        ...(reason !== undefined && { reason }),
      };
    },
  );
  routes.get(
    '/_engine/info',
    {
      schema: {
        tags: ['Observability'],
        summary: 'What this server is and where its routes are',
        response: { 200: answer(InfoResponse, 'The server') },
      },
    },
    async () => INFO,
  );
  if (app.uiDir === undefined) routes.get('/', { schema: { hide: true } }, async () => INFO);

  routes.get(
    '/sso/info',
    {
      schema: {
        tags: ['Auth & SSO'],
        summary: 'Whether and how users sign on',
        description: 'For the login page of a UI.',
        response: {
          200: answer(SignOnInfo, 'The rules'),
        },
      },
    },
    async () => access.signOn.info,
  );
  routes.get('/runtime-config.js', { schema: { hide: true } }, async (_request, reply) => {
    const settings = {
      theme: 'system',
      authMode: env.SERVICE_ADMIN_AUTH_MODE,
      layout: 'default',
      agentReady: holder.current !== undefined,
      bootFailed: holder.current === undefined && configurator.bootError !== undefined,
    };
    reply.type('application/javascript; charset=utf-8').header('Cache-Control', 'no-store');
    return `window.__SERVICE_CONFIG__ = ${JSON.stringify(settings)};\n`;
  });
}
