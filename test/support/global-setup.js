import { execFileSync } from 'node:child_process';
import { cp, mkdtemp, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EmbeddedDatabase } from '#service/platform/database/embedded-database';

/** What the embedded databases of a run take at most, in bytes. */
const SIZE = 6 * 2 ** 30;

/** Where they are: in memory if that has room, because a disk takes ten times as long to create their thousand files. */
async function parentOfDatabases() {
  const inMemory = '/dev/shm';
  const { bavail, bsize } = await statfs(inMemory).catch(() => ({ bavail: 0, bsize: 0 }));
  return Math.min(bavail * bsize, process.availableMemory() / 2) >= SIZE ? inMemory : tmpdir();
}

/** Makes the embedded databases that tests copy, an empty one and one with tables: making one takes seconds. */
export default async function globalSetup() {
  // tools/mutants/run.ts has called it for many runs.
  if (process.env.TEST_DATABASES_SHARED) return;
  const templates = await mkdtemp(join(await parentOfDatabases(), 'items-test-databases-'));
  const empty = join(templates, 'empty');
  const database = await EmbeddedDatabase.open(empty);
  await database.close();
  const migrated = join(templates, 'migrated');
  await cp(empty, migrated, { recursive: true });
  const directory = await mkdtemp(join(tmpdir(), 'items-test-'));
  // What V8 compiled in one process of the service is there for all that come after it.
  process.env.TEST_COMPILE_CACHE = join(directory, 'compiled');
  const env = { ...process.env, NODE_COMPILE_CACHE: process.env.TEST_COMPILE_CACHE };
  execFileSync(process.execPath, ['test/support/migrate-template.js', migrated], { stdio: 'inherit', env });
  process.env.TEST_RUN_DIRECTORY = directory;
  process.env.TEST_TEMPLATES_DIRECTORY = templates;
  process.env.TEST_COPIES_DIRECTORY = templates;
  // What the names of this run's databases on a server begin with.
  process.env.TEST_RUN_DATABASES = `items_test_${Date.now().toString(36)}_`;
}
