import type { Event, RunAgentInput } from '@ag-ui/core';

export type { Event, Interrupt, Message, ResumeEntry, RunAgentInput, TokenUsage } from '@ag-ui/core';
export { EventType } from '@ag-ui/core';

/** Beginning of the ids given to messages that came without one; they say nothing of which message it is. */
export const MINTED_ID = 'minted-';

/** Takes the next AG-UI event of a run. Called in order, never waited for. */
export type Emit = (event: Event) => void;

/** Whether the caller speaks AG-UI 1.0, so that outcomes only that version knows may be sent (ag-ui contract, section 13). */
export function speaksProtocolOne(input: RunAgentInput): boolean {
  return input.protocolVersion !== undefined;
}
