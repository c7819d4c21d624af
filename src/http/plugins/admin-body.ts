import type { FastifyInstance } from 'fastify';
import fp from 'fastify-plugin';
import type { z } from 'zod';
import { problem } from '../../problems.ts';
import { camelise } from '../../spelling.ts';

/** Names the specification spells otherwise than deployed servers do; both are written (contract decision 1). */
const TWINS: Readonly<Record<string, string>> = {
  mcpServer: 'mcp_server',
  sortOrder: 'sort_order',
  clientId: 'client_id',
  allowedDomains: 'allowed_domains',
  allowedEmails: 'allowed_emails',
  hasPythonFiles: 'has_python_files',
  hasServiceConfig: 'has_service_config',
  currentAgent: 'current_agent',
};

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the body is a configuration file, in the file's own spelling. */
    isDocument?: boolean;
  }
}

/** Deepest nesting of a body; configurations have a handful of levels. */
const MAX_DEPTH = 64;

/** Whether a value is nested too deeply for what follows, told without recursion. */
function isDeeperThan(value: unknown, levels: number): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > levels) return true;
    level = level.flatMap((entry) => (typeof entry === 'object' && entry !== null ? Object.values(entry) : []));
  }
  return false;
}

/** The admin surface's two spellings: bodies come in either, answers carry both of the names in question. */
export const adminBody = fp(async (app: FastifyInstance) => {
  app.addHook('preValidation', async (request) => {
    if (isDeeperThan(request.body, MAX_DEPTH)) {
      const msg = `is nested deeper than ${MAX_DEPTH} levels`;
      throw problem('validation_failed', { details: [{ loc: ['body'], msg, type: 'value_error' }] });
    }
    // A configuration file keeps its own spelling.
    if (request.routeOptions.config.isDocument !== true) request.body = camelise(request.body);
  });
  app.setSerializerCompiler(
    ({ schema }) =>
      (data) =>
        JSON.stringify(withTwins((schema as z.ZodType).encode(data))),
  );
});

function withTwins(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withTwins);
  if (typeof value !== 'object' || value === null) return value;
  const copy: Record<string, unknown> = {};
  for (const [key, entry] of Object.entries(value)) {
    const twinned = withTwins(entry);
    copy[key] = twinned;
    const twin = TWINS[key];
    if (twin !== undefined) copy[twin] = twinned;
  }
  return copy;
}
