import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join, resolve } from 'node:path';
import Fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify';
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod';
import { isLoopback } from './env.ts';
import { adminRoutes } from './http/admin/index.ts';
import { managedRoutes } from './http/managed/index.ts';
import { healthRoutes } from './http/operational/health.ts';
import { adminOrLocal, type ReloadAuth, reloadRoutes } from './http/operational/reload.ts';
import { access } from './http/plugins/access.ts';
import { audit } from './http/plugins/audit.ts';
import { docs } from './http/plugins/docs.ts';
import { errors, sendProblem } from './http/plugins/errors.ts';
import { accessFor, gate } from './http/plugins/gate.ts';
import { proxyNotice } from './http/plugins/proxy-notice.ts';
import { rateLimits } from './http/plugins/rate-limit.ts';
import { securityHeaders, UNROUTED_HEADERS } from './http/plugins/security-headers.ts';
import { deprecatedRoutes } from './http/runtime/deprecated.ts';
import { introspectionRoutes } from './http/runtime/introspection.ts';
import { runRoutes } from './http/runtime/run.ts';
import { runRecordRoutes } from './http/runtime/runs.ts';
import { sessionRoutes } from './http/runtime/sessions.ts';
import { problem } from './problems.ts';
import type { Services } from './services.ts';

declare module 'fastify' {
  interface FastifyInstance {
    services: Services;
    /** Folder of the static UI, if one is mounted at `/`. */
    uiDir: string | undefined;
    /** Event streams whose last byte has not left yet. */
    openStreams: Set<ServerResponse>;
  }
}

/** What the head of a request may take to arrive. */
const HEADERS_MS = 10_000;

/** How often connections are looked at for requests that take too long to arrive. */
const CONNECTIONS_CHECK_MS = 1_000;

/** How long a closing server waits for readers to take what their runs have sent. */
const LAST_BYTES_MS = 5_000;

/** What an embedding program may decide. */
export interface AppOptions {
  /** Who may call `POST /reload`; by default this machine and holders of SERVICE_RELOAD_TOKEN. */
  reloadAuth?: ReloadAuth;
}

/**
 * Makes the HTTP server over its services. Closing it lets running streams end, within the drain time, and closes the
 * services.
 */
