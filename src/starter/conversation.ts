import { AIMessage, type BaseMessage, SystemMessage, ToolMessage } from '@langchain/core/messages';

const INSTRUCTIONS = `You are the starter agent of agent-engine-server, a server for AI agents.
Answer briefly and in the language of the user. Use the tools: calculate for arithmetic, current_time for dates and
times, search_knowledge for anything about this server, the note tools when the user wants something kept.
Say so when you do not know.`;

/**
 * What the model reads: the instructions, then the conversation with every tool call answered. Some providers take
 * one system message only, and only as the first, so those of the UI are added to ours.
 */
export function modelInput(history: BaseMessage[], instructions = INSTRUCTIONS): BaseMessage[] {
  const system = [instructions, ...history.filter(SystemMessage.isInstance).map((message) => message.text)];
  const spoken = history.filter((message) => !SystemMessage.isInstance(message));
  return [new SystemMessage(system.join('\n\n')), ...withAnsweredCalls(spoken)];
}

/**
 * Puts an answer right behind every tool call. Providers refuse a conversation with an open call, and one stays
 * open when a run is cancelled or when the user writes on instead of letting the UI answer.
 */
function withAnsweredCalls(history: BaseMessage[]): BaseMessage[] {
  const answers = new Map(history.filter(ToolMessage.isInstance).map((message) => [message.tool_call_id, message]));
  return history.flatMap((message) => {
    if (ToolMessage.isInstance(message)) return [];
    if (!AIMessage.isInstance(message)) return [message];
    const calls = message.tool_calls ?? [];
    return [message, ...calls.map(({ id = '', name }) => answers.get(id) ?? unanswered(id, name))];
  });
}

function unanswered(id: string, name: string): ToolMessage {
  return new ToolMessage({ tool_call_id: id, name, status: 'error', content: 'This call was never answered.' });
}
