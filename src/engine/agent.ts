import { type AgentGraph, AgentGraphFramework } from './drawing/agent-graph.ts';
import type { Emit, Interrupt, Message, RunAgentInput, TokenUsage } from './events.ts';
import type { MemorySize } from './memory/define.ts';
import type { RunTrace } from './tracing/tracer.ts';

/** The agent frameworks the contract names; the registry in `frameworks/index.ts` says which can run. */
export const FRAMEWORKS = AgentGraphFramework.options;

export type Framework = (typeof FRAMEWORKS)[number];

/** What a run knows of its caller, carried explicitly through the adapter and, for agent code, in an async context. */
export interface RunContext {
  /** Who runs it; null when the caller is anonymous. */
  readonly userId: string | null;
  /** Aborted when the run must stop; its reason is a {@link RunFailure}. */
  readonly signal: AbortSignal;
  /** Where the thread stands. */
  readonly thread: ThreadPosition;
  /** Gives the server a hold on the thread while the run goes on. To be called once the thread has been read. */
  attach(thread: LiveThread): void;
  /** Where the run is recorded; undefined when nobody listens. */
  readonly trace?: RunTrace | undefined;
}

/** What the server remembers of a thread for the agent. */
export interface ThreadPosition {
  /** What {@link LiveThread.undo} gave when a run of this thread was last forgotten, else null. */
  readonly head: string | null;
  /** Whether the last run was cut short (cancelled, failed, or lost with the server), so that it paused nowhere. */
  readonly cut: boolean;
}

/** A thread whose run is under way. */
export interface LiveThread {
  /** The conversation as the run has it by now; undefined when the agent keeps no messages. */
  messages(): Message[] | undefined;
  /** The shared state as the run has it by now. */
  state(): Record<string, unknown>;
  /**
   * Takes the thread back to where the run found it. Only called after the run has ended.
   *
   * @returns the thread's new {@link ThreadPosition.head}.
   */
  undo(): Promise<string | null>;
}

/** How a run ended when it did not fail. */
export interface RunOutcome {
  /** Open questions to the user; empty when the run simply finished. */
  interrupts: Interrupt[];
  /** Calls of client-side tools the client has to answer in its next run. */
  pendingToolCallIds: string[];
  /** Tokens used, one entry per provider and model. */
  usage: TokenUsage[];
  /** Structured output of an agent that does not chat. */
  result?: unknown;
}

/** Codes a RUN_ERROR can carry (runtime contract, section 2). */
export type RunErrorCode =
  | 'FRAMEWORK_ERROR'
  | 'ENCODING_ERROR'
  | 'VALIDATION_ERROR'
  | 'EXECUTION_TIMEOUT'
  | 'INTERRUPT_PENDING'
  | 'INTERRUPT_UNKNOWN'
  | 'INTERRUPT_EXPIRED'
  | 'THREAD_BUSY'
  | 'CANCELLED'
  | 'RUN_LOST'
  | 'SHUTTING_DOWN';

/** Ends a run with RUN_ERROR; `message` is shown to the client, so it holds no exception text. */
export class RunFailure extends Error {
  override name = 'RunFailure';
  readonly code: RunErrorCode;

  constructor(code: RunErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** What a UI needs to set itself up (runtime contract, section 8), less the parts the service adds. */
export interface Capabilities {
  framework: Framework;
  capabilities: { streaming: boolean; history: boolean; thread_id: boolean };
  input: { mode: 'chat' | 'structured'; schema: Record<string, unknown> | null };
  output: { mode: 'text' | 'structured' | 'unknown'; schema: Record<string, unknown> | null };
  history: { canList: boolean; canGet: boolean } | null;
}

/** A chat message reduced to its text, as session detail shows it. */
export interface HistoryMessage {
  id: string;
  role: 'user' | 'assistant';
  content: string;
  /** Epoch seconds, or null where the framework does not record it. */
  timestamp: number | null;
}

/** Reads back stored conversations; absent where the agent keeps none. */
export interface AgentHistory {
  /**
   * Names the place the conversations are kept in, so that the thread index lists only those that place can hold:
   * it differs between two backends, and between two lives of one that forgets.
   */
  readonly storeId: string;
  /** The text messages of a thread, oldest first; empty when the backend does not know it. */
  messages(threadId: string, position: ThreadPosition): Promise<HistoryMessage[]>;
  /**
   * Emits what a client that comes to an idle thread has to know: the snapshots, and older clients' form of the open
   * interrupts.
   *
   * @returns the thread's open interrupts.
   */
  show(threadId: string, position: ThreadPosition, emit: Emit): Promise<Interrupt[]>;
  /** Deletes all that is kept of a thread. Nothing may be going on there. */
  forget(threadId: string): Promise<void>;
  /** Keeps the conversations within bounds; undefined where the agent's own code keeps them. */
  readonly upkeep: HistoryUpkeep | undefined;
}

/** What there is to do about conversations that grow. Every method may throw what the backend throws. */
export interface HistoryUpkeep {
  /** Kind of the backend, as the configuration names it. */
  readonly kind: string;
  size(): Promise<MemorySize>;
  /**
   * Deletes old steps of a thread, nothing of which shows in the conversation: only going back to them is no longer
   * possible. A bounded piece of work. Nothing may be going on there.
   *
   * @param keep how many of the newest steps remain.
   * @returns how many were deleted.
   */
  prune(threadId: string, position: ThreadPosition, keep: number): Promise<number>;
}

/** One hosted agent. Each framework implements this; nothing outside its folder knows more. */
export interface Agent {
  readonly framework: Framework;
  readonly name: string;
  readonly capabilities: Capabilities;
  readonly history: AgentHistory | undefined;
  /**
   * Runs once over `input` and emits what happens, RUN_* events excepted.
   *
   * @throws RunFailure for what the client did or must know; anything else counts as FRAMEWORK_ERROR.
   */
  run(input: RunAgentInput, context: RunContext, emit: Emit): Promise<RunOutcome>;
  /** The agent's structure, or undefined when it cannot be told. */
  graph(): Promise<AgentGraph | undefined>;
  /** The framework's own Mermaid drawing, where it has one. */
  mermaid?(): Promise<string>;
  /** Gives back what the agent holds. Called once, after the last run has ended. */
  close(): Promise<void>;
}
