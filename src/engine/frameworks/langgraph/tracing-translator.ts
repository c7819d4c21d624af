import type { Emit } from '../../events.ts';
import type { GraphSpans } from './graph-spans.ts';
import { Translator } from './translator.ts';

type Args<Method extends keyof Translator> = Translator[Method] extends (...args: infer Given) => unknown
  ? Given
  : never;

/**
 * A translator that records spans as well. One handler and not two: LangChain makes a promise for each handler and
 * each token, which costs more than all that is done with most of them.
 */
export class TracingTranslator extends Translator {
  override readonly ignoreRetriever = false;
  readonly #spans: GraphSpans;

  constructor(emit: Emit, includeRaw: boolean, spans: GraphSpans) {
    super(emit, includeRaw);
    this.#spans = spans;
  }

  override handleChatModelStart(...args: [...Args<'handleChatModelStart'>, runName?: string]): void {
    const [model, messages, runId, parentRunId, extra, tags, metadata, runName] = args;
    super.handleChatModelStart(model, messages, runId, parentRunId, extra, tags, metadata);
    // Models for chat are asked in batches, of which an agent's is one.
    const asked = Array.isArray(messages) && messages.length === 1 ? messages[0] : messages;
    this.#spans.modelStart({ messages: asked }, 'chat', runId, parentRunId, extra, metadata, runName);
  }

  override handleLLMStart(...args: [...Args<'handleLLMStart'>, runName?: string]): void {
    const [model, prompts, runId, parentRunId, extra, tags, metadata, runName] = args;
    super.handleChatModelStart(model, prompts, runId, parentRunId, extra, tags, metadata);
    const asked: unknown = Array.isArray(prompts) && prompts.length === 1 ? prompts[0] : prompts;
    this.#spans.modelStart(asked, 'text_completion', runId, parentRunId, extra, metadata, runName);
  }

  // Each by its name, for this one is called for every token.
  override handleLLMNewToken(
    token: string,
    index: Args<'handleLLMNewToken'>[1],
    runId: string,
    parentRunId?: string,
    tags?: string[],
    fields?: Args<'handleLLMNewToken'>[5],
  ): void {
    this.#spans.modelToken(runId);
    super.handleLLMNewToken(token, index, runId, parentRunId, tags, fields);
  }

  override handleLLMEnd(...args: Args<'handleLLMEnd'>): void {
    super.handleLLMEnd(...args);
    this.#spans.modelEnd(args[0], args[1]);
  }

  override handleLLMError(...args: Args<'handleLLMError'>): void {
    super.handleLLMError(...args);
    this.#spans.failed(args[1], args[0]);
  }

  override handleChainStart(...args: Args<'handleChainStart'>): void {
    super.handleChainStart(...args);
    const [chain, inputs, runId, parentRunId, tags, metadata, , name] = args;
    this.#spans.chainStart(chain, inputs, runId, parentRunId, tags, metadata, name);
  }

  override handleChainEnd(outputs: unknown, runId: string): void {
    super.handleChainEnd(outputs, runId);
    this.#spans.chainEnd(outputs, runId);
  }

  override handleChainError(...args: Args<'handleChainError'>): void {
    super.handleChainError(...args);
    this.#spans.failed(args[1], args[0]);
  }

  override handleToolStart(...args: Args<'handleToolStart'>): void {
    super.handleToolStart(...args);
    const [tool, input, runId, parentRunId, , metadata, runName, toolCallId] = args;
    this.#spans.toolStart(tool, input, runId, parentRunId, metadata, runName, toolCallId);
  }

  override handleToolEnd(output: unknown, runId: string): void {
    super.handleToolEnd(output, runId);
    this.#spans.toolEnd(output, runId);
  }

  override handleToolError(...args: Args<'handleToolError'>): void {
    super.handleToolError(...args);
    this.#spans.failed(args[1], args[0]);
  }

  handleRetrieverStart(
    retriever: unknown,
    query: string,
    runId: string,
    parentRunId?: string,
    _tags?: string[],
    _metadata?: unknown,
    name?: string,
  ): void {
    this.#spans.retrieverStart(retriever, query, runId, parentRunId, name);
  }

  handleRetrieverEnd(documents: unknown, runId: string): void {
    this.#spans.retrieverEnd(documents, runId);
  }

  handleRetrieverError(error: unknown, runId: string): void {
    this.#spans.failed(runId, error);
  }
}
