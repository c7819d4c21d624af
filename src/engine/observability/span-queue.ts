import type { SpanRecord } from '../tracing/span.ts';

/** Most spans that wait (runtime contract, section 14). */
const MAX_SPANS = 8_192;

/** About how much memory they may take. Exporters share the spans, so several do not take several times as much. */
const MAX_BYTES = 67_108_864;

/** Spans that wait to be sent. When there are too many the oldest go, and are counted. */
export class SpanQueue {
  #spans: SpanRecord[] = [];
  #bytes = 0;
  #dropped = 0;

  get length(): number {
    return this.#spans.length;
  }

  /** How many were given up so far. */
  get dropped(): number {
    return this.#dropped;
  }

  add(span: SpanRecord): void {
    this.#spans.push(span);
    this.#bytes += span.bytes;
    this.#trim();
  }

  /** Counts one that comes too late. */
  refuse(): void {
    this.#dropped += 1;
  }

  /** Takes the oldest: at least one, at most so many, and no more than about so many bytes. */
  take(maxSpans: number, maxBytes: number): SpanRecord[] {
    let count = 0;
    let bytes = 0;
    for (const span of this.#spans) {
      if (count >= maxSpans || (count > 0 && bytes + span.bytes > maxBytes)) break;
      count += 1;
      bytes += span.bytes;
    }
    this.#bytes -= bytes;
    return this.#spans.splice(0, count);
  }

  /** Puts back, at the front, what could not be sent. */
  putBack(spans: readonly SpanRecord[]): void {
    this.#spans = [...spans, ...this.#spans];
    for (const span of spans) this.#bytes += span.bytes;
    this.#trim();
  }

  /** Gives up everything. @returns how many that were. */
  clear(): number {
    const left = this.#spans.length;
    this.#dropped += left;
    this.#spans = [];
    this.#bytes = 0;
    return left;
  }

  #trim(): void {
    while (this.#spans.length > MAX_SPANS || (this.#bytes > MAX_BYTES && this.#spans.length > 1)) {
      this.#bytes -= this.#spans.shift()?.bytes ?? 0;
      this.#dropped += 1;
    }
  }
}
