import { ToolMessage } from '@langchain/core/messages';
import { type ToolRuntime, tool } from '@langchain/core/tools';
import { Command, interrupt } from '@langchain/langgraph';
import { z } from 'zod';
import type { NotesUpdate } from '../state.ts';

type Runtime = ToolRuntime<{ notes: string[] }>;

/** Writes a note into the shared state, where the UI sees it. */
export const takeNote = tool(({ text }, runtime: Runtime) => answer(runtime, `Noted: ${text}`, { add: text }), {
  name: 'take_note',
  description: 'Keeps a note for the user. Use it when the user asks to note or remember something.',
  schema: z.object({
    text: z
      .string()
      .min(1)
      .max(1000, 'A note has at most 1000 characters.')
      .describe('The note, in the words of the user'),
  }),
});

/** Reads the notes back; the user may have edited them in the UI meanwhile. */
export const readNotes = tool(
  (_, runtime: Runtime) => {
    const lines = runtime.state.notes.map((note, index) => `${index + 1}. ${note}`);
    return lines.length === 0 ? 'There are no notes.' : `${count(lines.length)}:\n${lines.join('\n')}`;
  },
  { name: 'read_notes', description: 'Lists the notes kept for the user.', schema: z.object({}) },
);

/** Deletes all notes, once the user has agreed: the run stops at `interrupt` and goes on here with the answer. */
export const clearNotes = tool(
  (_, runtime: Runtime) => {
    const total = runtime.state.notes.length;
    if (total === 0) return 'There are no notes to delete.';
    const decision: unknown = interrupt({
      reason: 'confirmation',
      message: `Delete ${total === 1 ? 'the note' : `all ${total} notes`}?`,
      responseSchema: { type: 'object', properties: { approved: { type: 'boolean' } }, required: ['approved'] },
    });
    // Anything but a plain yes keeps them: a no, a cancelled question, an answer in another shape.
    if (!isApproval(decision)) return `Kept ${count(total)}, as you did not agree to delete.`;
    return answer(runtime, `Deleted ${count(total)}.`, []);
  },
  { name: 'clear_notes', description: 'Deletes all notes. The user is asked to confirm first.', schema: z.object({}) },
);

function isApproval(decision: unknown): boolean {
  return typeof decision === 'object' && decision !== null && 'approved' in decision && decision.approved === true;
}

function count(total: number): string {
  return total === 1 ? '1 note' : `${total} notes`;
}

/** A tool that changes the state answers with a command: the change, and the message for the model. */
function answer(runtime: Runtime, content: string, notes: NotesUpdate): Command {
  return new Command({ update: { notes, messages: [new ToolMessage(content, runtime.toolCallId)] } });
}
