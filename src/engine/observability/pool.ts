import { BuildProblem } from '../build-problem.ts';
import { createSharing } from '../sharing.ts';
import type { SpanSink } from '../tracing/span.ts';
import type { ExporterPorts } from './define.ts';
import type { Delivery, DeliveryLog, ExporterStatus } from './delivery.ts';
import { type ObservabilityProvider, openDestination } from './index.ts';

/** An engine's share in its exporters. */
export interface ExporterShare {
  readonly sinks: readonly SpanSink[];
  /** Gives the share back. An exporter nobody shares any more sends what it has, for five seconds at most. */
  release(): Promise<void>;
}

/** Opens exporters and shares each between the engines that ask for the same one, so that reloads do not touch it. */
export interface ExporterPool {
  /** @param serviceName the agent's. @throws BuildProblem when one cannot be made ready. */
  acquire(entries: readonly ObservabilityProvider[], serviceName: string): Promise<ExporterShare>;
  /** How each exporter in use is doing. */
  status(): ExporterStatus[];
}

/** Makes an empty pool. */
export function createExporterPool(options: Omit<ExporterPorts, 'serviceName'> & { log: DeliveryLog }): ExporterPool {
  const { log, ...ports } = options;
  const deliveries = createSharing<Delivery>();

  const start = async (entry: ObservabilityProvider, serviceName: string): Promise<Delivery> => {
    // Loaded by the first exporter there is.
    const { createDelivery } = await import('./delivery.ts');
    const destination = await openDestination(entry, { ...ports, serviceName });
    return createDelivery(entry.provider, destination, ports.targets, log);
  };

  const share = (key: string, entry: ObservabilityProvider, serviceName: string) =>
    deliveries
      .acquire(key, () => start(entry, serviceName))
      .catch((cause: unknown) => {
        throw new BuildProblem(`The exporter ${entry.provider} cannot be started.`, { cause });
      });

  return {
    async acquire(entries, serviceName) {
      // The same one twice would get every span twice.
      const wanted = new Map(
        entries.filter(({ enabled }) => enabled).map((entry) => [JSON.stringify([entry, serviceName]), entry]),
      );
      const shares: Awaited<ReturnType<typeof share>>[] = [];
      const releaseAll = async (): Promise<void> => {
        await Promise.all(shares.splice(0).map(({ release }) => release()));
      };
      try {
        for (const [key, entry] of wanted) shares.push(await share(key, entry, serviceName));
        return { sinks: shares.map(({ value }) => value), release: releaseAll };
      } catch (error) {
        await releaseAll();
        throw error;
      }
    },
    status: () => deliveries.all.map((delivery) => delivery.status()),
  };
}
