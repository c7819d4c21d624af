import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { problem } from '../../problems.ts';
import type { AdminLogin } from '../../services/access/admin-login.ts';
import { AUTH_MODES } from '../../settings/access.ts';
import { isSecure } from '../plugins/access.ts';
import { credentialsOf, SESSION_COOKIE } from '../plugins/gate.ts';
import { answer, errorResponses } from '../responses.ts';

const password = z.string().max(1_024);

const AuthMe = z
  .object({ authenticated: z.boolean(), authMode: z.enum(AUTH_MODES) })
  .meta({ id: 'AuthMe', examples: [{ authenticated: true, authMode: 'password' }] });
const LoginBody = z.object({ password }).meta({ id: 'AuthLogin', examples: [{ password: 'correct horse' }] });
const ChangeBody = z
  .object({
    currentPassword: password,
    newPassword: password.describe('8 characters or more, at most 72 bytes.'),
  })
  .meta({
    id: 'AuthChangePassword',
    examples: [{ currentPassword: 'correct horse', newPassword: 'battery staple' }],
  });
const Done = z.object({ ok: z.literal(true) }).meta({ id: 'AuthDone', examples: [{ ok: true }] });

/** Logging in and out, and the admin's password (admin contract, section 4). Open to all: they are how one gets in. */
export async function authRoutes(app: FastifyInstance): Promise<void> {
  const routes = app.withTypeProvider<ZodTypeProvider>();
  const { env, access } = app.services;
  const config = { access: 'open' as const };
  const path = '/admin/api/v1/auth';
  const tags = ['Auth & SSO'];
  const maxAge = env.SERVICE_SESSION_TTL_HOURS * 3_600;

  const setCookie = (request: FastifyRequest, reply: FastifyReply, value: string, seconds: number): void => {
    const secure = isSecure(request);
    reply.setCookie(SESSION_COOKIE, value, { httpOnly: true, sameSite: 'lax', path: '/', maxAge: seconds, secure });
  };

  routes.get(
    `${path}/me`,
    {
      config,
      schema: {
        tags,
        summary: 'Whether the caller is logged in, and how one logs in',
        response: { 200: answer(AuthMe, 'The state') },
      },
    },
    async (request, reply) => {
      reply.header('Cache-Control', 'no-store');
      const authenticated = await access.gate.admin(credentialsOf(request), 'admin:read').then(
        () => true,
        () => false,
      );
      return { authenticated, authMode: env.SERVICE_ADMIN_AUTH_MODE };
    },
  );
  routes.post(
    `${path}/login`,
    {
      config,
      schema: {
        tags,
        summary: 'Log in',
        description: 'Sets the session cookie. After five wrong passwords within five minutes a client has to wait.',
        body: LoginBody,
        response: { 200: answer(Done, 'Logged in'), ...errorResponses(401, 403, 413, 415, 422, 429, 503) },
      },
    },
    async (request, reply) => {
      const login = loginOf(access.login);
      const session = await login.login(request.body.password, request.audit);
      setCookie(request, reply, reply.signCookie(`${session}.${Date.now().toString(36)}`), maxAge);
      reply.header('Cache-Control', 'no-store');
      return { ok: true as const };
    },
  );
  routes.post(
    `${path}/logout`,
    {
      config,
      schema: {
        tags,
        summary: 'Log out',
        description: 'Ends the session and clears the cookie. Never fails for want of one.',
        response: { 200: answer(Done, 'Logged out'), ...errorResponses(403, 413, 415) },
      },
    },
    async (request, reply) => {
      const { session } = credentialsOf(request);
      if (session !== undefined) await access.login?.logout(session, request.audit);
      setCookie(request, reply, '', 0);
      return { ok: true as const };
    },
  );
  routes.post(
    `${path}/change-password`,
    {
      config,
      // Before the body is looked at, as everywhere behind the gate.
      onRequest: async (request) => void (access.login && (await sessionOf(request, access.login))),
      schema: {
        tags,
        summary: 'Change the password',
        description: 'Ends every other session. Needs a session; a key will not do.',
        body: ChangeBody,
        response: { 200: answer(Done, 'Changed'), ...errorResponses(401, 403, 413, 415, 422, 429, 503) },
      },
    },
    async (request) => {
      const login = loginOf(access.login);
      const session = await sessionOf(request, login);
      const { currentPassword, newPassword } = request.body;
      await login.changePassword(session, currentPassword, newPassword, { ...request.audit, actor: 'admin' });
      return { ok: true as const };
    },
  );
}

/** The session that is to be changed by a page of ours. @throws Problem `auth_required`, `origin_required`. */
async function sessionOf(request: FastifyRequest, login: AdminLogin): Promise<string> {
  const { session } = credentialsOf(request);
  if (session === undefined || !(await login.isLoggedIn(session))) {
    throw problem('auth_required', { message: 'Log in first.' });
  }
  if (!request.fromOwnPage) throw problem('origin_required');
  return session;
}

/** @throws Problem `unsupported_mode` where nobody logs in with a password. */
function loginOf(login: AdminLogin | undefined): AdminLogin {
  if (login === undefined) throw problem('unsupported_mode');
  return login;
}
