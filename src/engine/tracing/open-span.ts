import type { TextRecorder } from './recorded-text.ts';
import type { AttributeValue, SpanEvent, SpanKind, SpanRecord } from './span.ts';
import { newSpanId } from './trace-context.ts';

/** About what a span takes besides its texts. */
const SPAN_BYTES = 1_024;

/** What the spans of one run share. */
export interface SpanFrame {
  readonly traceId: string;
  /** `session.id`, `user.id` and the like, which readers look for on every span. */
  readonly common: Readonly<Record<string, AttributeValue>>;
  readonly texts: TextRecorder;
  /** Epoch milliseconds, with a fraction. Steady within a run, whatever is done to the clock. */
  now(): number;
  /** Takes a finished span; nothing once the run is over. */
  finished(span: OpenSpan, record: SpanRecord): void;
}

/** A span that has begun. What is recorded on it is turned into text at once, so that nothing of the agent's is held. */
export class OpenSpan {
  readonly id: string;
  readonly name: string;
  readonly kind: SpanKind;
  readonly #frame: SpanFrame;
  readonly #parent: Pick<SpanRecord, 'parentSpanId' | 'remoteParent' | 'traceState'>;
  readonly #startedAt: number;
  readonly #attributes: Record<string, AttributeValue>;
  readonly #events: SpanEvent[] = [];
  #bytes = SPAN_BYTES;
  #ended = false;

  constructor(
    frame: SpanFrame,
    name: string,
    kind: SpanKind,
    parent: Pick<SpanRecord, 'parentSpanId' | 'remoteParent' | 'traceState'>,
    startedAt = frame.now(),
  ) {
    this.id = newSpanId();
    this.name = name;
    this.kind = kind;
    this.#frame = frame;
    this.#parent = parent;
    this.#startedAt = startedAt;
    this.#attributes = { 'openinference.span.kind': kind, ...frame.common };
  }

  get startedAt(): number {
    return this.#startedAt;
  }

  /** Notes something of a known shape; undefined is left out. */
  set(name: string, value: AttributeValue | undefined): this {
    if (value !== undefined) this.#attributes[name] = value;
    return this;
  }

  /** Notes a text from outside: cut, and without secrets. */
  setText(name: string, text: string | undefined): this {
    if (text === undefined) return this;
    const value = this.#frame.texts.text(text);
    this.#bytes += value.length;
    return this.set(name, value);
  }

  /** Notes any value as JSON, or as it is when it is a text. */
  setValue(name: string, value: unknown, view?: (value: object) => unknown): this {
    const { text } = this.#frame.texts.value(value, view);
    this.#bytes += text.length;
    return this.set(name, text);
  }

  /** Notes what the span began with. */
  input(value: unknown, view?: (value: object) => unknown): this {
    return this.#io('input', value, view);
  }

  /** Notes what came of it. */
  output(value: unknown, view?: (value: object) => unknown): this {
    return this.#io('output', value, view);
  }

  event(name: string, attributes: SpanEvent['attributes'] = {}): this {
    this.#events.push({ name, at: this.#frame.now(), attributes });
    return this;
  }

  /** Ends the span with a fault. @param message in words that may be shown: nothing of an exception's own. */
  fail(type: string, message: string): void {
    this.set('error.type', type).event('exception', { 'exception.type': type, 'exception.message': message });
    this.end('error', message);
  }

  /** Ends the span. Only the first end counts. */
  end(status: SpanRecord['status'] = 'ok', statusMessage?: string, endedAt = this.#frame.now()): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#frame.finished(this, {
      traceId: this.#frame.traceId,
      spanId: this.id,
      ...this.#parent,
      name: this.name,
      kind: this.kind,
      startedAt: this.#startedAt,
      endedAt,
      status,
      statusMessage,
      attributes: this.#attributes,
      events: this.#events,
      bytes: this.#bytes,
    });
  }

  #io(side: 'input' | 'output', value: unknown, view: ((value: object) => unknown) | undefined): this {
    if (value === undefined) return this;
    const { text, mime } = this.#frame.texts.value(value, view);
    this.#bytes += text.length;
    return this.set(`${side}.value`, text).set(`${side}.mime_type`, mime);
  }
}
