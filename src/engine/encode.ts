import { configure } from 'safe-stable-stringify';

const stringify = configure({ deterministic: false, circularValue: '[Circular]', bigint: true });

/** JSON text of any value at all: cycles are named, functions left out, and what refuses to be encoded says so in words. */
export function encodeAnything(value: unknown): string {
  try {
    return stringify(value) ?? '';
  } catch {
    return '"[This value cannot be shown as JSON]"';
  }
}

/** A result as text: strings as they are, everything else as JSON. */
export function asText(value: unknown): string {
  return typeof value === 'string' ? value : encodeAnything(value);
}

/** Whether `value` is an object that is neither an array nor null. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
