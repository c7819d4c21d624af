import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Database } from '../../src/store/database.ts';
import { openSqliteDatabase } from '../../src/store/sqlite.ts';
import { tempFolder } from '../support/app.ts';

/** Every dialect the store has, and how to open an empty database of it. The suites of this folder run on each. */
export const DIALECTS: [name: string, open: () => Promise<Database>][] = [
  [
    'sqlite',
    async () => {
      const database = await openSqliteDatabase(join(tempFolder(), 'service.db'));
      onTestFinished(() => database.close());
      return database;
    },
  ],
];
