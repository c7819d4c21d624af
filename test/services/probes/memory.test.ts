import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ConnectionCheck } from '../../../src/services/probes/connection-check.ts';
import { probeMemory } from '../../../src/services/probes/memory.ts';
import { openSqlite } from '../../../src/sqlite-driver.ts';
import { tempFolder } from '../../support/app.ts';
import { ref } from './support.ts';

const ok = (details: Record<string, unknown>) => ({ ok: true, details, error: null });
const failed = (error: unknown) => ({ ok: false, details: null, error });

async function probe(payload: unknown, root = tempFolder(), variables: Record<string, string> = {}) {
  return ConnectionCheck.parse(await probeMemory(payload, { root, variables }));
}

describe('memory in the process', () => {
  test.each(['memory', 'in_memory'])('%s is always there', async (type) => {
    expect(await probe({ type })).toEqual(ok({ backend: 'in-memory' }));
  });
});

describe('an SQLite file', () => {
  test.each(['sqlite', 'database'])('%s: one in WAL mode answers, and nothing is left beside it', async (type) => {
    const root = tempFolder();
    const db = await openSqlite(join(root, 'chat.db'));
    db.exec('CREATE TABLE turns (id INTEGER)');
    db.close();
    expect(await probe({ type, db_url: 'sqlite:///chat.db' }, root)).toEqual(ok({ backend: type }));
    expect(readdirSync(root)).toEqual(['chat.db']);
  });

  test('one that is in use answers, and goes on being used', async () => {
    const root = tempFolder();
    const db = await openSqlite(join(root, 'chat.db'));
    onTestFinished(() => void db.close());
    db.exec('CREATE TABLE turns (id INTEGER)');
    expect(await probe({ type: 'sqlite', db_url: 'sqlite:///./chat.db' }, root)).toEqual(ok({ backend: 'sqlite' }));
    db.exec('INSERT INTO turns VALUES (1)');
    expect(db.prepare('SELECT count(*) AS turns FROM turns').get()).toEqual({ turns: 1 });
  });

  test('one without WAL mode, and an empty file, answer', async () => {
    const root = tempFolder({ 'empty.db': '' });
    const db = await openSqlite(join(root, 'plain.db'));
    db.pragma('journal_mode = DELETE');
    db.close();
    for (const name of ['plain.db', 'empty.db']) {
      expect(await probe({ type: 'sqlite', db_url: `sqlite:///${name}` }, root)).toEqual(ok({ backend: 'sqlite' }));
    }
    expect(readdirSync(root).sort()).toEqual(['empty.db', 'plain.db']);
  });

  test('one that is missing is not made, nor is its folder', async () => {
    const root = tempFolder();
    expect(await probe({ type: 'sqlite', db_url: 'sqlite:///a/b/chat.db' }, root)).toEqual(ok({ backend: 'sqlite' }));
    expect(readdirSync(root)).toEqual([]);
  });

  test('in memory is always there', async () => {
    expect(await probe({ type: 'sqlite', db_url: 'sqlite:///:memory:' })).toEqual(ok({ backend: 'sqlite' }));
  });

  test('an absolute path behind a variable', async () => {
    const root = tempFolder();
    const variables = { CHAT_DB: `sqlite:///${join(root, 'chat.db')}` };
    expect(await probe({ type: 'sqlite', db_url: ref('CHAT_DB') }, '/nonexistent', variables)).toEqual(
      ok({ backend: 'sqlite' }),
    );
  });

  test('a file that is no database', async () => {
    const root = tempFolder({ 'notes.txt': 'These are my notes. '.repeat(100) });
    const check = await probe({ type: 'sqlite', db_url: 'sqlite:///notes.txt' }, root);
    expect(check).toEqual(failed('The file is not an SQLite database'));
  });

  test('a folder, a pipe, and a path through a file', async () => {
    const root = tempFolder({ file: '' });
    mkdirSync(join(root, 'folder'));
    execFileSync('mkfifo', [join(root, 'pipe')]);
    for (const name of ['', 'folder', 'pipe']) {
      const check = await probe({ type: 'sqlite', db_url: `sqlite:///${name}` }, root);
      expect(check).toEqual(failed('The database is not a file'));
    }
    const check = await probe({ type: 'sqlite', db_url: 'sqlite:///file/chat.db' }, root);
    expect(check).toEqual(failed('The folder of the database is not a folder'));
  });

  test.skipIf(process.getuid?.() === 0)('a folder and a file without rights', async () => {
    const root = tempFolder();
    mkdirSync(join(root, 'closed'));
    writeFileSync(join(root, 'chat.db'), '');
    chmodSync(join(root, 'closed'), 0o500);
    chmodSync(join(root, 'chat.db'), 0o400);
    expect(await probe({ type: 'sqlite', db_url: 'sqlite:///closed/chat.db' }, root)).toEqual(
      failed('The folder of the database may not be written to'),
    );
    expect(await probe({ type: 'sqlite', db_url: 'sqlite:///chat.db' }, root)).toEqual(
      failed('The database file may not be read and written'),
    );
  });

  test('one that is locked fails, and the process goes on meanwhile', async () => {
    const root = tempFolder();
    const db = await openSqlite(join(root, 'chat.db'));
    onTestFinished(() => void db.close());
    db.pragma('journal_mode = DELETE');
    db.exec('BEGIN EXCLUSIVE');
    let turns = 0;
    const turning = setInterval(() => {
      turns += 1;
    }, 10);
    const check = await probe({ type: 'sqlite', db_url: 'sqlite:///chat.db' }, root);
    clearInterval(turning);
    expect(check).toEqual(failed('The database is locked by another process'));
    expect(turns).toBeGreaterThan(20);
  });
});

describe('others', () => {
  test('Vertex AI needs its settings', async () => {
    const vertex = { type: 'vertex_ai', project_id: ref('PROJECT'), location: 'eu', reasoning_engine_app_name: 'a' };
    expect(await probe(vertex, '/', { PROJECT: 'p-1' })).toEqual(
      ok({ backend: 'vertex_ai', projectId: 'p-1', location: 'eu', note: expect.any(String) }),
    );
    expect(await probe(vertex, '/', { PROJECT: '' })).toEqual(failed('project_id: is not set'));
    expect(await probe(vertex, '/', { PROJECT: ' ' })).toEqual(failed('project_id: is not set'));
    expect(await probe(vertex, '/')).toEqual(failed('The variable PROJECT is not set'));
  });

  test('a variable can hold nothing that fits, and is not shown', async () => {
    const check = await probe({ type: 'sqlite', db_url: ref('DB') }, '/', { DB: 'mysql://me:hunter22@db' });
    expect(check).toEqual(failed('db_url: must start with sqlite:///'));
  });

  test.each([undefined, null, 7, 'sqlite', [], { type: 'other' }, { type: 'sqlite' }])(
    'nonsense: %j',
    async (value) => {
      expect(await probe(value)).toEqual(failed(expect.stringMatching(/^[^\n]+$/)));
    },
  );
});
