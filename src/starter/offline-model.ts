import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CallbackManagerForLLMRun } from '@langchain/core/callbacks/manager';
import {
  BaseChatModel,
  type BaseChatModelCallOptions,
  type BindToolsInput,
  type LangSmithParams,
} from '@langchain/core/language_models/chat_models';
import {
  AIMessageChunk,
  type BaseMessage,
  type StandardMessageStructure,
  type UsageMetadata,
} from '@langchain/core/messages';
import type { ToolCallChunk } from '@langchain/core/messages/tool';
import { ChatGenerationChunk, type ChatResult } from '@langchain/core/outputs';
import { convertToOpenAITool } from '@langchain/core/utils/function_calling';
import type { OfferedTool } from './offline/offered-tool.ts';
import { replyTo } from './offline/reply.ts';

const MODEL_NAME = 'offline-demo';

interface OfflineCallOptions extends BaseChatModelCallOptions {
  offered?: OfferedTool[];
}

/**
 * A stand-in for a language model that needs no key and no network: rules choose the words (`offline/`), and this
 * class streams them and the tool calls the way a real provider does.
 */
export class OfflineModel extends BaseChatModel<OfflineCallOptions> {
  /** Pause before each piece, in milliseconds; 0 for none. */
  readonly delayMs: number;

  constructor({ delayMs = 12 }: { delayMs?: number } = {}) {
    super({});
    this.delayMs = delayMs;
  }

  _llmType(): string {
    return 'offline';
  }

  override getLsParams(options: this['ParsedCallOptions']): LangSmithParams {
    return { ...super.getLsParams(options), ls_provider: 'offline', ls_model_name: MODEL_NAME };
  }

  override bindTools(tools: BindToolsInput[], options: Partial<OfflineCallOptions> = {}) {
    return this.withConfig({ ...options, offered: tools.map((tool) => convertToOpenAITool(tool).function) });
  }

  override async _generate(messages: BaseMessage[], options: this['ParsedCallOptions']): Promise<ChatResult> {
    let whole: ChatGenerationChunk | undefined;
    for await (const chunk of this._streamResponseChunks(messages, options)) whole = whole?.concat(chunk) ?? chunk;
    return { generations: whole === undefined ? [] : [whole] };
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    options: this['ParsedCallOptions'],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const id = `offline-${randomUUID()}`;
    for (const piece of pieces(messages, options.offered ?? [])) {
      await this.pause(options.signal);
      const message = new AIMessageChunk<StandardMessageStructure>({ ...piece, id });
      const chunk = new ChatGenerationChunk({ text: message.text, message });
      // Whoever listens for tokens hears of them here; without this call a stream is one single chunk.
      await runManager?.handleLLMNewToken(message.text, undefined, undefined, undefined, undefined, { chunk });
      yield chunk;
    }
  }

  private async pause(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (this.delayMs > 0) await sleep(this.delayMs, undefined, signal === undefined ? {} : { signal });
  }
}

/** What one chunk adds to the message. */
interface Piece {
  content: string;
  tool_call_chunks?: ToolCallChunk[];
  usage_metadata?: UsageMetadata;
  response_metadata?: Record<string, unknown>;
}

/** The reply cut up as a provider would send it: word by word, then each tool call, then what it cost. */
function* pieces(messages: BaseMessage[], offered: OfferedTool[]): Generator<Piece> {
  const { text, calls } = replyTo(messages, offered);
  for (const word of text.match(/\s*\S+/g) ?? []) yield { content: word };

  let written = text;
  for (const [index, { name, args }] of calls.entries()) {
    yield { content: '', tool_call_chunks: [{ index, id: `call_${randomUUID()}`, name, args: '' }] };
    const json = JSON.stringify(args);
    for (const part of json.match(/.{1,12}/gsu) ?? []) {
      yield { content: '', tool_call_chunks: [{ index, args: part }] };
    }
    written += name + json;
  }

  const input = tokens(messages.map((message) => message.text).join());
  const output = tokens(written);
  yield {
    content: '',
    usage_metadata: { input_tokens: input, output_tokens: output, total_tokens: input + output },
    response_metadata: { model_name: MODEL_NAME, finish_reason: calls.length > 0 ? 'tool_calls' : 'stop' },
  };
}

/** A rule of thumb: four characters to a token. */
function tokens(text: string): number {
  return Math.ceil(text.length / 4);
}
