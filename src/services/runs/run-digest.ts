import { createHash } from 'node:crypto';
import { encodeAnything } from '../../engine/encode.ts';
import type { RunAgentInput } from '../../engine/events.ts';

/**
 * A short text that differs when a run is asked something else: by the last thing the user said and what it answers.
 * Of the rest, a client that posts the same run once more may have learnt more meanwhile.
 */
export function digestOf({ messages, resume, forwardedProps }: RunAgentInput): string {
  const said = messages.findLast(({ role }) => role === 'user')?.content;
  const command: unknown = (forwardedProps as { command?: unknown } | null | undefined)?.command;
  const hash = createHash('sha256').update(typeof said === 'string' ? said : encodeAnything(said));
  if (resume !== undefined || command !== undefined) hash.update(encodeAnything({ resume, command }));
  return hash.digest('base64').slice(0, 22);
}
