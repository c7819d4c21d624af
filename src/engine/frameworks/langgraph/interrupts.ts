import { RunFailure } from '../../agent.ts';
import { asText, isRecord } from '../../encode.ts';
import { type Emit, EventType, type Interrupt, type ResumeEntry, type RunAgentInput } from '../../events.ts';
import { jsonSchemaFaults } from '../../json-schema.ts';

/** An interrupt as LangGraph reports it. */
export interface RawInterrupt {
  id?: string;
  value?: unknown;
}

/** Turns LangGraph's interrupts into AG-UI's (runtime contract, section 4). Known payload keys come in either case style. */
export function toInterrupts(raw: readonly RawInterrupt[]): Interrupt[] {
  return raw.map(({ id, value }, index) => {
    const payload = isRecord(value) ? value : {};
    const text = (key: string): string | undefined => {
      const found = payload[key] ?? payload[key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)];
      return typeof found === 'string' ? found : undefined;
    };
    const schema = payload.responseSchema ?? payload.response_schema;
    const fields = {
      message: typeof value === 'string' ? value : text('message'),
      toolCallId: text('toolCallId'),
      expiresAt: text('expiresAt'),
      responseSchema: isRecord(schema) ? schema : undefined,
      metadata: isRecord(value) ? value : undefined,
    };
    return {
      id: id ?? `interrupt-${index}`,
      reason: text('reason') ?? 'langgraph:interrupt',
      ...Object.fromEntries(Object.entries(fields).filter(([, field]) => field !== undefined)),
    };
  });
}

/** Tells clients before 1.0 of the open interrupts, in the form they know. */
export function emitLegacyInterrupts(raw: readonly RawInterrupt[], emit: Emit): void {
  for (const { value } of raw) emit({ type: EventType.CUSTOM, name: 'on_interrupt', value: asText(value ?? null) });
}

/**
 * The value LangGraph is resumed with, or undefined when the input resumes nothing.
 *
 * @throws RunFailure when the answer breaks the resume rules of ag-ui contract section 5.
 */
export function resumeValue(
  input: RunAgentInput,
  open: readonly Interrupt[],
  now: number,
): { value: unknown } | undefined {
  const entries = input.resume ?? [];
  if (entries.length === 0) return legacyResume(input, open);
  const byId = new Map(open.map((interrupt) => [interrupt.id, interrupt]));
  for (const entry of entries) checkEntry(entry, byId.get(entry.interruptId), now);
  const missing = open.filter((interrupt) => !entries.some((entry) => entry.interruptId === interrupt.id));
  if (missing.length > 0) {
    const ids = missing.map((interrupt) => interrupt.id).join(', ');
    throw new RunFailure('INTERRUPT_PENDING', `Every open interrupt must be answered at once; missing: ${ids}.`);
  }
  return { value: byInterrupt(entries.map((entry) => [entry.interruptId, answer(entry)])) };
}

/**
 * LangGraph's form of several answers, interrupt id to value. One answer goes the same way where its id is one of
 * LangGraph's hashes: a bare `false` or `null` it would take for no answer at all.
 */
function byInterrupt(answers: [id: string, value: unknown][]): unknown {
  const [first] = answers;
  if (first !== undefined && answers.length === 1 && !/^[0-9a-f]{32}$/.test(first[0])) return first[1];
  return Object.fromEntries(answers);
}

function legacyResume(input: RunAgentInput, open: readonly Interrupt[]): { value: unknown } | undefined {
  const forwarded: unknown = input.forwardedProps;
  const command = isRecord(forwarded) && isRecord(forwarded.command) ? forwarded.command : undefined;
  if (command === undefined || command.resume === undefined || command.resume === null) return undefined;
  if (open.length === 0)
    throw new RunFailure('INTERRUPT_UNKNOWN', 'There is no open interrupt to resume on this thread.');
  const value = typeof command.resume === 'string' ? parseIfJson(command.resume) : command.resume;
  const [first] = open;
  if (first !== undefined && open.length === 1) return { value: byInterrupt([[first.id, value]]) };
  const answersAll = isRecord(value) && open.every((interrupt) => interrupt.id in value);
  if (answersAll) return { value };
  throw new RunFailure(
    'INTERRUPT_PENDING',
    `${open.length} interrupts are open; answer them with "resume", one entry each.`,
  );
}

function checkEntry(entry: ResumeEntry, interrupt: Interrupt | undefined, now: number): void {
  if (interrupt === undefined) {
    throw new RunFailure('INTERRUPT_UNKNOWN', `No interrupt "${entry.interruptId}" is open on this thread.`);
  }
  if (entry.status === 'cancelled') return;
  if (interrupt.expiresAt !== undefined && Date.parse(interrupt.expiresAt) <= now) {
    throw new RunFailure('INTERRUPT_EXPIRED', `Interrupt "${interrupt.id}" has expired; it can only be cancelled.`);
  }
  if (interrupt.responseSchema !== undefined && !matches(interrupt.responseSchema, entry.payload)) {
    throw new RunFailure(
      'VALIDATION_ERROR',
      `The payload for interrupt "${interrupt.id}" does not fit its responseSchema.`,
    );
  }
}

function matches(schema: object, payload: unknown): boolean {
  try {
    return jsonSchemaFaults(schema, payload, 'payload') === undefined;
  } catch {
    // A schema the author got wrong must not lock the thread.
    return true;
  }
}

function answer(entry: ResumeEntry): unknown {
  if (entry.status === 'cancelled') return { __agui_cancelled__: true, interrupt_id: entry.interruptId };
  return entry.payload ?? null;
}

function parseIfJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
