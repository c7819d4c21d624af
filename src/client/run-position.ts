import { type BaseEvent, EventType } from '@ag-ui/client';
import { ProtocolError } from './errors.ts';
import { OpenEntities } from './open-entities.ts';
import { reconcile } from './restart.ts';

/** How far a run has been received, over all connections it took. */
export class RunPosition {
  /** The run, once its RUN_STARTED was forwarded. */
  runId: string | undefined;
  /** Number of the last frame that was forwarded. */
  lastId: number | undefined;
  /** Whether the run's last event was forwarded. */
  ended = false;
  readonly #open = new OpenEntities();
  /** The beginning of a stream that starts with snapshots: all or nothing, since only its end has a number. */
  #prefix: BaseEvent[] | undefined;

  /** Whether the run's RUN_STARTED was forwarded. */
  get started(): boolean {
    return this.runId !== undefined;
  }

  /** A new connection begins; what the last one left unfinished is dropped. */
  reconnected(): void {
    this.#prefix = undefined;
  }

  /** Takes a frame and gives the events to forward for it. */
  accept(id: number | undefined, data: string): BaseEvent[] {
    if (this.ended) return [];
    const event = parseEvent(data);
    const last = event.type === EventType.RUN_FINISHED || event.type === EventType.RUN_ERROR;
    if (this.#prefix === undefined) {
      if (id !== undefined && this.lastId !== undefined && id <= this.lastId) return [];
      const anew = event.type === EventType.RUN_STARTED && (id === undefined || this.started);
      if (!anew) return this.#forward([event], id);
      this.#prefix = [];
    }
    this.#prefix.push(event);
    if (id === undefined && !last) return [];
    const prefix = this.#prefix;
    this.#prefix = undefined;
    return this.#forward(this.started ? reconcile(prefix, this.#open) : prefix, id);
  }

  #forward(events: BaseEvent[], id: number | undefined): BaseEvent[] {
    this.lastId = id ?? this.lastId;
    for (const event of events) {
      this.#open.note(event);
      if (event.type === EventType.RUN_STARTED) this.runId = String(event.runId);
      if (event.type === EventType.RUN_FINISHED || event.type === EventType.RUN_ERROR) this.ended = true;
    }
    return events;
  }
}

function parseEvent(data: string): BaseEvent {
  let event: unknown;
  try {
    event = JSON.parse(data);
  } catch (cause) {
    throw new ProtocolError('A frame of the stream is not JSON.', { cause });
  }
  if (typeof (event as { type?: unknown } | null)?.type === 'string') return event as BaseEvent;
  throw new ProtocolError('A frame of the stream carries no event.');
}
