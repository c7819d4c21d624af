import { randomUUID } from 'node:crypto';
import type { AIMessage, BaseMessage, ToolMessage } from '@langchain/core/messages';
import { asText, isRecord } from '../../encode.ts';
import type { Message } from '../../events.ts';
import { fromBlocks, textOf, toBlocks } from './content.ts';
import { reasoningIn } from './reasoning.ts';
import { messageType } from './shapes.ts';

/** The message classes of the agent's own copy of LangChain. */
export type MessageClasses = Pick<
  typeof import('@langchain/core/messages'),
  'AIMessage' | 'HumanMessage' | 'SystemMessage' | 'ToolMessage'
>;

/** Id of the reasoning message shown before the assistant message `messageId`. */
export function reasoningId(messageId: string): string {
  return `${messageId}-reasoning`;
}

/** Turns an AG-UI message into LangChain's; undefined for kinds a graph is not given (reasoning, activity). */
export function toLangChain(message: Message, classes: MessageClasses): BaseMessage | undefined {
  const { id } = message;
  const name = 'name' in message && message.name !== undefined ? { name: message.name } : {};
  switch (message.role) {
    case 'user':
      return new classes.HumanMessage({ id, ...name, content: toBlocks(message.content) as string });
    case 'assistant': {
      const calls = (message.toolCalls ?? []).map((call) =>
        parseCall(call.id, call.function.name, call.function.arguments),
      );
      return new classes.AIMessage({
        id,
        ...name,
        content: message.content ?? '',
        tool_calls: calls.filter((call) => call.type === 'tool_call'),
        invalid_tool_calls: calls.filter((call) => call.type === 'invalid_tool_call'),
      });
    }
    case 'tool':
      return new classes.ToolMessage({
        id,
        tool_call_id: message.toolCallId,
        content: toBlocks(message.content) as string,
        ...(message.error !== undefined && { status: 'error' as const }),
      });
    case 'system':
    case 'developer':
      return new classes.SystemMessage({ id, ...name, content: message.content });
    default:
      return undefined;
  }
}

function parseCall(id: string, name: string, text: string) {
  try {
    const args: unknown = JSON.parse(text === '' ? '{}' : text);
    if (isRecord(args)) return { type: 'tool_call' as const, id, name, args };
  } catch {
    // Falls through: the model is told of the call as one it got wrong.
  }
  return { type: 'invalid_tool_call' as const, id, name, args: text, error: 'The arguments are not a JSON object.' };
}

/**
 * Turns the messages of a graph's state into AG-UI's, for MESSAGES_SNAPSHOT. Reasoning becomes a message of its own
 * before the one it belongs to (ag-ui contract, section 11).
 */
export function fromLangChain(messages: readonly BaseMessage[]): Message[] {
  const converted: Message[] = [];
  for (const message of messages) {
    const id = message.id ?? randomUUID();
    const name = message.name === undefined || message.name === null ? {} : { name: message.name };
    switch (messageType(message)) {
      case 'human':
        converted.push({ id, role: 'user', ...name, content: fromBlocks(message.content) } as Message);
        break;
      case 'ai':
        converted.push(...reasoningMessages(id, message), assistantMessage(id, message as AIMessage, name));
        break;
      case 'tool': {
        const tool = message as ToolMessage;
        const content = toolContent(tool);
        converted.push({
          id,
          role: 'tool',
          toolCallId: tool.tool_call_id,
          content,
          ...(tool.status === 'error' && { error: asText(content) }),
        } as Message);
        break;
      }
      case 'system':
      case 'developer':
        converted.push({ id, role: 'system', ...name, content: textOf(message.content) });
        break;
    }
  }
  return converted;
}

/** What a tool message says, as AG-UI carries it: text, or parts when it holds media. */
export function toolContent(message: ToolMessage): string | object[] {
  const content: unknown = message.content;
  if (typeof content === 'string') return content;
  const parts = fromBlocks(content);
  // Blocks AG-UI has no part for would vanish; their JSON is better than nothing.
  return parts === '' || (Array.isArray(content) && parts.length === 0) ? asText(content) : parts;
}

function assistantMessage(id: string, message: AIMessage, name: { name?: string }): Message {
  const content = textOf(message.content);
  const calls = (message.tool_calls ?? []).map((call) => ({
    id: call.id ?? '',
    type: 'function' as const,
    function: { name: call.name, arguments: asText(call.args) },
  }));
  return {
    id,
    role: 'assistant',
    ...name,
    ...((content !== '' || calls.length === 0) && { content }),
    ...(calls.length > 0 && { toolCalls: calls }),
  };
}

function reasoningMessages(id: string, message: BaseMessage): Message[] {
  const pieces = reasoningIn(message);
  if (pieces.length === 0) return [];
  const encryptedValue = pieces.findLast((piece) => piece.encrypted !== undefined)?.encrypted;
  const content = pieces.map((piece) => piece.text).join('');
  return [{ id: reasoningId(id), role: 'reasoning', content, ...(encryptedValue !== undefined && { encryptedValue }) }];
}
