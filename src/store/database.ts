import type { BaseSQLiteDatabase } from 'drizzle-orm/sqlite-core';
import type * as sqliteTables from './schema.sqlite.ts';

/** Tables of the store; every dialect has the same, under the same names. */
export type Tables = typeof sqliteTables;

/** A write that can be part of a {@link Database.commit}. */
export interface Write {
  run(): unknown;
}

type Queries = BaseSQLiteDatabase<'sync' | 'async', unknown>;

/** An open database. Queries go through `tables` and are always awaited, so that they serve every dialect. */
export interface Database {
  readonly db: Queries;
  readonly tables: Tables;
  /**
   * Carries out all writes or none. They are made from the handle they get; nothing can be waited for between them.
   *
   * @throws the driver's error; nothing is written then.
   */
  commit(writes: (db: Queries) => Write[]): Promise<void>;
  /** Bytes it takes up, and those of them that will be used again before it grows. */
  size(): Promise<{ bytes: number; reusableBytes: number }>;
  close(): Promise<void>;
}
