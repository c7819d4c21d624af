import { z } from 'zod';
import { camelise } from '../../spelling.ts';
import { isRecord } from '../encode.ts';
import type { Destination, ExporterPorts } from './define.ts';
import { gcpLogging } from './gcp-logging.ts';
import { gcpTrace } from './gcp-trace.ts';
import { langfuse } from './langfuse.ts';
import { langsmith } from './langsmith.ts';
import { otlp } from './otlp.ts';
import { phoenix } from './phoenix.ts';

/** Every kind of exporter (admin contract, section 7). A new one is a file and a line here and in the union. */
const KINDS = {
  LANGFUSE: langfuse,
  PHOENIX: phoenix,
  GCP_LOGGING: gcpLogging,
  GCP_TRACE: gcpTrace,
  LANGSMITH: langsmith,
  OTLP: otlp,
} as const;

/** Where spans go: one provider with its configuration. */
export const ObservabilityProvider = z
  .discriminatedUnion(
    'provider',
    [
      KINDS.LANGFUSE.entry,
      KINDS.PHOENIX.entry,
      KINDS.GCP_LOGGING.entry,
      KINDS.GCP_TRACE.entry,
      KINDS.LANGSMITH.entry,
      KINDS.OTLP.entry,
    ],
    {
      error: (issue) =>
        issue.code === 'invalid_union' && isRecord(issue.input)
          ? `must be one of ${Object.keys(KINDS).join(', ')}: other kinds are not supported by this version`
          : undefined,
    },
  )
  .meta({ id: 'ObservabilityProvider' });
export type ObservabilityProvider = z.infer<typeof ObservabilityProvider>;

/** `observability` of the engine's configuration: a list, although it may be written as one provider. */
export const ObservabilityConfig = z.preprocess((value) => {
  if (value === null || value === undefined) return [];
  const providers = camelise(value);
  return (Array.isArray(providers) ? providers : [providers]).map((entry) =>
    // One that is switched off need not say more.
    stampProvider(isRecord(entry) && entry.enabled === false ? { config: {}, ...entry } : entry),
  );
}, z.array(ObservabilityProvider).max(20));

/**
 * Fills in what older clients leave out of an entry: the first kind there was, and the kind's name in the configuration
 * too. `project_id` is what they call Google's project.
 *
 * @param entry in camelCase.
 */
export function stampProvider(entry: unknown): unknown {
  if (!isRecord(entry)) return entry;
  const { provider = 'LANGFUSE', config } = entry;
  if (!isRecord(config)) return { ...entry, provider, config };
  const { projectId, ...rest } = config;
  const isGoogle = typeof provider === 'string' && provider.startsWith('GCP_') && projectId !== undefined;
  return { ...entry, provider, config: { provider, ...(isGoogle ? { gcpProjectId: projectId } : {}), ...rest } };
}

/** Makes ready to send to a provider; see {@link Destination}. @throws when a package cannot be loaded. */
export async function openDestination(entry: ObservabilityProvider, ports: ExporterPorts): Promise<Destination> {
  const { open } = KINDS[entry.provider];
  return open(entry.config as never, ports);
}
