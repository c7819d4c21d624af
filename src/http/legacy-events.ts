import { isRecord } from '../engine/encode.ts';
import { type Event, EventType } from '../engine/events.ts';

/** Reasoning events under the names they had before protocol 1.0. */
const THINKING: Partial<Record<EventType, string | undefined>> = {
  [EventType.REASONING_START]: 'THINKING_START',
  [EventType.REASONING_MESSAGE_START]: 'THINKING_TEXT_MESSAGE_START',
  [EventType.REASONING_MESSAGE_CONTENT]: 'THINKING_TEXT_MESSAGE_CONTENT',
  [EventType.REASONING_MESSAGE_END]: 'THINKING_TEXT_MESSAGE_END',
  [EventType.REASONING_END]: 'THINKING_END',
};

/** Event kinds clients of that time do not know, or were never sent. */
const UNKNOWN: ReadonlySet<EventType> = new Set([EventType.REASONING_ENCRYPTED_VALUE, EventType.TOOL_CALL_RESULT]);

/** An event as `POST /agent/stream` sends it: snake_case members, nulls written out; undefined for kinds it never had. */
export function encodeLegacy(event: Event): string | undefined {
  if (UNKNOWN.has(event.type)) return undefined;
  const { type, ...members } = event;
  const legacy: Record<string, unknown> = { type: THINKING[type] ?? type, timestamp: null, raw_event: null };
  for (const [key, value] of Object.entries(members)) {
    // What the agent's state or a custom event holds is the author's and keeps its names.
    legacy[snakeCase(key)] = key === 'messages' ? respell(value) : value;
  }
  return JSON.stringify(legacy);
}

function respell(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(respell);
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [snakeCase(key), respell(entry)]));
}

function snakeCase(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
