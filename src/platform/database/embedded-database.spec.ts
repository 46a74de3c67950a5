import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DataDirectoryError, DataDirectoryInUseError, EmbeddedDatabase } from './embedded-database.js';

it.each([
  // As PGlite throws them, which are no errors.
  [{ name: 'ErrnoError', errno: 51 }, 'the disk is full. Free some space'],
  [{ name: 'ErrnoError', errno: 69 }, 'the file system is read-only. Mount it writable'],
  [
    Object.assign(new Error('database or disk is full'), { code: 'ERR_SQLITE_ERROR', errcode: 13 }),
    'the disk is full. Free some space',
  ],
  [Object.assign(new Error('x'), { code: 'EROFS', errno: -30 }), 'the file system is read-only. Mount it writable'],
  [new Error('something else'), 'something else. Fix this'],
  [{ status: 7 }, '{ status: 7 }. Fix this'],
])('says in words why a data directory cannot be used: %j', (cause, fault) => {
  const { message } = new DataDirectoryError('./data', cause);
  expect(message).toBe(`The data directory ./data cannot be used: ${fault}, or choose another directory with DATA_DIR.`);
});

it('refuses a new directory that two starts create at once as in use, not as faulty', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'items-'));
  const opening = [1, 2].map(() => EmbeddedDatabase.open(join(directory, 'data', 'items')));
  const results = await Promise.allSettled(opening);
  await (await Promise.any(opening)).close();
  await rm(directory, { recursive: true });
  expect(results).toContainEqual({ status: 'rejected', reason: expect.any(DataDirectoryInUseError) });
});
