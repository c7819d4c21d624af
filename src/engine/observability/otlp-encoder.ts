import type { ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import type { AttributeValue, SpanRecord } from '../tracing/span.ts';

type ReadableSpan = Parameters<typeof ProtobufTraceSerializer.serializeRequest>[0][number];

/** How a provider likes its spans. */
export interface SpanDress {
  /** Of the process, beside the name and version of the service. */
  resource?: Readonly<Record<string, string>>;
  /** What is added to a span's attributes. */
  attributes?(span: SpanRecord): Readonly<Record<string, AttributeValue>>;
  /** What a span is called; its own name by default. */
  name?(span: SpanRecord): string;
}

/** An export request without spans: one resource, of which nothing is said. An empty body is refused by some. */
const NOTHING = new Uint8Array([0x0a, 0x00]);

const STATUS = { unset: 0, ok: 1, error: 2 } as const;
const INTERNAL = 0;
const SERVER = 1;
const CLIENT = 2;
const SAMPLED = 1;

/** Makes spans into requests of OTLP over HTTP. OpenTelemetry is loaded here, by the first exporter there is. */
export async function createOtlpEncoder(
  service: { serviceName: string; serviceVersion: string },
  dress: SpanDress = {},
): Promise<(spans: readonly SpanRecord[]) => Uint8Array> {
  const { ProtobufTraceSerializer: serializer } = await import('@opentelemetry/otlp-transformer');
  const attributes = {
    'service.name': service.serviceName,
    'service.version': service.serviceVersion,
    ...dress.resource,
  };
  const resource = { attributes };
  const scope = { name: 'agent-engine-server', version: service.serviceVersion };
  return (spans) => {
    if (spans.length === 0) return NOTHING;
    // The resource is one object for all, by which the serializer tells what belongs together.
    const readable = spans.map((span) => new ReadableView(span, dress, resource, scope) as unknown as ReadableSpan);
    return serializer.serializeRequest(readable) ?? NOTHING;
  };
}

/** Whether a span is the one of a whole run. */
export function isRoot(span: SpanRecord): boolean {
  return span.parentSpanId === undefined || span.remoteParent;
}

/** A span as OpenTelemetry's serializer reads one. A class, since thousands are made and all of one shape. */
class ReadableView {
  readonly name: string;
  readonly kind: number;
  readonly parentSpanContext: object | undefined;
  readonly startTime: [number, number];
  readonly endTime: [number, number];
  readonly status: { code: number; message: string };
  readonly attributes: SpanRecord['attributes'];
  readonly events: object[];
  readonly links: object[] = [];
  readonly resource: object;
  readonly instrumentationScope: object;
  readonly droppedAttributesCount = 0;
  readonly droppedEventsCount = 0;
  readonly droppedLinksCount = 0;
  readonly #context: object;

  constructor(span: SpanRecord, dress: SpanDress, resource: object, scope: object) {
    const { traceId, spanId, parentSpanId, remoteParent: isRemote, traceState } = span;
    const more = dress.attributes?.(span);
    const state = traceState === undefined ? undefined : { serialize: () => traceState };
    this.#context = { traceId, spanId, traceFlags: SAMPLED, traceState: state };
    this.parentSpanContext =
      parentSpanId === undefined ? undefined : { traceId, spanId: parentSpanId, traceFlags: SAMPLED, isRemote };
    this.name = dress.name?.(span) ?? span.name;
    this.kind = span.kind === 'LLM' ? CLIENT : isRoot(span) ? SERVER : INTERNAL;
    this.startTime = hrTime(span.startedAt);
    this.endTime = hrTime(span.endedAt);
    this.status = { code: STATUS[span.status], message: span.statusMessage ?? '' };
    this.attributes = more === undefined ? span.attributes : { ...span.attributes, ...more };
    this.events = span.events.map(({ name, at, attributes }) => ({ name, time: hrTime(at), attributes }));
    this.resource = resource;
    this.instrumentationScope = scope;
  }

  spanContext(): object {
    return this.#context;
  }
}

/** Milliseconds as whole seconds and nanoseconds. */
function hrTime(ms: number): [number, number] {
  const seconds = Math.floor(ms / 1_000);
  return [seconds, Math.min(999_999_999, Math.round((ms - seconds * 1_000) * 1e6))];
}
