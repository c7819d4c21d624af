import { type Event, EventType } from '../events.ts';
import { createProjection, type Projection } from './projection.ts';

/** One event of a run as a reader gets it. */
export interface LoggedEvent {
  /** Counts the run's events from 1. A piece that holds several deltas carries the number of the last. */
  id: number;
  /** The event's JSON text. */
  json: string;
}

/** The events of one run in order, so that a reader who was away can go on where it left. */
export interface RunLog {
  /** Number of the last event; 0 for none. */
  readonly last: number;
  /** About how many bytes the log holds. */
  readonly bytes: number;
  /** Whether the log still holds everything after event number `after`. */
  reaches(after: number): boolean;
  /** Adds an event. @returns its number. */
  append(event: Event, json: string): number;
  /** The events after number `after`, where the log reaches that far. */
  after(after: number): Generator<LoggedEvent>;
  /** What the run amounts to by now. */
  project(): Projection;
  /** Makes the log small, for keeping. Nothing more is added after that. */
  seal(): void;
}

interface Whole {
  last: number;
  json: string;
  /** Whether it has no part in a projection. */
  passing: boolean;
}

/** Deltas of one message or call that came one after another. */
interface Deltas {
  first: number;
  last: number;
  /** The event less its delta. */
  head: object;
  type: EventType;
  /** Of the message or the call. */
  id: string;
  /** The deltas, or all of them as one text once no more will come: two objects cost less to keep than hundreds. */
  parts: string[];
  /** Where in that one text each delta ends. */
  ends: number[] | undefined;
}

/** What a kept event costs besides its text. */
const ENTRY_BYTES = 64;
/** What a delta costs besides its text. */
const DELTA_BYTES = 8;

/**
 * Makes an empty log. Deltas that follow each other are kept together, so that any of them can be gone on from and a
 * streamed answer costs little more than its text. When the log outgrows its bound, the
 * oldest events are folded into a projection, which keeps what a newcomer needs and no longer how it came about.
 *
 * @param maxBytes about how large the log may get.
 */
export function createRunLog(maxBytes: number): RunLog {
  // Folded entries leave holes at the beginning, which are cut off now and then, since shifting an array copies it.
  let entries: (Whole | Deltas | undefined)[] = [];
  let first = 0;
  let folded: Projection | undefined;
  let foldedTo = 0;
  let last = 0;
  let bytes = 0;

  const fold = (): void => {
    folded ??= createProjection();
    while (bytes > maxBytes && entries.length - first > 1) {
      const entry = entries[first] as Whole | Deltas;
      applyTo(folded, entry);
      foldedTo = entry.last;
      bytes -= sizeOf(entry);
      entries[first] = undefined;
      first += 1;
    }
    if (first > 1024 && first > entries.length / 2) {
      entries = entries.slice(first);
      first = 0;
    }
  };

  return {
    get last() {
      return last;
    },
    get bytes() {
      return bytes;
    },
    reaches: (after) => after >= foldedTo && after <= last,
    append(event, json) {
      last += 1;
      const id = deltaOf(event);
      const newest = entries[entries.length - 1];
      if (id === undefined) {
        const passing = event.type === EventType.CUSTOM || event.type === EventType.RAW;
        entries.push({ last, json, passing });
        bytes += json.length + ENTRY_BYTES;
      } else {
        const { delta } = event as { delta: string };
        if (newest !== undefined && 'parts' in newest && newest.id === id && newest.type === event.type) {
          newest.parts.push(delta);
          newest.last = last;
        } else {
          const { delta: _, ...head } = event as Event & { delta: string };
          entries.push({ first: last, last, head, type: event.type, id, parts: [delta], ends: undefined });
          bytes += 2 * ENTRY_BYTES;
        }
        bytes += delta.length + DELTA_BYTES;
      }
      if (bytes > maxBytes) fold();
      return last;
    },
    *after(after) {
      let low = first;
      let high = entries.length;
      while (low < high) {
        const middle = (low + high) >>> 1;
        if ((entries[middle] as Whole | Deltas).last <= after) low = middle + 1;
        else high = middle;
      }
      // By index, for a reader may take its time and the log may grow meanwhile.
      const end = entries.length;
      for (let index = low; index < end; index += 1) {
        const entry = entries[index] as Whole | Deltas;
        if ('json' in entry) yield { id: entry.last, json: entry.json };
        else yield { id: entry.last, json: restOf(entry, after) };
      }
    },
    seal() {
      for (const entry of entries) {
        if (entry === undefined || !('parts' in entry) || entry.parts.length === 1) continue;
        let end = 0;
        entry.ends = entry.parts.map((part) => {
          end += part.length;
          return end;
        });
        entry.parts = [entry.parts.join('')];
      }
    },
    project() {
      const projection = folded?.clone() ?? createProjection();
      for (const entry of entries) if (entry !== undefined) applyTo(projection, entry);
      return projection;
    },
  };
}

/** Id of the message or call a plain delta belongs to; undefined for everything that must be kept as it is. */
function deltaOf(event: Event): string | undefined {
  switch (event.type) {
    case EventType.TEXT_MESSAGE_CONTENT:
    case EventType.REASONING_MESSAGE_CONTENT:
      return isPlain(event) ? event.messageId : undefined;
    case EventType.TOOL_CALL_ARGS:
      return isPlain(event) ? event.toolCallId : undefined;
    default:
      return undefined;
  }
}

/** Whether an event holds its type, its id and its delta, and nothing that would get lost beside them. */
function isPlain(event: Event): boolean {
  let count = 0;
  for (const _ in event) count += 1;
  return count === 3;
}

function restOf({ first, head, parts, ends }: Deltas, after: number): string {
  const skip = Math.max(0, after - first + 1);
  const delta =
    ends === undefined ? parts.slice(skip).join('') : (parts[0] ?? '').slice(skip === 0 ? 0 : ends[skip - 1]);
  return JSON.stringify({ ...head, delta });
}

function applyTo(projection: Projection, entry: Whole | Deltas): void {
  if ('parts' in entry) projection.apply({ ...entry.head, delta: entry.parts.join('') } as Event);
  else if (!entry.passing) projection.apply(JSON.parse(entry.json) as Event);
}

function sizeOf(entry: Whole | Deltas): number {
  if ('json' in entry) return entry.json.length + ENTRY_BYTES;
  const text = entry.parts.reduce((length, part) => length + part.length, 0);
  return text + DELTA_BYTES * (entry.last - entry.first + 1) + 2 * ENTRY_BYTES;
}
