import { Annotation, MessagesAnnotation } from '@langchain/langgraph';

/** A whole new list, as a UI writes it, or one more note, as a tool does. */
export type NotesUpdate = string[] | { add: string };

function updateNotes(notes: string[], update: NotesUpdate): string[] {
  if (Array.isArray(update)) return update.filter((note) => typeof note === 'string');
  return typeof update?.add === 'string' ? [...notes, update.add] : notes;
}

/**
 * What one conversation remembers. A UI sees these keys as shared state and can write `notes` itself.
 * Each key has a reducer because parallel tool calls may all write it within one step.
 */
export const StarterState = Annotation.Root({
  ...MessagesAnnotation.spec,
  notes: Annotation<string[], NotesUpdate>({ reducer: updateNotes, default: () => [] }),
  /** Documents the last search found. */
  lastSources: Annotation<string[]>({ reducer: (_, found) => found, default: () => [] }),
});

export type StarterState = typeof StarterState.State;
