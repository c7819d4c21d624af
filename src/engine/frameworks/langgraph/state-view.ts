import type { BaseMessage } from '@langchain/core/messages';
import { type Emit, EventType, type Message } from '../../events.ts';
import { fromLangChain } from './messages.ts';
import type { GraphSchemas } from './schemas.ts';
import { isMessage } from './shapes.ts';

type Values = Record<string, unknown>;

/** What the client sees of a graph's state during one run. */
export class StateView {
  readonly #keys: readonly string[];
  readonly #hasMessages: boolean;
  #values: Values = {};
  #shown: Values | undefined;

  constructor(schemas: GraphSchemas) {
    this.#keys = [...new Set([...schemas.outputKeys, 'tools'])].filter((key) => key !== 'messages');
    this.#hasMessages = schemas.hasMessages;
  }

  /** The state as last seen. */
  get values(): Values {
    return this.#values;
  }

  /** The conversation as last seen. */
  get messages(): BaseMessage[] {
    const { messages } = this.#values;
    return Array.isArray(messages) ? messages.filter(isMessage) : [];
  }

  /** Takes the state after a step. */
  update(values: Values): void {
    this.#values = values;
  }

  /**
   * Sends a STATE_SNAPSHOT if a key other than the conversation has changed since the last: what happens in the
   * conversation is told by its own events, and a long one is not worth sending at every step.
   */
  emitIfChanged(emit: Emit): void {
    const shown = this.#shown;
    if (shown !== undefined && this.#keys.every((key) => shown[key] === this.#values[key])) return;
    if (shown === undefined && this.#keys.every((key) => this.#values[key] === undefined)) return;
    this.#shown = this.#values;
    emit({ type: EventType.STATE_SNAPSHOT, snapshot: this.#snapshot(fromLangChain(this.messages)) });
  }

  /** The conversation as the client is shown it; undefined when the graph has none. */
  shownMessages(): Message[] | undefined {
    return this.#hasMessages ? fromLangChain(this.messages) : undefined;
  }

  /** The state as the client is shown it. */
  shownState(): Values {
    return this.#snapshot(fromLangChain(this.messages));
  }

  /** Sends the snapshots every run ends with. */
  emitFinal(emit: Emit): void {
    const messages = fromLangChain(this.messages);
    emit({ type: EventType.STATE_SNAPSHOT, snapshot: this.#snapshot(messages) });
    if (this.#hasMessages) emit({ type: EventType.MESSAGES_SNAPSHOT, messages });
  }

  #snapshot(messages: Message[]): Values {
    const snapshot: Values = {};
    for (const key of this.#keys) if (this.#values[key] !== undefined) snapshot[key] = this.#values[key];
    if (this.#hasMessages) snapshot.messages = messages;
    return snapshot;
  }
}
