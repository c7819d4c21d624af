import { SCRIPTED_MODEL } from './agents.ts';

/** What most agents under test import, to be put at the top of their source. */
export const IMPORTS = `
import {
  Annotation, Command, END, MemorySaver, MessagesAnnotation, Send, START, StateGraph, interrupt, messagesStateReducer,
} from '@langchain/langgraph';
import { ToolNode } from '@langchain/langgraph/prebuilt';
import {
  AIMessage, AIMessageChunk, HumanMessage, RemoveMessage, SystemMessage, ToolMessage,
} from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { dispatchCustomEvent } from '@langchain/core/callbacks/dispatch';
import { z } from 'zod';
import { ScriptedModel, call } from './scripted.ts';
import { SilentModel, QuietModel, named } from './models.ts';
`;

/** More models than `scripted.ts` has. Agents import them from './models.ts'. */
const MODELS = `
import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage } from '@langchain/core/messages';
import { ScriptedModel } from './scripted.ts';

/** Cannot stream: \`answers\` are the fields of whole messages. */
export class SilentModel extends ScriptedModel {
  _streamResponseChunks = BaseChatModel.prototype._streamResponseChunks;
  async _generate(messages) {
    const answer = this.next(messages);
    if (answer instanceof Error) throw answer;
    const message = new AIMessage(answer);
    return { generations: [{ text: message.text ?? '', message }] };
  }
}

/** Tells tokens while it generates, and what else there is only at the end: \`answers\` are { tokens, message }. */
export class QuietModel extends ScriptedModel {
  _streamResponseChunks = BaseChatModel.prototype._streamResponseChunks;
  async _generate(messages, options, runManager) {
    const { tokens, message } = this.next(messages);
    for (const token of tokens) await runManager?.handleLLMNewToken(token);
    const whole = new AIMessage(message);
    return { generations: [{ text: '', message: whole }] };
  }
}

/** The model under another name. */
export function named(model, provider, name) {
  model.getLsParams = () => ({ ls_provider: provider, ls_model_name: name, ls_model_type: 'chat' });
  return model;
}
`;

/** Files every agent under test has beside it. */
export const GRAPH_FILES: Record<string, string> = { 'scripted.ts': SCRIPTED_MODEL, 'models.ts': MODELS };

/** A graph over messages: \`nodes\` are the \`.addNode…\` and \`.addEdge…\` calls, \`before\` what they need. */
export function messagesGraph(nodes: string, before = ''): string {
  return `${IMPORTS}
${before}
export const graph = new StateGraph(MessagesAnnotation)
  ${nodes};
`;
}

/** One node, \`model\`, that asks \`model\`; \`options\` is the source of its call options. */
export function oneModel(model: string, options = '{}'): string {
  return messagesGraph(
    `.addNode('model', async (state, config) => ({ messages: [await model.invoke(state.messages, { ...config, ...${options} })] }))
  .addEdge(START, 'model')
  .addEdge('model', END)`,
    `const model = ${model};`,
  );
}

/** The usual loop of a model and its tools: \`tools\` is the source of the list of tools. */
export function toolLoop(model: string, tools: string, before = ''): string {
  return messagesGraph(
    `.addNode('model', async (state) => ({ messages: [await model.invoke(state.messages)] }))
  .addNode('tools', new ToolNode(tools))
  .addEdge(START, 'model')
  .addConditionalEdges('model', (state) => (state.messages.at(-1).tool_calls?.length > 0 ? 'tools' : END))
  .addEdge('tools', 'model')`,
    `${before}
const tools = ${tools};
const model = ${model};`,
  );
}
