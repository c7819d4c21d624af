import { z } from 'zod';
import { defineSingleton } from './define.ts';

const text = (fallback = '') => z.string().max(2_000).default(fallback);
const secret = () => text().meta({ secret: true });

/** A provider with its configuration, which carries the provider's name again. */
function provider<const Name extends string, Shape extends z.ZodRawShape>(name: Name, shape: Shape) {
  return z.object({
    provider: z.literal(name),
    enabled: z.boolean().default(true),
    config: z.object({ provider: z.literal(name).default(name as never), ...shape }),
  });
}

/** Where spans go (admin contract, section 7). */
export const ObservabilityProvider = z
  .discriminatedUnion('provider', [
    provider('LANGFUSE', {
      host: text('https://cloud.langfuse.com'),
      publicKey: text(),
      secretKey: secret(),
      runName: text(),
    }),
    provider('PHOENIX', { collectorEndpoint: text('https://collector.phoenix.com'), projectName: text() }),
    provider('GCP_LOGGING', {
      gcpProjectId: text(),
      region: text(),
      logName: text(),
      resourceType: text(),
      severity: text('INFO'),
      transport: text('BackgroundThread'),
    }),
    provider('GCP_TRACE', {
      gcpProjectId: text(),
      region: text(),
      traceName: text(),
      samplingRate: z.number().min(0).max(1).default(1),
      flushInterval: z.int().min(0).default(5),
      ignoreUrls: text(),
    }),
    provider('LANGSMITH', { apiKey: secret(), projectName: text(), endpoint: text(), runName: text() }),
  ])
  .meta({ id: 'ObservabilityProvider' });

export const observability = defineSingleton({
  name: 'observability',
  title: 'observability configuration',
  example: {
    observability: {
      provider: 'PHOENIX',
      enabled: false,
      config: { provider: 'PHOENIX', collectorEndpoint: 'http://127.0.0.1:6006', projectName: 'desk' },
    },
  },
  tag: 'Observability',
  required: ['observability'],
  data: z.object({
    // One or several, answered as it was last written.
    observability: z.union([ObservabilityProvider, z.array(ObservabilityProvider).max(20)]),
  }),
});
