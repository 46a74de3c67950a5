import { execFileSync } from 'node:child_process';
import { cp, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EmbeddedDatabase } from '#service/platform/database/embedded-database';

/** Makes the embedded databases that tests copy, an empty one and one with tables: making one takes seconds. */
export default async function globalSetup() {
  // tools/mutants/run.ts has called it for many runs.
  if (process.env.TEST_DATABASES_SHARED) return;
  const directory = await mkdtemp(join(tmpdir(), 'items-test-'));
  const empty = join(directory, 'empty');
  const database = await EmbeddedDatabase.open(empty);
  await database.close();
  const migrated = join(directory, 'migrated');
  await cp(empty, migrated, { recursive: true });
  // What V8 compiled in one process of the service is there for all that come after it.
  process.env.TEST_COMPILE_CACHE = join(directory, 'compiled');
  const env = { ...process.env, NODE_COMPILE_CACHE: process.env.TEST_COMPILE_CACHE };
  execFileSync(process.execPath, ['test/support/migrate-template.js', migrated], { stdio: 'inherit', env });
  process.env.TEST_RUN_DIRECTORY = directory;
  // What the names of this run's databases on a server begin with.
  process.env.TEST_RUN_DATABASES = `items_test_${Date.now().toString(36)}_`;
}
