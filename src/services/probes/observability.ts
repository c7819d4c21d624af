import { googleEnvironment } from '../../engine/observability/define.ts';
import { DeliveryFault } from '../../engine/observability/delivery-fault.ts';
import { ObservabilityProvider, openDestination } from '../../engine/observability/index.ts';
import { LANGSMITH_HOST } from '../../engine/observability/langsmith.ts';
import { postSpans } from '../../engine/observability/post.ts';
import { exchange } from '../../outbound/exchange.ts';
import { ConnectionFailure } from '../../outbound/failure.ts';
import type { Targets } from '../../outbound/targets.ts';
import { packageVersion } from '../../package-info.ts';
import type { ConnectionCheck } from './connection-check.ts';
import { runProbe, type Variables } from './run-probe.ts';

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
    run: (entry, signal) => check(entry, { targets, signal, variables }),
  });
}

function isEnabled(entry: unknown): boolean {
  return (entry as { enabled?: unknown } | null | undefined)?.enabled !== false;
}

/** How it is asked. */
interface Asking {
  targets: Targets;
  signal: AbortSignal;
  variables: Variables;
}

async function check(entry: ObservabilityProvider, asking: Asking): Promise<Record<string, unknown>> {
  const { provider } = entry;
  if (entry.provider === 'GCP_LOGGING' || entry.provider === 'GCP_TRACE') {
    const { credentialsFile, metadataHost } = googleEnvironment(asking.variables);
    if (entry.config.gcpProjectId.trim() === '') throw new ConnectionFailure('gcpProjectId: is not set');
    if (credentialsFile !== undefined || metadataHost !== undefined) {
      return { provider, ...(await tryIngest(entry, asking)) };
    }
    const note =
      'Only the project id was checked: GOOGLE_APPLICATION_CREDENTIALS is not set, so no connection was made.';
    return { provider, note };
  }
  const [name, address] = addressOf(entry);
  // Whether there is a server at all (contract), and then whether it takes spans with these credentials.
  const status = await statusOf(name, address, asking);
  return { provider, status, ...(await tryIngest(entry, asking)) };
}

function addressOf(entry: Exclude<ObservabilityProvider, { provider: 'GCP_LOGGING' | 'GCP_TRACE' }>): [string, string] {
  switch (entry.provider) {
    case 'LANGFUSE':
      return ['host', entry.config.host];
    case 'PHOENIX':
      return ['collectorEndpoint', entry.config.collectorEndpoint];
    case 'LANGSMITH':
      return ['endpoint', entry.config.endpoint || LANGSMITH_HOST];
    case 'OTLP':
      return ['endpoint', entry.config.endpoint];
  }
}

/** @throws ConnectionFailure when the address does not answer, or answers that it is broken. */
async function statusOf(name: string, address: string, asking: Asking): Promise<number> {
  if (address.trim() === '') throw new ConnectionFailure(`${name}: is not set`);
  const url = new URL(address);
  let status = await ask(url, 'HEAD', asking);
  // Some know only GET.
  if (status >= 400) status = await ask(url, 'GET', asking);
  if (status >= 500) throw new ConnectionFailure(`The server answers with status ${status}`);
  return status;
}

async function ask(url: URL, method: 'HEAD' | 'GET', { targets, signal }: Asking): Promise<number> {
  const response = await exchange(url, { method, targets, signal });
  response.on('error', () => {});
  response.destroy();
  return response.statusCode ?? 0;
}

/**
 * Sends an empty request to where spans go.
 *
 * @throws DeliveryFault when spans would not be taken there: the credentials are refused, or the place is none.
 */
async function tryIngest(
  entry: ObservabilityProvider,
  { targets, signal, variables }: Asking,
): Promise<{ ingest: number; note?: string }> {
  const google = googleEnvironment(variables);
  const ports = { targets, serviceName: 'check', serviceVersion: packageVersion, google };
  const destination = await openDestination(entry, ports);
  try {
    const { status } = await postSpans(destination, [], targets, signal);
    return { ingest: status };
  } catch (error) {
    if (!(error instanceof DeliveryFault) || error.status === undefined || !UNDECIDED.has(error.status)) throw error;
    const note =
      'The server was reached and refused no credentials, but it did not take the empty request of this check.';
    return { ingest: error.status, note };
  }
}

/** Answers that say nothing of whether spans would be taken. */
const UNDECIDED: ReadonlySet<number> = new Set([400, 408, 413, 415, 422, 429]);
