/**
 * The graph every contender with an agent runs: one node, one model, the conversation as its state.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessageChunk } from '@langchain/core/messages';
import { ChatGenerationChunk } from '@langchain/core/outputs';
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { createPace, readOrder, token } from './tokens.mjs';

/** Streams as many tokens as the last message orders, in the way providers' integrations do. */
class FakeModel extends BaseChatModel {
  _llmType() {
    return 'fake';
  }

  async _generate(messages, options, runManager) {
    let whole;
    for await (const chunk of this._streamResponseChunks(messages, options, runManager)) {
      whole = whole?.concat(chunk) ?? chunk;
    }
    return { generations: [whole] };
  }

  async *_streamResponseChunks(messages, _options, runManager) {
    const { tokens, delayMs } = readOrder(messages.at(-1).content);
    const id = `msg-${randomUUID()}`;
    const pace = createPace(delayMs);
    for (let n = 0; n < tokens; n++) {
      const pause = pace();
      if (pause !== undefined) await pause;
      const text = token(n);
      const chunk = new ChatGenerationChunk({ text, message: new AIMessageChunk({ id, content: text }) });
      await runManager?.handleLLMNewToken(text, undefined, undefined, undefined, undefined, { chunk });
      yield chunk;
    }
  }
}

const model = new FakeModel({});

/** Not compiled yet: each server gives it the checkpointer it has opened. */
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('answer', async (state, config) => ({ messages: [await model.invoke(state.messages, config)] }))
  .addEdge(START, 'answer')
  .addEdge('answer', END);
