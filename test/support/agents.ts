/** Sources of small agents, to be written into a test's folder. Each is a whole module, as an author would write it. */

/** Answers `you said: …` and keeps the conversation. */
export const ECHO = `
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { AIMessage } from '@langchain/core/messages';
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('echo', (state) => ({ messages: [new AIMessage('you said: ' + state.messages.at(-1).content)] }))
  .addEdge(START, 'echo')
  .addEdge('echo', END);
`;

/**
 * A chat model that streams what its script says. Agents import it from './scripted.ts'; a script is a list of answers,
 * each a list of chunks: a string is text, an object is the fields of an AIMessageChunk.
 */
export const SCRIPTED_MODEL = `
import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessageChunk } from '@langchain/core/messages';
import { ChatGenerationChunk } from '@langchain/core/outputs';

export class ScriptedModel extends BaseChatModel {
  constructor(answers, options = {}) {
    super({});
    this.answers = answers;
    this.turn = 0;
    this.options = options;
  }
  _llmType() { return 'scripted'; }
  getLsParams() { return { ls_provider: 'scripted', ls_model_name: 'script-1', ls_model_type: 'chat' }; }
  bindTools() { return this; }
  next(messages) {
    const answer = this.answers[this.turn % this.answers.length];
    this.turn += 1;
    return typeof answer === 'function' ? answer(messages) : answer;
  }
  async _generate(messages) {
    const chunks = this.next(messages).map((chunk) => new AIMessageChunk(typeof chunk === 'string' ? { content: chunk } : { content: '', ...chunk }));
    const message = chunks.reduce((left, right) => left.concat(right));
    return { generations: [{ text: '', message }] };
  }
  async *_streamResponseChunks(messages, options, runManager) {
    for (const chunk of this.next(messages)) {
      if (this.options.gate) await this.options.gate(options.signal);
      options.signal?.throwIfAborted();
      if (chunk instanceof Error) throw chunk;
      const message = new AIMessageChunk(typeof chunk === 'string' ? { content: chunk } : { content: '', ...chunk });
      const generation = new ChatGenerationChunk({ text: typeof message.content === 'string' ? message.content : '', message });
      yield generation;
      await runManager?.handleLLMNewToken(generation.text, undefined, undefined, undefined, undefined, { chunk: generation });
    }
  }
}
export const call = (index, id, name, args) => ({ tool_call_chunks: [{ type: 'tool_call_chunk', index, id, name, args }] });
`;

/** One node that calls a scripted model; \`answers\` is the source text of the script. */
export function modelAgent(answers: string): string {
  return `
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { ScriptedModel, call } from './scripted.ts';
const model = new ScriptedModel(${answers});
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('model', async (state) => ({ messages: [await model.invoke(state.messages)] }))
  .addEdge(START, 'model')
  .addEdge('model', END);
`;
}
