import type { RunAgentInput } from '../../engine/events.ts';

/**
 * Everything a user says with a run: each text of each user message, since the client decides what the conversation was,
 * and every text in the answers to interrupts.
 */
export function userTexts({ messages, resume, forwardedProps }: RunAgentInput): string[] {
  const said = messages
    .filter(({ role }) => role === 'user')
    .flatMap(({ content }) =>
      typeof content === 'string'
        ? [content]
        : ((content ?? []) as { type: string; text?: string }[]).map((part) => part.text ?? ''),
    );
  const command: unknown = (forwardedProps as { command?: unknown } | null | undefined)?.command;
  return [...said, ...textsIn([...(resume ?? []).map(({ payload }) => payload), command])];
}

/** Every text in a value, names of members included. Without recursion, for a payload may be nested without end. */
function textsIn(value: unknown): string[] {
  const texts: string[] = [];
  const open: unknown[] = [value];
  while (open.length > 0) {
    const entry = open.pop();
    if (typeof entry === 'string') texts.push(entry);
    else if (typeof entry === 'object' && entry !== null) {
      if (!Array.isArray(entry)) texts.push(...Object.keys(entry));
      open.push(...Object.values(entry));
    }
  }
  return texts;
}
