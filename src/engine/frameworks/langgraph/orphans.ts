import type { AIMessage, BaseMessage, ToolMessage } from '@langchain/core/messages';
import type { MessageClasses } from './messages.ts';
import { messageType } from './shapes.ts';

const UNANSWERED = 'unanswered-';

/**
 * Completes the messages a run starts with, so that every tool call of the conversation has a result: a run that was
 * cut short, or a client that went on without answering, leaves calls open, and model providers refuse such a
 * conversation. An answer that comes late takes the place of ours.
 *
 * @param stored the conversation as the thread holds it.
 * @param fresh what joins it.
 */
export function repairOrphans(
  stored: readonly BaseMessage[],
  fresh: readonly BaseMessage[],
  classes: MessageClasses,
): BaseMessage[] {
  const answered = new Set([...stored, ...fresh].map(answeredCall));
  const answersFor = (message: BaseMessage): BaseMessage[] =>
    toolCalls(message)
      .filter((id) => !answered.has(id))
      .map(
        (id) =>
          new classes.ToolMessage({
            id: `${UNANSWERED}${id}`,
            tool_call_id: id,
            status: 'error',
            content: 'This call was cut short and has no result.',
          }),
      );
  const ours = new Set(stored.map(({ id }) => id).filter((id) => id?.startsWith(UNANSWERED)));
  const repaired = stored.flatMap(answersFor);
  for (const message of fresh) {
    const placeholder = `${UNANSWERED}${answeredCall(message)}`;
    if (ours.has(placeholder)) repaired.push(new classes.ToolMessage({ ...lateAnswer(message), id: placeholder }));
    else repaired.push(message, ...answersFor(message));
  }
  return repaired;
}

function lateAnswer(message: BaseMessage) {
  const { content, tool_call_id, status } = message as ToolMessage;
  return { content: content as string, tool_call_id, ...(status !== undefined && { status }) };
}

function answeredCall(message: BaseMessage): string | undefined {
  return messageType(message) === 'tool' ? (message as ToolMessage).tool_call_id : undefined;
}

/** Whether a message is one that {@link repairOrphans} made up. */
export function isRepair(message: BaseMessage): message is ToolMessage {
  return (
    messageType(message) === 'tool' &&
    (message as ToolMessage).status === 'error' &&
    message.id?.startsWith(UNANSWERED) === true
  );
}

/** Ids of the calls a message makes, those with arguments that cannot be read included: providers count them too. */
function toolCalls(message: BaseMessage): string[] {
  if (messageType(message) !== 'ai') return [];
  const { tool_calls: calls = [], invalid_tool_calls: invalid = [] } = message as AIMessage;
  return [...calls, ...invalid].map(({ id }) => id).filter((id) => typeof id === 'string');
}
