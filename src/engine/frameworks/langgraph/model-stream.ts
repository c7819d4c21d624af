import type { AIMessage, AIMessageChunk, BaseMessage } from '@langchain/core/messages';
import { asText } from '../../encode.ts';
import { type Emit, EventType } from '../../events.ts';
import { textOf } from './content.ts';
import { reasoningId } from './messages.ts';
import { type ReasoningPiece, reasoningIn } from './reasoning.ts';
import { setMessageId } from './shapes.ts';

/** What the author asked, by metadata on the model, not to be streamed or to be streamed otherwise. */
export interface StreamWishes {
  messages: boolean;
  toolCalls: boolean;
  /** Which argument of which tool shows a state key before the tool has run. */
  predictState: readonly { tool: string }[];
}

/** What the model streams of one run share: which tool calls the client has been told of. */
export interface ToldCalls {
  started: Set<string>;
  /** Calls the author asked not to show; their results are not shown either. */
  muted: Set<string>;
  /** Calls whose arguments predict state; until they end, snapshots would take the prediction back. */
  predicting: Set<string>;
}

interface OpenCall {
  id: string | undefined;
  name: string;
  /** Arguments that came before the call had an id and a name. */
  waiting: string;
  open: boolean;
}

type CallChunk = NonNullable<AIMessageChunk['tool_call_chunks']>[number];

/** Turns the chunks of one model call into message, tool call and reasoning events. */
export class ModelStream {
  readonly #emit: Emit;
  readonly #wishes: StreamWishes;
  readonly #told: ToldCalls;
  readonly #fallbackId: string;
  #messageId: string | undefined;
  #textOpen = false;
  #reasoningOpen = false;
  // Parallel calls are told apart by their index; their arguments may come interleaved.
  readonly #calls = new Map<number | string, OpenCall>();
  #lastCall: number | string = 0;

  constructor(runId: string, wishes: StreamWishes, told: ToldCalls, emit: Emit) {
    this.#fallbackId = `run-${runId}`;
    this.#wishes = wishes;
    this.#told = told;
    this.#emit = emit;
  }

  /** Id of the message being streamed, once there is one. */
  get messageId(): string | undefined {
    return this.#messageId;
  }

  /** Takes the next chunk. Its message is given the stream's id, which providers state only on the first. */
  chunk(message: BaseMessage): void {
    const id = this.#identify(message);
    const content: unknown = message.content;
    const calls = (message as AIMessageChunk).tool_call_chunks;
    // Nearly every chunk of a long answer is plain text; what follows is for the others.
    if (typeof content !== 'string' || hasKeys(message.additional_kwargs)) this.#reason(id, reasoningIn(message));
    this.text(typeof content === 'string' ? content : textOf(content));
    if (calls !== undefined && calls.length > 0 && this.#wishes.toolCalls) {
      for (const call of calls) this.#callChunk(id, call);
    }
  }

