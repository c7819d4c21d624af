import { BuildProblem } from '../build-problem.ts';
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
  const open = new Map<string, { delivery: Promise<Delivery>; ready: Delivery | undefined; shares: number }>();

  const start = async (entry: ObservabilityProvider, serviceName: string): Promise<Delivery> => {
    // Loaded by the first exporter there is.
    const { createDelivery } = await import('./delivery.ts');
    const destination = await openDestination(entry, { ...ports, serviceName });
    return createDelivery(entry.provider, destination, ports.targets, log);
  };

  const share = async (key: string, entry: ObservabilityProvider, serviceName: string) => {
    const held = open.get(key) ?? { delivery: start(entry, serviceName), ready: undefined, shares: 0 };
    open.set(key, held);
    held.shares += 1;
    try {
      held.ready = await held.delivery;
    } catch (cause) {
      open.delete(key);
      throw new BuildProblem(`The exporter ${entry.provider} cannot be started.`, { cause });
    }
    return held.ready;
  };

  const release = async (key: string): Promise<void> => {
    const held = open.get(key);
    if (held === undefined) return;
    held.shares -= 1;
    if (held.shares > 0) return;
    open.delete(key);
    await held.ready?.close();
  };

  return {
    async acquire(entries, serviceName) {
      // The same one twice would get every span twice.
      const wanted = new Map(
        entries.filter(({ enabled }) => enabled).map((entry) => [JSON.stringify([entry, serviceName]), entry]),
      );
      const keys: string[] = [];
      const releaseAll = async (): Promise<void> => {
        await Promise.all(keys.splice(0).map(release));
      };
      try {
        const sinks: SpanSink[] = [];
        for (const [key, entry] of wanted) {
          sinks.push(await share(key, entry, serviceName));
          keys.push(key);
        }
        return { sinks, release: releaseAll };
      } catch (error) {
        await releaseAll();
        throw error;
      }
    },
    status: () => [...open.values()].flatMap(({ ready }) => ready?.status() ?? []),
  };
}
