import type { StructuredToolInterface } from '@langchain/core/tools';
import { calculate } from './tools/calculator.ts';
import { currentTime } from './tools/clock.ts';
import { clearNotes, readNotes, takeNote } from './tools/notes.ts';
import { createSearchTool } from './tools/search.ts';

/** The starter's own tools. Add yours to this list; the model is told about all of them. */
export function createTools(): StructuredToolInterface[] {
  const search = createSearchTool(new URL('./knowledge/', import.meta.url));
  return [currentTime, calculate, search, takeNote, readNotes, clearNotes];
}
