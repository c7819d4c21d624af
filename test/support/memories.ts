import type { CheckpointerConfig } from '../../src/engine/memory/index.ts';
import { usePostgres } from './postgres.ts';

const postgres = await usePostgres();

/** A kind of memory, and how a test gets an empty one of it. */
export type MemoryCase = [name: string, make: () => Promise<CheckpointerConfig>];

/** Kinds that outlive the server. PostgreSQL is left out, aloud, where it cannot be had. */
export const LASTING: MemoryCase[] = [
  ['sqlite', async () => ({ type: 'sqlite', db_url: 'sqlite:///chat.db' })],
  ...(postgres === undefined
    ? []
    : [['postgres', async () => ({ type: 'postgres', db_url: await postgres.database() })] as MemoryCase]),
];

/** Every kind of memory. */
export const MEMORIES: MemoryCase[] = [['memory', async () => ({ type: 'memory' })], ...LASTING];
