import type { z } from 'zod';
import { exchange } from '../../outbound/exchange.ts';
import type { Targets } from '../../outbound/targets.ts';
import { ObservabilityProvider } from '../resources/observability.ts';
import type { ConnectionCheck } from './connection-check.ts';
import { ProbeFailure } from './failure.ts';
import { runProbe, type Variables } from './run-probe.ts';

type Provider = z.infer<typeof ObservabilityProvider>;

const LANGSMITH_HOST = 'https://api.smith.langchain.com';

/** Whether spans can be sent where a provider, or the first enabled one of a list, says. */
export async function probeObservability(
  providers: unknown,
  { variables, targets }: { variables: Variables; targets: Targets },
): Promise<ConnectionCheck> {
  const list: unknown[] = Array.isArray(providers) ? providers : [providers];
  const chosen = list.findIndex(isEnabled);
  if (chosen < 0) {
    const provider = (list[0] as { provider?: unknown } | undefined)?.provider ?? null;
    const note = list.length === 0 ? 'No provider is configured.' : 'It is disabled; no connection was made.';
    return { ok: true, details: { provider, note }, error: null };
  }
  return runProbe(list[chosen], variables, {
    schema: ObservabilityProvider,
    run: (entry, signal) => check(entry, { targets, signal }),
  });
}

function isEnabled(entry: unknown): boolean {
  return (entry as { enabled?: unknown } | null | undefined)?.enabled !== false;
}

/** How it is asked. */
interface Asking {
  targets: Targets;
  signal: AbortSignal;
}

async function check(entry: Provider, asking: Asking): Promise<Record<string, unknown>> {
  const { provider } = entry;
  switch (entry.provider) {
    case 'LANGFUSE':
      return { provider, status: await statusOf('host', entry.config.host, asking) };
    case 'PHOENIX':
      return { provider, status: await statusOf('collectorEndpoint', entry.config.collectorEndpoint, asking) };
    case 'LANGSMITH':
      return { provider, status: await statusOf('endpoint', entry.config.endpoint || LANGSMITH_HOST, asking) };
    case 'GCP_LOGGING':
    case 'GCP_TRACE':
      if (entry.config.gcpProjectId.trim() === '') throw new ProbeFailure('gcpProjectId: is not set');
      return { provider, note: 'Only the project id was checked; no connection was made.' };
  }
}

/** @throws ProbeFailure when the address does not answer, or answers that it is broken. */
async function statusOf(name: string, address: string, asking: Asking): Promise<number> {
  if (address.trim() === '') throw new ProbeFailure(`${name}: is not set`);
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new ProbeFailure(`${name}: must be an http or https URL`);
  }
  let status = await ask(url, 'HEAD', asking);
  // Some know only GET.
  if (status >= 400) status = await ask(url, 'GET', asking);
  if (status >= 500) throw new ProbeFailure(`The server answers with status ${status}`);
  return status;
}

async function ask(url: URL, method: 'HEAD' | 'GET', asking: Asking): Promise<number> {
  const response = await exchange(url, { method, ...asking });
  response.on('error', () => {});
  response.destroy();
  return response.statusCode ?? 0;
}
