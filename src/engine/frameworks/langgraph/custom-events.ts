import { randomUUID } from 'node:crypto';
import { asText, isRecord } from '../../encode.ts';
import { type Emit, EventType } from '../../events.ts';

/**
 * Emits a graph author's custom event: four names stand for events of the protocol itself (ag-ui contract,
 * section 11), every other becomes CUSTOM with the same name and value.
 */
export function customEvent(name: string, value: unknown, emit: Emit): void {
  const data = isRecord(value) ? value : {};
  switch (name) {
    case 'manually_emit_message': {
      const messageId = idOf(data.message_id ?? data.messageId ?? data.id);
      emit({ type: EventType.TEXT_MESSAGE_START, messageId, role: 'assistant' });
      emit({ type: EventType.TEXT_MESSAGE_CONTENT, messageId, delta: asText(data.message ?? data.content ?? '') });
      return emit({ type: EventType.TEXT_MESSAGE_END, messageId });
    }
    case 'manually_emit_tool_call': {
      const toolCallId = idOf(data.id ?? data.tool_call_id ?? data.toolCallId);
      const toolCallName = asText(data.name ?? 'tool');
      emit({ type: EventType.TOOL_CALL_START, toolCallId, toolCallName });
      emit({ type: EventType.TOOL_CALL_ARGS, toolCallId, delta: asText(data.args ?? {}) });
      return emit({ type: EventType.TOOL_CALL_END, toolCallId });
    }
    case 'manually_emit_state':
      return emit({ type: EventType.STATE_SNAPSHOT, snapshot: value ?? {} });
    default:
      return emit({ type: EventType.CUSTOM, name, value: value ?? null });
  }
}

function idOf(value: unknown): string {
  return typeof value === 'string' && value !== '' ? value : randomUUID();
}
