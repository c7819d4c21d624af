import { z } from 'zod';
import { openSqlite, sqlitePath } from '../../sqlite-driver.ts';
import { SqliteUrl } from '../memory/sqlite.ts';
import { defineStore, type StoredItem } from './define.ts';
import { endOf } from './range.ts';

const COLUMNS = 'namespace, key, value, created_at AS createdAt, updated_at AS updatedAt';

/** Items in an SQLite file, which may be the one the conversations are in. */
export const sqlite = defineStore({
  config: z.object({ type: z.literal('sqlite'), db_url: SqliteUrl }),
  async open({ db_url }, root) {
    const db = await openSqlite(sqlitePath(db_url, root));
    try {
      db.exec(`CREATE TABLE IF NOT EXISTS store_items (
        namespace TEXT NOT NULL,
        key TEXT NOT NULL,
        value TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        PRIMARY KEY (namespace, key)
      )`);
      const get = db.prepare<[string, string], StoredItem>(
        `SELECT ${COLUMNS} FROM store_items WHERE namespace = ? AND key = ?`,
      );
      const put = db.prepare(
        `INSERT INTO store_items VALUES (?, ?, ?, ?, ?)
         ON CONFLICT DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at`,
      );
      const remove = db.prepare('DELETE FROM store_items WHERE namespace = ? AND key = ?');
      const scan = db.prepare<[string, string, number, number], StoredItem>(
        `SELECT ${COLUMNS} FROM store_items WHERE namespace >= ? AND namespace < ?
         ORDER BY updated_at DESC, namespace, key LIMIT ? OFFSET ?`,
      );
      const namespaces = db
        .prepare<[string, string], string>(
          'SELECT DISTINCT namespace FROM store_items WHERE namespace >= ? AND namespace < ? ORDER BY namespace',
        )
        .pluck();
      return {
        get: async (namespace, key) => get.get(namespace, key),
        async put({ namespace, key, value }, now) {
          put.run(namespace, key, value, now, now);
        },
        async delete(namespace, key) {
          remove.run(namespace, key);
        },
        scan: async (prefix, limit, offset) => scan.all(prefix, endOf(prefix), limit, offset),
        namespaces: async (prefix) => namespaces.all(prefix, endOf(prefix)) as string[],
        close: () => void db.close(),
      };
    } catch (error) {
      db.close();
      throw error;
    }
  },
});
