import {
  type AgentSubscriber,
  type BaseEvent,
  enforceOutgoingInput,
  HttpAgent,
  type HttpAgentConfig,
  type RunAgentInput,
  type RunAgentParameters,
  type RunAgentResult,
} from '@ag-ui/client';
import type { Observable } from 'rxjs';
import { cancelQuietly, cancelRun } from './cancel.ts';
import { type Endpoints, endpoints } from './endpoints.ts';
import { type Following, follow } from './follow.ts';
import { completed, type ReconnectOptions } from './reconnect.ts';
import type { RunPosition } from './run-position.ts';
import type { RunRecord } from './run-record.ts';

/** Options of {@link ResumableHttpAgent}, besides those of `HttpAgent`. */
export interface ResumableHttpAgentConfig extends HttpAgentConfig {
  /** What comes before `/agent/…` in the server's addresses. By default what comes before `/agent/run` in `url`. */
  baseUrl?: string;
  /** How hard to try when the connection is lost. */
  reconnect?: ReconnectOptions;
  /** Whether `abortRun()` also asks the server to cancel the run, which would go on otherwise. Default true. */
  cancelOnAbort?: boolean;
}

/** A run this agent follows or has followed. */
interface KnownRun {
  readonly threadId: string;
  readonly position: RunPosition;
  /** Its id, before the server has told it. */
  readonly runId: string | undefined;
}

/**
 * An `HttpAgent` whose runs survive a lost connection: it joins the run again where it was, so that nothing is lost,
 * doubled or reordered. `connectAgent()` shows a thread as it is and follows the run that is at work there.
 *
 * Leaving a run (`detachActiveRun()`, unsubscribing, closing the page) does not stop it; `cancel()` and `abortRun()` do.
 *
 * @example
 * const agent = new ResumableHttpAgent({ url: 'http://127.0.0.1:8000/agent/run', threadId });
 * await agent.connectAgent(); // after a page load
 * agent.addMessage({ id: crypto.randomUUID(), role: 'user', content: 'Hello' });
 * await agent.runAgent();
 */
export class ResumableHttpAgent extends HttpAgent {
  // clone() makes agents without the constructor, which private members of the language would not survive.
  private baseUrl: string | undefined;
  private reconnect: Required<ReconnectOptions>;
  private cancelOnAbort: boolean;
  private connecting = false;
  private active: KnownRun | undefined;
  private latest: KnownRun | undefined;

  /** @throws TypeError when the url does not end in `/agent/run` and there is no `baseUrl`. */
  constructor(config: ResumableHttpAgentConfig) {
    super(config);
    this.baseUrl = config.baseUrl;
    this.reconnect = completed(config.reconnect);
    this.cancelOnAbort = config.cancelOnAbort ?? true;
    this.endpoints();
  }

  /** Runs the agent, over as many connections as it takes. */
  override run(input: RunAgentInput): Observable<BaseEvent> {
    return this.follow(input.threadId, input.runId, {
      // Posted again, a run that has begun goes on: the server knows it by its ids.
      request: (position) =>
        position.lastId === undefined
          ? { url: this.url, init: this.requestInit(enforceOutgoingInput(input)) }
          : this.rejoin(input.threadId, input.runId, position.lastId),
    });
  }

  /**
   * Shows the thread as it is and follows the run that is at work there, if any, to its end. On a thread the server
   * does not know there is nothing to show: it ends without events.
   */
  override connectAgent(parameters?: RunAgentParameters, subscriber?: AgentSubscriber): Promise<RunAgentResult> {
    this.abortController = new AbortController();
    this.connecting = true;
    return super.connectAgent(parameters, subscriber);
  }

  /** Connecting answers no question, so that open ones are not in its way: it asks what there is. */
  protected override async onInitialize(input: RunAgentInput, subscribers: AgentSubscriber[]): Promise<void> {
    const { connecting, pendingInterrupts } = this;
    this.connecting = false;
    if (connecting) this.pendingInterrupts = [];
    try {
      await super.onInitialize(input, subscribers);
    } finally {
      if (connecting) this.pendingInterrupts = pendingInterrupts;
    }
  }

  protected override connect({ threadId }: RunAgentInput): Observable<BaseEvent> {
    return this.follow(threadId, undefined, {
      request: ({ runId, lastId }) =>
        runId === undefined || lastId === undefined
          ? { url: this.endpoints().threadEvents(threadId), init: { headers: this.streamHeaders() } }
          : this.rejoin(threadId, runId, lastId),
      isNothing: ({ status }) => status === 404,
    });
  }

  /**
   * Asks the server to cancel the run this agent follows, else the last one it followed.
   *
   * @returns what the server says of the run; one that had ended keeps its status.
   * @throws HttpError, with `status` and `payload`, when the server refuses.
   */
  async cancel(): Promise<RunRecord> {
    return this.cancelRun(this.active ?? this.latest);
  }

  /** Ends the local stream and, unless `cancelOnAbort` is false, asks the server to cancel the run. Never throws. */
  override abortRun(): void {
    const run = this.active;
    super.abortRun();
    if (this.cancelOnAbort && run !== undefined) {
      cancelQuietly(() => this.cancelRun(run), this.reconnect, run.position.started);
    }
  }

  /** A second agent with the same options, thread, messages and state. It follows no run. */
  override clone(): ResumableHttpAgent {
    const cloned = super.clone() as ResumableHttpAgent;
    cloned.baseUrl = this.baseUrl;
    cloned.reconnect = this.reconnect;
    cloned.cancelOnAbort = this.cancelOnAbort;
    return cloned;
  }

  private follow(
    threadId: string,
    runId: string | undefined,
    stream: Pick<Following, 'request' | 'isNothing'>,
  ): Observable<BaseEvent> {
    return follow({
      ...stream,
      reconnect: this.reconnect,
      abort: this.abortController.signal,
      fetch: this.fetch,
      onOpen: (position) => {
        const run = { threadId, runId, position };
        this.active = run;
        return () => {
          if (idOf(run) !== undefined) this.latest = run;
          if (this.active === run) this.active = undefined;
        };
      },
    });
  }

  private async cancelRun(run: KnownRun | undefined): Promise<RunRecord> {
    const runId = run && idOf(run);
    if (run === undefined || runId === undefined) {
      throw new Error('There is no run to cancel: the server has not told this agent of any yet.');
    }
    return cancelRun(this.fetch, this.endpoints().cancel(run.threadId, runId), this.headers);
  }

  private rejoin(threadId: string, runId: string, lastId: number): { url: string; init: RequestInit } {
    const headers = { ...this.streamHeaders(), 'Last-Event-ID': String(lastId) };
    return { url: this.endpoints().runEvents(threadId, runId), init: { headers } };
  }

  private streamHeaders(): Record<string, string> {
    return { ...this.headers, Accept: 'text/event-stream' };
  }

  /** Made when needed, since `url` may be changed. */
  private endpoints(): Endpoints {
    return endpoints(this.url, this.baseUrl);
  }
}

function idOf({ position, runId }: KnownRun): string | undefined {
  return position.runId ?? runId;
}
