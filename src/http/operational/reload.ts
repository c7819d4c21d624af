import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { type Env, isLoopback } from '../../env.ts';
import { problem } from '../../problems.ts';
import { admitAdmin, credentialsOf } from '../plugins/gate.ts';
import { answer, errorResponses } from '../responses.ts';

/** Decides who may reload: throws to deny, whatever error it likes. */
export type ReloadAuth = (request: FastifyRequest) => void | Promise<void>;

const ReloadRequest = z
  .object({
    path: z.string().min(1).nullish().describe("A file in the configuration file's folder to load from now on."),
  })
  .nullish()
  .meta({ id: 'ReloadRequest', examples: [{ path: 'config.yaml' }] });

const ReloadResponse = z
  .object({ status: z.literal('success'), message: z.string() })
  .meta({ id: 'ReloadResponse', examples: [{ status: 'success', message: 'The new agent is live (generation 2).' }] });

/** `POST /reload`: builds the agent anew and swaps it in under running streams (runtime contract, section 9). */
export async function reloadRoutes(app: FastifyInstance, options: { reloadAuth: ReloadAuth }): Promise<void> {
  app.withTypeProvider<ZodTypeProvider>().post(
    '/reload',
    {
      config: { access: 'own' },
      onRequest: async (request) => options.reloadAuth(request),
      schema: {
        tags: ['Agent Configuration'],
        summary: 'Reload the agent',
        description:
          'Reads the configuration and the agent code again, builds the new agent, then swaps it in. Runs under way ' +
          'finish on the old agent. If anything fails the old agent keeps serving.',
        body: ReloadRequest,
        response: { 200: answer(ReloadResponse, 'The new agent is live'), ...errorResponses(401, 403, 413, 415, 422) },
      },
    },
    async (request) => {
      const { generation } = await app.services.configurator.reload(request.body?.path ?? undefined, request.audit);
      return { status: 'success' as const, message: `The new agent is live (generation ${generation}).` };
    },
  );
}

/** The default rule: what the admin surface asks for (contract decision 12). */
export function adminOrLocal({ SERVICE_ADMIN_AUTH_MODE: mode, SERVICE_RELOAD_TOKEN: token }: Env): ReloadAuth {
  return mode === 'none' ? localOrToken(token) : admitAdmin;
}

/** Where nobody logs in: a caller on this machine, one who knows the token, or a program with a key for it. */
function localOrToken(token: string | undefined): ReloadAuth {
  return async (request) => {
    const given = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1];
    if (token !== undefined && given !== undefined && sameText(given, token)) return;
    const { gate } = request.server.services.access;
    const credentials = credentialsOf(request);
    request.caller = await gate.admin(credentials, 'admin:write');
    // Behind a proxy on this machine everybody is a loopback peer, and the proxy says for whom it speaks.
    const forwarded = PROXY_HEADERS.some((name) => request.headers[name] !== undefined);
    if (!forwarded && isLoopback(request.socket.remoteAddress ?? '')) return;
    // From elsewhere it takes a key made for it: in this mode any key will do for the rest.
    if ((await gate.key(credentials, 'admin:write')) === undefined) throw problem('reload_forbidden');
  };
}

const PROXY_HEADERS = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip', 'via'];

function sameText(left: string, right: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(left), digest(right));
}
