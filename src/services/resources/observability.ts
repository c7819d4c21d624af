import { z } from 'zod';
import { ObservabilityProvider } from '../../engine/observability/index.ts';
import { defineSingleton } from './define.ts';

/** Where spans go (admin contract, section 7). */
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
