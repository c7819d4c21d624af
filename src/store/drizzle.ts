import { createRequire } from 'node:module';

/*
 * Drizzle, loaded as CommonJS. Node 24 reads a package's whole `exports` map again for each of its ES modules, and
 * Drizzle's has thousands of entries: as ES modules it takes 280 ms and 130 MB there, this way 60 ms and 6 MB.
 */
const require = createRequire(import.meta.url);

export const { and, asc, desc, eq, gt, gte, inArray, isNotNull, isNull, lt, lte, ne, or, sql } =
  require('drizzle-orm') as typeof import('drizzle-orm');
export const { index, integer, primaryKey, sqliteTable, text, uniqueIndex } =
  require('drizzle-orm/sqlite-core') as typeof import('drizzle-orm/sqlite-core');
export const { drizzle } = require('drizzle-orm/better-sqlite3') as typeof import('drizzle-orm/better-sqlite3');
export const { migrate } =
  require('drizzle-orm/better-sqlite3/migrator') as typeof import('drizzle-orm/better-sqlite3/migrator');
