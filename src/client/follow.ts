import { type BaseEvent, EventType } from '@ag-ui/client';
import { Observable, type Subscriber } from 'rxjs';
import { ConnectionLostError, errorOf, HttpError, isTransient, ProtocolError } from './errors.ts';
import { readFrames } from './frames.ts';
import { delayBefore, type ReconnectOptions, retryAfterMs, wait } from './reconnect.ts';
import { RunPosition } from './run-position.ts';

/** How long the server may take to end a stream after the run's last event, before the connection is closed. */
const LINGER_MS = 1_000;

/** What there is to follow. */
export interface Following {
  reconnect: Required<ReconnectOptions>;
  /** Ends the stream as `HttpAgent` does when it is aborted. */
  abort: AbortSignal;
  /** The request for the stream from a position on. What it throws is final. */
  request(position: RunPosition): { url: string; init: RequestInit };
  fetch(url: string, init: RequestInit): Promise<Response>;
  /** Whether an answer says, before the first event, that there is nothing to follow. */
  isNothing?(response: Response): boolean;
  /** Called when the stream is subscribed to; what it gives is called when it is left or has ended. */
  onOpen(position: RunPosition): () => void;
}

/** The events of a run over as many connections as it takes. Leaving it leaves the run alone. */
export function follow(following: Following): Observable<BaseEvent> {
  return new Observable((subscriber) => new Follower(following, subscriber).start());
}

class Follower {
  readonly #following: Following;
  readonly #subscriber: Subscriber<BaseEvent>;
  readonly #position = new RunPosition();
  readonly #gone = new AbortController();
  #connection = new AbortController();
  #watchdog: ReturnType<typeof setTimeout> | undefined;
  #attempts = 0;
  #retryAfterMs = 0;

  constructor(following: Following, subscriber: Subscriber<BaseEvent>) {
    this.#following = following;
    this.#subscriber = subscriber;
  }

  /** Begins to follow; what it gives stops it. */
  start(): () => void {
    const { abort, onOpen } = this.#following;
    const close = onOpen(this.#position);
    const onAbort = (): void => this.#aborted();
    if (abort.aborted) onAbort();
    else this.#run().catch((error: unknown) => this.#subscriber.error(error));
    abort.addEventListener('abort', onAbort);
    return () => {
      abort.removeEventListener('abort', onAbort);
      // After the last event the connection is left to end by itself, so that it can be used again.
      if (!this.#position.ended) {
        this.#gone.abort();
        this.#connection.abort();
      }
      close();
    };
  }

  async #run(): Promise<void> {
    const { maxAttempts } = this.#following.reconnect;
    for (;;) {
      const loss = await this.#connect();
      if (loss === undefined || this.#gone.signal.aborted) return;
      if (this.#attempts >= maxAttempts) throw new ConnectionLostError(this.#attempts, loss);
      this.#attempts += 1;
      await wait(delayBefore(this.#attempts, this.#following.reconnect, this.#retryAfterMs), this.#gone.signal);
      if (this.#gone.signal.aborted) return;
      this.#position.reconnected();
    }
  }

  /** Follows over one connection; gives why it was lost, or undefined when there is nothing more to come. */
  async #connect(): Promise<unknown> {
    const { request, fetch, isNothing } = this.#following;
    const { started } = this.#position;
    const { url, init } = request(this.#position);
    this.#connection = new AbortController();
    this.#retryAfterMs = 0;
    const { signal } = this.#connection;
    try {
      this.#watch();
      const response = await fetch(url, { ...init, signal });
      if (!started && isNothing?.(response) === true) {
        this.#connection.abort();
        this.#subscriber.complete();
        return undefined;
      }
      this.#retryAfterMs = retryAfterMs(response);
      await this.#receive(await streamOf(response), signal);
      if (this.#position.ended) return undefined;
      return signal.aborted ? signal.reason : new Error('The stream ended before the run did.');
    } catch (error) {
      if (this.#position.ended || this.#gone.signal.aborted) return undefined;
      const refused = error instanceof HttpError && !started && this.#attempts === 0;
      if (refused || !isTransient(error)) throw error;
      return signal.aborted ? signal.reason : error;
    } finally {
      clearTimeout(this.#watchdog);
    }
  }

  async #receive(body: ReadableStream<Uint8Array>, signal: AbortSignal): Promise<void> {
    for await (const frames of readFrames(body, signal)) {
      if (this.#position.ended) continue;
      for (const { id, data } of frames) {
        if (data === undefined) this.#attempts = 0;
        else this.#deliver(id, data);
      }
      this.#watch();
    }
  }

  /** Gives the connection some more time to show that it is there; after the last event, time to end. */
  #watch(): void {
    clearTimeout(this.#watchdog);
    const { silenceMs } = this.#following.reconnect;
    const ms = this.#position.ended ? LINGER_MS : silenceMs;
    const connection = this.#connection;
    if (ms > 0) {
      this.#watchdog = setTimeout(() => connection.abort(new Error(`The server was silent for ${ms} ms.`)), ms);
    }
  }

  #deliver(id: number | undefined, data: string): void {
    const { lastId } = this.#position;
    const events = this.#position.accept(id, data);
    if (this.#position.lastId !== lastId) this.#attempts = 0;
    for (const event of events) this.#subscriber.next(event);
    if (this.#position.ended) this.#subscriber.complete();
  }

  #aborted(): void {
    const { reason } = this.#following.abort as { reason: unknown };
    const error = reason instanceof Error ? reason : new DOMException(String(reason), 'AbortError');
    if (!this.#position.started) return this.#subscriber.error(error);
    // As HttpAgent tells it.
    this.#subscriber.next({ type: EventType.RUN_ERROR, message: error.message, code: 'abort', rawEvent: error });
    this.#subscriber.complete();
  }
}

/** The stream in an answer. */
async function streamOf(response: Response): Promise<ReadableStream<Uint8Array>> {
  if (!response.ok) throw await errorOf(response);
  const type = response.headers.get('content-type');
  if (type?.includes('text/event-stream') === true && response.body !== null) return response.body;
  await response.body?.cancel();
  throw new ProtocolError(`The answer is no event stream but ${type ?? 'of no type'}.`);
}
