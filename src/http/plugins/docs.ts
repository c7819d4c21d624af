import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import swagger from '@fastify/swagger';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest, type FastifySchema } from 'fastify';
import fp from 'fastify-plugin';
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod';
import { packageRoot, packageVersion } from '../../package-info.ts';
import { problem } from '../../problems.ts';
import { errorResponses } from '../responses.ts';
import { RUN_INPUT_EXAMPLES } from '../run-input.ts';
import { type RouteAccess, SESSION_COOKIE } from './gate.ts';
import { tidyOpenApi } from './openapi-tidy.ts';

const ASSETS = join(packageRoot, 'src/http/assets');

/** The document's seven groups, as the specification names them. */
const TAGS = [
  { name: 'Runtime', description: 'Chat, sessions and capabilities: what a UI calls.' },
  { name: 'Agent Configuration', description: 'What the agent is, and how it is reloaded.' },
  { name: 'Auth & SSO', description: 'Who may call.' },
  { name: 'Dashboard', description: 'Counters for operators.' },
  { name: 'Integrations & Tools', description: 'Chat integrations and MCP tool servers.' },
  { name: 'Observability', description: 'Health and exporters.' },
  { name: 'Traces', description: 'What the agent did.' },
];

/** How callers show who they are; which of it counts is up to the mode. */
const SECURITY_SCHEMES = {
  token: { type: 'http', scheme: 'bearer', description: 'A token of the sign-on provider, or an API key.' },
  apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key', description: 'An API key.' },
  session: { type: 'apiKey', in: 'cookie', name: SESSION_COOKIE, description: "The admin's login, in mode password." },
} as const;

/** What every route has that is not open to all: ways to show who calls, and the answers to those who do not. */
function withAccess(schema: FastifySchema | undefined, access: RouteAccess | undefined): FastifySchema {
  const described = schema ?? {};
  if (access !== 'admin' && access !== 'runtime') return described;
  const security = [{ token: [] }, { apiKey: [] }, ...(access === 'admin' ? [{ session: [] }] : [])];
  const response = { ...errorResponses(401, 403, 429), ...(described.response as object | undefined) };
  // The runtime may be open to all.
  return { ...described, response, security: access === 'runtime' ? [...security, {}] : security };
}

/** The server's own description: `/openapi.json`, `/docs` and `/redoc`, all from this package, no outside host. */
export const docs = fp(async (app: FastifyInstance) => {
  const config = { access: 'open' as const };
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Agent Engine Server',
        version: packageVersion,
        description: 'Hosts one conversational agent and streams AG-UI over server-sent events.',
      },
      tags: TAGS,
      components: { securitySchemes: SECURITY_SCHEMES },
    },
    transform: (route) =>
      jsonSchemaTransform({ ...route, schema: withAccess(route.schema, route.route.config?.access) }),
    transformObject: (document) =>
      tidyOpenApi(jsonSchemaTransformObject(document), { RunAgentInput: RUN_INPUT_EXAMPLES }),
  });
  const pages = swaggerPages(app);
  app.get('/docs', { config, schema: { hide: true } }, pages);
  app.get('/docs/*', { config, schema: { hide: true } }, pages);
  app.get('/openapi.json', { config, schema: { hide: true } }, async () => app.swagger());
  app.get('/redoc', { config, schema: { hide: true } }, async (_request, reply) => {
    // Redoc would fetch a logo from its makers' host; the policy keeps the page to this server.
    reply.header('Content-Security-Policy', DOCS_POLICY);
    return reply.type('text/html; charset=utf-8').send(REDOC_PAGE);
  });
  app.get('/redoc/redoc.standalone.js', { config, schema: { hide: true } }, async (_request, reply) => {
    reply.header('Cache-Control', 'public, max-age=86400');
    // Without the charset the script dies at one of its own regular expressions.
    return reply
      .type('application/javascript; charset=utf-8')
      .send(await readFile(join(ASSETS, 'redoc.standalone.js')));
  });
});

/** Serves Swagger's pages from a small server of their own, made at the first visit: few visit, and every start waits. */
function swaggerPages(app: FastifyInstance): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  let server: Promise<FastifyInstance> | undefined;
  const make = async (): Promise<FastifyInstance> => {
    const { default: swaggerUi } = await import('@fastify/swagger-ui');
    const inner = Fastify({ routerOptions: { ignoreTrailingSlash: true } });
    await inner.register(swagger, { mode: 'static', specification: { document: app.swagger() as never } });
    await inner.register(swaggerUi, { routePrefix: '/docs', staticCSP: DOCS_POLICY });
    return inner;
  };
  return async (request, reply) => {
    server ??= make();
    const { statusCode, headers, rawPayload } = await (await server).inject({ method: 'GET', url: request.url });
    if (statusCode === 404) throw problem('not_found');
    const { 'content-length': _length, connection: _connection, date: _date, ...shown } = headers;
    return reply.status(statusCode).headers(shown).send(rawPayload);
  };
}

/** Both pages style themselves in place; everything else comes from this server. */
const DOCS_POLICY =
  "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; worker-src blob:";

const REDOC_PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Agent Engine Server</title>
<style>body { margin: 0 }</style>
</head>
<body>
<redoc spec-url="/openapi.json"></redoc>
<script src="/redoc/redoc.standalone.js"></script>
</body>
</html>
`;
