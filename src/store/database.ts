import type { BaseSQLiteDatabase } from 'drizzle-orm/sqlite-core';
import type * as sqliteTables from './schema.sqlite.ts';

/** Tables of the store; every dialect has the same, under the same names. */
export type Tables = typeof sqliteTables;

/** An open database. Queries go through `tables` and are always awaited, so that they serve every dialect. */
export interface Database {
  readonly db: BaseSQLiteDatabase<'sync' | 'async', unknown>;
  readonly tables: Tables;
  close(): Promise<void>;
}
