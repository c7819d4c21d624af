import type { Scrubber } from './scrub.ts';

/** What is put behind a text that was cut. */
const CUT = '… [cut]';
const CUT_BYTES = Buffer.byteLength(CUT);

/** How much more is read than is kept, so that a secret at the cut is still seen whole. */
const MARGIN = 4_096;

/** Deepest nesting that is written out. */
const MAX_DEPTH = 32;

/** From this length on a text that is not for reading, such as a picture's bytes, is named and not written. */
const BLOB_LENGTH = 1_024;

/** A value as a span has it. */
export interface RecordedText {
  text: string;
  mime: 'text/plain' | 'application/json';
}

/** Makes the texts of spans: JSON or plain, without secrets, and never longer than the limit. */
export interface TextRecorder {
  /**
   * A value as text. What it costs is bounded by the limit, not by the value: writing stops when enough is written.
   *
   * @param view gives another form of an object that would be written out badly by itself.
   */
  value(value: unknown, view?: (value: object) => unknown): RecordedText;
  /** A text without secrets, cut. */
  text(text: string): string;
}

/** Makes the recorder. @param maxBytes longest text, its mark of a cut included. */
export function createTextRecorder(maxBytes: number, scrubber: Scrubber): TextRecorder {
  const text = (raw: string): string => {
    const read = raw.length > maxBytes + MARGIN ? raw.slice(0, maxBytes + MARGIN) : raw;
    return cut(scrubber.text(read), maxBytes, read.length < raw.length);
  };
  return {
    text,
    value(value, view) {
      if (typeof value === 'string') return { text: text(value), mime: 'text/plain' };
      const writer = new JsonWriter(maxBytes + MARGIN, scrubber, view);
      writer.write(value, 0, undefined);
      return { text: cut(scrubber.text(writer.text, true), maxBytes, writer.left <= 0), mime: 'application/json' };
    },
  };
}

/** Cuts a text by bytes, between characters, and says so. */
function cut(text: string, maxBytes: number, incomplete: boolean): string {
  // No character of a string takes more than three bytes.
  if (!incomplete && (text.length * 3 <= maxBytes || Buffer.byteLength(text) <= maxBytes)) return text;
  const bytes = Buffer.from(text);
  let end = Math.min(bytes.length, Math.max(0, maxBytes - CUT_BYTES));
  while (end > 0 && end < bytes.length && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.toString('utf8', 0, end) + CUT;
}

/** Writes JSON until its budget is spent. Never throws, and calls nothing of the value's but `toJSON` and getters. */
class JsonWriter {
  text = '';
  /** Characters that may still be written. */
  left: number;
  readonly #scrubber: Scrubber;
  readonly #view: ((value: object) => unknown) | undefined;
  readonly #open: object[] = [];

  constructor(budget: number, scrubber: Scrubber, view: ((value: object) => unknown) | undefined) {
    this.left = budget;
    this.#scrubber = scrubber;
    this.#view = view;
  }

  /** @param name under which the value stands. */
  write(value: unknown, depth: number, name: string | undefined): void {
    if (this.left <= 0) return;
    switch (typeof value) {
      case 'string':
        if (name !== undefined && value !== '' && this.#scrubber.isSecret(name)) return this.#put(MASKED);
        return this.#string(value);
      case 'number':
        // A password may be one; small numbers are settings and counts.
        if (name !== undefined && value >= 10_000 && this.#scrubber.isSecret(name)) return this.#put(MASKED);
        return this.#put(Number.isFinite(value) ? String(value) : 'null');
      case 'boolean':
        return this.#put(value ? 'true' : 'false');
      case 'bigint':
        return this.#put(`"${value}"`);
      case 'object':
        if (value === null) return this.#put('null');
        return this.#object(value, depth, name);
      default:
        return this.#put('null');
    }
  }

  #object(given: object, depth: number, name: string | undefined): void {
    if (this.#open.includes(given)) return this.#put('"[Circular]"');
    if (depth >= MAX_DEPTH) return this.#put('"[too deep]"');
    if (ArrayBuffer.isView(given)) return this.#put(`"[${given.byteLength} bytes]"`);
    const value = attempt(() => {
      const seen = this.#view?.(given) ?? given;
      return seen === given && 'toJSON' in given && typeof given.toJSON === 'function' ? given.toJSON() : seen;
    });
    this.#open.push(given);
    if (typeof value !== 'object' || value === null) this.write(value, depth, name);
    else if (Array.isArray(value)) this.#list(value, depth, name);
    else if (value instanceof Map || value instanceof Set) this.#list([...value], depth, name);
    else this.#members(value, depth, name);
    this.#open.pop();
  }

  #list(list: readonly unknown[], depth: number, name: string | undefined): void {
    this.#put('[');
    for (let index = 0; index < list.length && this.left > 0; index += 1) {
      if (index > 0) this.#put(',');
      this.write(list[index], depth + 1, name);
    }
    this.#put(']');
  }

  #members(record: object, depth: number, outer: string | undefined): void {
    // What stands under a secret's name is secret all through.
    const inherited = outer !== undefined && this.#scrubber.isSecret(outer) ? outer : undefined;
    this.#put('{');
    let first = true;
    for (const key in record) {
      if (this.left <= 0) break;
      if (!Object.hasOwn(record, key)) continue;
      const value = attempt(() => (record as Record<string, unknown>)[key]);
      if (value === undefined || typeof value === 'function' || typeof value === 'symbol') continue;
      if (!first) this.#put(',');
      first = false;
      this.#put(`${JSON.stringify(key)}:`);
      this.write(value, depth + 1, inherited ?? key);
    }
    this.#put('}');
  }

  #string(value: string): void {
    if (value.length > BLOB_LENGTH && isBlob(value)) return this.#put(`"[${value.length} characters of data]"`);
    this.#put(JSON.stringify(value.length > this.left ? value.slice(0, this.left) : value));
  }

  #put(text: string): void {
    this.text += text;
    this.left -= text.length;
  }
}

const MASKED = '"***"';

/** What code of the value's own gives, which may be none. */
function attempt(read: () => unknown): unknown {
  try {
    return read();
  } catch {
    return '[unreadable]';
  }
}

/** Whether a long text is bytes in letters: a data URL, or base64. */
function isBlob(text: string): boolean {
  return /^data:[^,]{0,100};base64,/.test(text) || /^[A-Za-z0-9+/_-]{512}/.test(text);
}