  /** Takes a piece of text. */
  text(delta: string): void {
    if (delta === '' || !this.#wishes.messages) return;
    this.#messageId ??= this.#fallbackId;
    const messageId = this.#messageId;
    if (!this.#textOpen) {
      this.#closeReasoning();
      this.#closeCalls();
      this.#textOpen = true;
      this.#emit({ type: EventType.TEXT_MESSAGE_START, messageId, role: 'assistant' });
    }
    this.#emit({ type: EventType.TEXT_MESSAGE_CONTENT, messageId, delta });
  }

  /** Ends the stream with the whole message: what was not streamed is told now, and everything open is closed. */
  end(message: AIMessage | undefined): void {
    if (message !== undefined) {
      const untold = this.#messageId === undefined;
      const id = this.#identify(message);
      if (untold) {
        this.#reason(id, reasoningIn(message));
        this.text(textOf(message.content));
      }
      if (this.#wishes.toolCalls) this.#finishCalls(id, message);
      else for (const call of message.tool_calls ?? []) if (call.id !== undefined) this.#told.muted.add(call.id);
    }
    this.close();
  }

  /** Closes whatever is open, when the model failed or has ended. */
  close(): void {
    this.#closeReasoning();
    this.#closeText();
    this.#closeCalls();
  }

  #identify(message: BaseMessage): string {
    this.#messageId ??= message.id ?? this.#fallbackId;
    if (message.id !== this.#messageId) setMessageId(message, this.#messageId);
    return this.#messageId;
  }

  #reason(id: string, pieces: readonly ReasoningPiece[]): void {
    if (pieces.length === 0 || !this.#wishes.messages) return;
    const messageId = reasoningId(id);
    for (const { text, encrypted } of pieces) {
      if (!this.#reasoningOpen) {
        this.#closeText();
        this.#reasoningOpen = true;
        this.#emit({ type: EventType.REASONING_START, messageId });
        this.#emit({ type: EventType.REASONING_MESSAGE_START, messageId, role: 'reasoning' });
      }
      this.#emit({ type: EventType.REASONING_MESSAGE_CONTENT, messageId, delta: text });
      if (encrypted !== undefined) {
        const event = { subtype: 'message' as const, entityId: messageId, encryptedValue: encrypted };
        this.#emit({ type: EventType.REASONING_ENCRYPTED_VALUE, ...event });
      }
    }
  }

  #callChunk(messageId: string, chunk: CallChunk): void {
    const key = chunk.index ?? chunk.id ?? this.#lastCall;
    this.#lastCall = key;
    let call = this.#calls.get(key);
    // Some providers restart their indexes: a new id under an index in use is a new call.
    if (call === undefined || (chunk.id !== undefined && call.id !== undefined && chunk.id !== call.id)) {
      if (call !== undefined) this.#closeCall(call);
      call = { id: undefined, name: '', waiting: '', open: false };
      this.#calls.set(key, call);
    }
    call.id ??= chunk.id;
    if (!call.open) call.name += chunk.name ?? '';
    this.#callArgs(messageId, call, chunk.args ?? '');
  }

  #callArgs(messageId: string, call: OpenCall, args: string): void {
    if (call.id === undefined || call.name === '') {
      call.waiting += args;
      return;
    }
    if (!call.open) this.#openCall(messageId, call, call.id);
    const delta = call.waiting + args;
    call.waiting = '';
    if (delta !== '') this.#emit({ type: EventType.TOOL_CALL_ARGS, toolCallId: call.id, delta });
  }

  #openCall(parentMessageId: string, call: OpenCall, toolCallId: string): void {
    this.#closeReasoning();
    this.#closeText();
    if (this.#wishes.predictState.some(({ tool }) => tool === call.name)) {
      this.#told.predicting.add(toolCallId);
      this.#emit({ type: EventType.CUSTOM, name: 'PredictState', value: this.#wishes.predictState });
    }
    call.open = true;
    this.#told.started.add(toolCallId);
    this.#emit({ type: EventType.TOOL_CALL_START, toolCallId, toolCallName: call.name, parentMessageId });
  }

  /** Tells of calls that came only with the whole message, or without an id until then. */
  #finishCalls(messageId: string, message: AIMessage): void {
    const nameless = [...this.#calls.values()].filter((call) => call.id === undefined);
    for (const whole of [...(message.tool_calls ?? []), ...(message.invalid_tool_calls ?? [])]) {
      if (whole.id === undefined || this.#told.started.has(whole.id)) continue;
      const streamed = nameless.shift();
      const call = streamed ?? { id: whole.id, name: whole.name ?? '', waiting: '', open: false };
      call.id = whole.id;
      call.name ||= whole.name ?? '';
      if (streamed === undefined) this.#calls.set(whole.id, call);
      this.#callArgs(messageId, call, streamed === undefined ? asText(whole.args ?? {}) : '');
    }
  }

  #closeReasoning(): void {
    if (!this.#reasoningOpen || this.#messageId === undefined) return;
    this.#reasoningOpen = false;
    const messageId = reasoningId(this.#messageId);
    this.#emit({ type: EventType.REASONING_MESSAGE_END, messageId });
    this.#emit({ type: EventType.REASONING_END, messageId });
  }

  #closeText(): void {
    if (!this.#textOpen || this.#messageId === undefined) return;
    this.#textOpen = false;
    this.#emit({ type: EventType.TEXT_MESSAGE_END, messageId: this.#messageId });
  }

  #closeCall(call: OpenCall): void {
    if (!call.open || call.id === undefined) return;
    call.open = false;
    this.#emit({ type: EventType.TOOL_CALL_END, toolCallId: call.id });
  }

  #closeCalls(): void {
    for (const call of this.#calls.values()) this.#closeCall(call);
  }
}

function hasKeys(record: object | undefined): boolean {
  for (const _ in record) return true;
  return false;
}