export async function buildApp(services: Services, options: AppOptions = {}): Promise<FastifyInstance> {
  const { env, log } = services;
  const app = Fastify({
    loggerInstance: log as FastifyBaseLogger,
    // Runs are logged when they end; two more lines for each request would be noise.
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: env.SERVICE_MAX_BODY_BYTES,
    trustProxy: trustedProxies(env.SERVICE_TRUST_PROXY),
    // Senders that dribble a request keep a socket and a parser each.
    requestTimeout: env.SERVICE_REQUEST_TIMEOUT_SECONDS * 1000,
    http: {
      headersTimeout: Math.min(HEADERS_MS, env.SERVICE_REQUEST_TIMEOUT_SECONDS * 1000),
      connectionsCheckingInterval: CONNECTIONS_CHECK_MS,
    },
    forceCloseConnections: true,
    // Ours are set below; without these Fastify would load its own, which takes a while, for nothing.
    schemaController: { compilersFactory: { buildValidator: unused, buildSerializer: unused } },
    // Members nobody asked for are ignored, these too; as keys of an object they would do harm.
    onProtoPoisoning: 'remove',
    onConstructorPoisoning: 'remove',
    // Ours says the same in the shape of every other error.
    return503OnClosing: false,
    // Errors before any route is found, such as an address that cannot be decoded.
    frameworkErrors: (error, request, reply) => sendProblem(error, request, reply.headers(UNROUTED_HEADERS)),
    genReqId: (request) => requestId(request.headers['x-request-id']),
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 512 },
  });
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(serializerCompiler);
  app.decorate('services', services);
  app.decorate('uiDir', uiDir(services));
  let closing = false;
  app.addHook('onRequest', async (request, reply) => {
    reply.header('X-Request-Id', request.id);
    if (closing) {
      reply.header('Connection', 'close');
      throw problem('shutting_down');
    }
  });
  app.removeContentTypeParser('text/plain');
  const parseJson = app.getDefaultJsonParser('remove', 'remove');
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    // Clients that name the type and send nothing mean no body.
    if (body === '') done(null, undefined);
    else void parseJson(request, body as string, done);
  });
  app.decorate('openStreams', new Set<ServerResponse>());
  // Streams end whole, or with a terminal event, before any socket is closed under them.
  app.addHook('preClose', async () => {
    closing = true;
    await services.close();
    const sent = [...app.openStreams].map((stream) =>
      once(stream, 'close', { signal: AbortSignal.timeout(LAST_BYTES_MS) }),
    );
    await Promise.allSettled(sent);
  });

  await app.register(errors);
  await app.register(securityHeaders, { policy: env.SERVICE_CONTENT_SECURITY_POLICY });
  await app.register(access, {
    isOpen: env.SERVICE_ADMIN_AUTH_MODE === 'none',
    allowedHosts: env.SERVICE_ALLOWED_HOSTS,
    origins: env.SERVICE_CORS_ORIGINS,
  });
  await app.register(proxyNotice, { isTrusted: env.SERVICE_TRUST_PROXY !== false });
  const limited = !isLoopback(env.SERVICE_HOST);
  await app.register(rateLimits, {
    address: env.SERVICE_RATE_LIMIT_ADDRESS ?? (limited ? 600 : 0),
    user: env.SERVICE_RATE_LIMIT_USER ?? (limited ? 300 : 0),
  });
  await app.register(gate, { secret: env.SERVICE_SESSION_SECRET });
  await app.register(audit);
  await app.register(docs);
  await app.register(runtimeRoutes);
  // An engine by itself is configured from outside.
  if (services.admin !== undefined) {
    await app.register(adminRoutes);
    await app.register(managedRoutes);
  }
  await app.register(healthRoutes);
  await app.register(reloadRoutes, { reloadAuth: options.reloadAuth ?? adminOrLocal(env) });
  // Imported when there is something to serve: it takes a while.
  if (app.uiDir !== undefined) await app.register(uiRoutes, { root: app.uiDir });
  return app;
}

/** What a chat UI calls. */
async function runtimeRoutes(app: FastifyInstance): Promise<void> {
  accessFor(app, 'runtime');
  await app.register(runRoutes);
  await app.register(runRecordRoutes);
  await app.register(deprecatedRoutes);
  await app.register(sessionRoutes);
  await app.register(introspectionRoutes);
}

/** The static UI. Its wildcard stands for whatever has no route, so each address is held to what its place would be. */
async function uiRoutes(app: FastifyInstance, { root }: { root: string }): Promise<void> {
  accessFor(app, 'path');
  await app.register(import('@fastify/static'), { root, wildcard: true, dotfiles: 'ignore' });
}

/** So many proxies in front are believed, counted from the one that connects; or those at the addresses. */
function trustedProxies(setting: number | string[] | false) {
  return typeof setting === 'number' ? (_address: string, hop: number) => hop < setting : setting;
}

function unused(): never {
  throw new Error('every schema is compiled by the zod compilers');
}

function uiDir({ env, log }: Services): string | undefined {
  if (env.SERVICE_UI_DIR === undefined) return undefined;
  const dir = resolve(env.SERVICE_UI_DIR);
  if (existsSync(join(dir, 'index.html'))) return dir;
  log.warn({ dir }, 'SERVICE_UI_DIR holds no index.html and is ignored');
  return undefined;
}

/** The caller's request id if it is a plain one, else a new one. */
function requestId(given: string | string[] | undefined): string {
  return typeof given === 'string' && /^[\w.-]{1,128}$/.test(given) ? given : randomUUID();
}
