import type { LiveThread, ThreadPosition } from '../../engine/agent.ts';
import { type Event, EventType, type Message, type RunAgentInput } from '../../engine/events.ts';
import type { GuardrailCheck } from '../../engine/guardrails/index.ts';
import type { RunResult } from '../../engine/run.ts';
import { createRunLog, type RunLog } from '../../engine/run-log/log.ts';
import type { Upstream } from '../../engine/tracing/trace-context.ts';
import type { RunRow } from '../../store/run-store.ts';
import { createDeferred } from './deferred.ts';
import { digestOf } from './run-digest.ts';

/**
 * Takes a run's events as JSON texts, in order. `id` is where to go on after this one; undefined within a snapshot,
 * which is only of use whole. Must not throw.
 */
export type RunReader = (json: string, id: number | undefined) => void;

/** A reader's hold on what it reads. */
export interface Reading {
  /** Resolves when everything has been told. Never rejects. */
  readonly done: Promise<void>;
  /** Stops telling the reader. `lost` when its connection went, as against a reader that has had enough. */
  detach(lost: boolean): void;
}

/** A run in memory: waiting, under way, or over and still kept for readers that come back. */
export class LiveRun {
  readonly threadId: string;
  readonly runId: string;
  /** Whose it is, as the store writes it. */
  readonly userId: string;
  /** Tells what it was asked from what another was asked. */
  readonly digest: string;
  /** Stops the run; see `runAgent`. */
  readonly controller = new AbortController();
  /**
   * Resolves when the run may be read; with its row when it turns out to be one of long ago. Rejects with the Problem
   * it was refused with.
   */
  readonly admitted = createDeferred<RunRow | undefined>();
  /** The caller's own trace, of which the run becomes a part. */
  readonly upstream: Upstream | undefined;
  /** What the guardrails said of it. */
  readonly checks: GuardrailCheck[] = [];
  /** Where its thread stands. */
  position: ThreadPosition = { head: null, cut: false };
  /** Whether it had to wait before it could begin. */
  waited = false;
  /** Whether it came to take the thread from another run. */
  takeover = false;
  /** Whether it has its place: it runs, waits, or was refused. */
  entered = false;
  /** Whether the agent was or is being asked; a run that was not can be taken back without trace. */
  begun = false;
  /** Whether what it did is to be forgotten when it has ended. */
  undo = false;
  readonly #ended = createDeferred<RunResult>();
  readonly #readable = createDeferred<void>();
  readonly #readers = new Set<RunReader>();
  readonly #log: RunLog;
  #input: RunAgentInput | undefined;
  #thread: LiveThread | undefined;
  #base: { messages: Message[]; state: Record<string, unknown> } | undefined;
  #terminal: { event: Event; json: string } | undefined;
  #over = false;
  #joining = 0;

  constructor(input: RunAgentInput, userId: string, maxLogBytes: number, upstream?: Upstream) {
    this.upstream = upstream;
    this.userId = userId;
    this.digest = digestOf(input);
    this.threadId = input.threadId;
    this.runId = input.runId;
    this.#input = input;
    this.#log = createRunLog(maxLogBytes);
    this.admitted.promise.catch(() => undefined);
  }

  /** How the run ended. Resolves once its last event has been told and its end has been stored. Never rejects. */
  get ended(): Promise<RunResult> {
    return this.#ended.promise;
  }

  /** What the run was asked; gone once it is over. */
  get input(): RunAgentInput {
    if (this.#input === undefined) throw new Error('the run is over');
    return this.#input;
  }

  /** The thread the agent has read, if it has come to that. */
  get thread(): LiveThread | undefined {
    return this.#thread;
  }

  get over(): boolean {
    return this.#over;
  }

  /** How many read it, or wait to. */
  get readers(): number {
    return this.#readers.size + this.#joining;
  }

  /** About how many bytes the run takes while it is kept. */
  get bytes(): number {
    return this.#log.bytes;
  }

  /** Takes the agent's hold on the thread. */
  attach(thread: LiveThread): void {
    this.#thread = thread;
    this.#readable.resolve();
  }

  /**
   * Takes the run's next event. The last one is held back until {@link settle}, so that whoever reads of the end finds
   * it stored and the thread free.
   */
  deliver(event: Event, json: string): void {
    if (event.type === EventType.RUN_FINISHED || event.type === EventType.RUN_ERROR) this.#terminal = { event, json };
    else this.#publish(event, json);
  }

  /** Tells the end, and lets go of all but the log. */
  settle(result: RunResult): void {
    if (!this.#log.reaches(0)) this.#base = this.#now();
    if (this.#terminal !== undefined) this.#publish(this.#terminal.event, this.#terminal.json);
    this.#over = true;
    this.#log.seal();
    this.#readers.clear();
    this.#thread = undefined;
    this.#input = undefined;
    this.#terminal = undefined;
    this.#readable.resolve();
    this.#ended.resolve(result);
  }

  /** Tells `reader` what comes after event number `after`, then what happens; from a snapshot on where that is gone. */
  follow(reader: RunReader, after = 0): Reading {
    if (!this.#log.reaches(after)) return this.join(reader);
    for (const { json, id } of this.#log.after(after)) reader(json, id);
    return this.#listen(reader);
  }

  /** Tells `reader` how things stand, then what happens. */
  join(reader: RunReader): Reading {
    let detached = false;
    let reading: Reading | undefined;
    this.#joining += 1;
    const joined = this.#readable.promise.then(() => {
      if (detached) return undefined;
      this.#joining -= 1;
      const events = this.#encode(this.#log.project().catchUp(this.#base ?? this.#now()));
      events.forEach((json, index) => {
        reader(json, index === events.length - 1 ? this.#log.last : undefined);
      });
      reading = this.#listen(reader);
      return reading.done;
    });
    return {
      done: joined,
      detach: (lost) => {
        if (reading === undefined && !detached) this.#joining -= 1;
        detached = true;
        reading?.detach(lost);
      },
    };
  }

  #listen(reader: RunReader): Reading {
    if (!this.#over) this.#readers.add(reader);
    return {
      done: this.ended.then(() => undefined),
      detach: () => void this.#readers.delete(reader),
    };
  }

  #publish(event: Event, json: string): void {
    const id = this.#log.append(event, json);
    for (const reader of this.#readers) reader(json, id);
  }

  /** The conversation and the state as the agent has them. What cannot be shown is left out: a snapshot is a courtesy. */
  #now(): { messages: Message[]; state: Record<string, unknown> } | undefined {
    const thread = this.#thread;
    if (thread === undefined) return undefined;
    return { messages: thread.messages() ?? this.input.messages, state: thread.state() };
  }

  #encode(events: Event[]): string[] {
    return events.flatMap((event) => {
      try {
        return [JSON.stringify(event)];
      } catch {
        return [];
      }
    });
  }
}
