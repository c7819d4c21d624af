import { isRecord } from '../../engine/encode.ts';
import type { RunAgentInput } from '../../engine/events.ts';
import { problem } from '../../problems.ts';
import { THREAD_POLICIES, type ThreadPolicy } from '../../settings/limits.ts';

/**
 * What a run wants to happen if its thread is busy: its `forwardedProps.onBusy`.
 *
 * @throws Problem `validation_failed` when that is no policy.
 */
export function policyOf({ forwardedProps }: RunAgentInput): ThreadPolicy | undefined {
  const wanted: unknown = isRecord(forwardedProps) ? forwardedProps.onBusy : undefined;
  if (wanted === undefined || wanted === null) return undefined;
  const policy = THREAD_POLICIES.find((known) => known === wanted);
  if (policy !== undefined) return policy;
  const msg = `Input should be ${THREAD_POLICIES.map((known) => `'${known}'`).join(', ')}`;
  throw problem('validation_failed', { details: [{ loc: ['body', 'forwardedProps', 'onBusy'], msg, type: 'enum' }] });
}

/** Whether two runs of a thread answer the same interrupt. An answer in the older form names none, so it may be any. */
export function answerTheSame(left: RunAgentInput, right: RunAgentInput): boolean {
  const given = answersOf(left);
  const others = answersOf(right);
  if (given === undefined || others === undefined) return false;
  return given.length === 0 || others.length === 0 || given.some((id) => others.includes(id));
}

/** Ids of the interrupts a run answers: empty for an answer that names none, undefined for no answer. */
function answersOf({ resume, forwardedProps }: RunAgentInput): string[] | undefined {
  if (resume !== undefined && resume.length > 0) return resume.map((entry) => entry.interruptId);
  const command: unknown = isRecord(forwardedProps) ? forwardedProps.command : undefined;
  return isRecord(command) && command.resume !== undefined && command.resume !== null ? [] : undefined;
}
