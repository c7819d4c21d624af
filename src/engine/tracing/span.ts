/** What a span is of (OpenInference's kinds; runtime contract, section 13). */
export type SpanKind = 'AGENT' | 'CHAIN' | 'LLM' | 'TOOL' | 'RETRIEVER' | 'GUARDRAIL';

export type AttributeValue = string | number | boolean | readonly string[];

/** Something that happened within a span. */
export interface SpanEvent {
  readonly name: string;
  /** Epoch milliseconds, with a fraction. */
  readonly at: number;
  readonly attributes: Readonly<Record<string, AttributeValue>>;
}

/**
 * One finished span: plain data, texts already cut and without secrets, nothing of the agent's own held. Never changed
 * once it is given away.
 */
export interface SpanRecord {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  /** Whether the parent is a span of the caller's (W3C trace context). */
  readonly remoteParent: boolean;
  /** The caller's `tracestate`. */
  readonly traceState: string | undefined;
  readonly name: string;
  readonly kind: SpanKind;
  /** Epoch milliseconds, with a fraction. */
  readonly startedAt: number;
  readonly endedAt: number;
  /** `unset` for what was stopped before it could end well or badly. */
  readonly status: 'ok' | 'error' | 'unset';
  /** What went wrong, in words that may be shown. */
  readonly statusMessage: string | undefined;
  readonly attributes: Readonly<Record<string, AttributeValue>>;
  readonly events: readonly SpanEvent[];
  /** About how many bytes the span takes. */
  readonly bytes: number;
}

/** Where finished spans go: an exporter's queue, or a store. */
export interface SpanSink {
  /** Takes a span at once and without waiting. Must not throw. */
  onEnd(span: SpanRecord): void;
}
