import { mkdtemp, rm } from 'node:fs/promises';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pool } from 'pg';
import { createEmbedded } from '../../../test/support/test-database.js';
import { DatabasePool } from './database-pool.js';
import { DataDirectoryError, DataDirectoryInUseError, EmbeddedDatabase } from './embedded-database.js';

it.each([
  // As PGlite throws them, which are no errors.
  [{ name: 'ErrnoError', errno: 51 }, 'the disk is full. Free some space'],
  [{ name: 'ErrnoError', errno: 69 }, 'the file system is read-only. Mount it writable'],
  [
    Object.assign(new Error('database or disk is full'), { code: 'ERR_SQLITE_ERROR', errcode: 13 }),
    'the disk is full. Free some space',
  ],
  // As Node throws it for a quota that is used up, for which it has no code.
  [
    Object.assign(new Error('x'), { code: 'Unknown system error', errno: -constants.errno.EDQUOT }),
    'the disk is full. Free some space',
  ],
  [Object.assign(new Error('x'), { code: 'EROFS', errno: -30 }), 'the file system is read-only. Mount it writable'],
  [
    new Error('could not write to file "x": No space left on device'),
    'the disk is full (no space left on device). Free some space',
  ],
  [new Error('something else'), 'something else. Fix this'],
  [{ status: 7 }, '{ status: 7 }. Fix this'],
])('says in words why a data directory cannot be used: %j', (cause, fault) => {
  const { message } = new DataDirectoryError('./data', cause);
  expect(message).toBe(`The data directory ./data cannot be used: ${fault}, or choose another directory with DATA_DIR.`);
});

it('refuses a new directory that two starts create at once as in use, not as faulty', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'items-'));
  const opening = [1, 2].map(() => EmbeddedDatabase.open(join(directory, 'data', 'nested')));
  const results = await Promise.allSettled(opening);
  await (await Promise.any(opening)).close();
  await rm(directory, { recursive: true });
  expect(results).toContainEqual({ status: 'rejected', reason: expect.any(DataDirectoryInUseError) });
});

it('does not take a value in an error for a line of the log of PostgreSQL that says that it ends', async () => {
  const { environment } = await createEmbedded('empty');
  const database = await EmbeddedDatabase.open(environment.DATA_DIR);
  const pool = new Pool(database.poolOptions());
  const client = await pool.connect();
  const forged = ['\n', '\r', '\r\n', '\n\n'].map((end) => `${end}2026-11-24 18:10:36.093 UTC [42] PANIC:  forged`);
  for (const value of forged) await expect(client.query('SELECT $1::uuid', [value])).rejects.toThrow('forged');
  const { rows } = await client.query('SELECT 1 AS alive');
  client.release();
  await pool.end();
  await database.close();
  expect(rows).toEqual([{ alive: 1 }]);
});

it('says why nothing can connect to it while its only connection is in use', async () => {
  const { environment } = await createEmbedded('empty');
  const database = await EmbeddedDatabase.open(environment.DATA_DIR);
  const pool = new DatabasePool({ ...database.poolOptions(), connectionTimeoutMillis: 10 });
  const client = await pool.connect();
  await expect(pool.connect()).rejects.toThrow(/^timeout exceeded when trying to connect: a transaction .* use its manager/);
  client.release();
  await pool.end();
  await database.close();
});
