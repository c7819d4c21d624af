import { z } from 'zod';
import { describeIssue, flattenIssue } from '../issues.ts';
import { AgentConfig } from './frameworks/index.ts';
import { GuardrailsConfig } from './guardrails/index.ts';
import { McpServers } from './mcp/config.ts';
import { ObservabilityConfig } from './observability/index.ts';
import { PromptConfig } from './prompts/config.ts';
import { type SsoConfig, SsoLayer } from './sign-on.ts';

/** A layer of the configuration this version knows by name but cannot run: it may be absent or empty, never ignored. */
function notYet(what: string) {
  return z
    .unknown()
    .refine(
      (value) => isEmpty(value),
      `${what} are not supported by this version; remove the block to start without them`,
    )
    .transform(() => undefined)
    .optional();
}

function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined) return true;
  if (Array.isArray(value)) return value.every((entry) => isEmpty(entry) || isDisabled(entry));
  return typeof value === 'object' && (isDisabled(value) || Object.values(value).every(isEmpty));
}

function isDisabled(value: unknown): boolean {
  return typeof value === 'object' && value !== null && (value as { enabled?: unknown }).enabled === false;
}

/** Everything the engine is built from (admin contract, section 5), in the primary spelling of its keys. */
export const EngineConfig = z.object({
  server: z
    .object({ api: z.object({ port: z.coerce.number().int().min(0).max(65535).optional() }).optional() })
    .optional(),
  agent: AgentConfig,
  mcpServers: McpServers.optional(),
  guardrails: GuardrailsConfig.nullish(),
  observability: ObservabilityConfig,
  sso: SsoLayer,
  integrations: notYet('Chat integrations'),
  prompts: z.array(PromptConfig).default([]),
});
export type EngineConfig = z.infer<typeof EngineConfig>;

/** One fault of a configuration, with its place in it and, where it comes from a file, its line. */
export interface ConfigFault {
  path: (string | number)[];
  message: string;
  line: number | undefined;
}

/** The same without the agent. */
export const Layers = EngineConfig.omit({ agent: true });

/**
 * Checks a configuration whose variables are resolved.
 *
 * @param withAgent false checks everything but the agent, and gives no configuration.
 */
export function parseEngineConfig(
  value: unknown,
  withAgent: boolean,
): { ok: true; config: EngineConfig | undefined; sso: SsoConfig | undefined } | { ok: false; faults: ConfigFault[] } {
  const parsed = (withAgent ? EngineConfig : Layers).safeParse(value);
  if (parsed.success) {
    const config = withAgent ? (parsed.data as EngineConfig) : undefined;
    return { ok: true, config, sso: parsed.data.sso ?? undefined };
  }
  const faults = parsed.error.issues.flatMap(flattenIssue).map((issue) => ({
    path: issue.path.filter((part) => typeof part !== 'symbol'),
    message: describeIssue(issue),
    line: undefined,
  }));
  return { ok: false, faults };
}

/** Configuration of an agent that is only named, as on the command line: everything else as it comes. */
export function configForAgent(definition: string): EngineConfig {
  const file = definition.split(/[\\/]/).at(-1) ?? definition;
  const name = file.replace(/\.[mc]?[jt]s(?::.*)?$/i, '') || 'agent';
  return EngineConfig.parse({ agent: { type: 'LANGGRAPH', config: { name, graph_definition: definition } } });
}
